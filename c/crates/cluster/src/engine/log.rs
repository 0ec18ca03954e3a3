//! The last words of tasks.

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    time::SystemTime,
};

use preemptlab_model::plain;

/// Most bytes of a log's end that are read.
const BYTES_MAX: u64 = 4 << 10;

/// Most files of a folder that are looked at.
const FILES_MAX: usize = 1 << 20;

/// Most lines that are shown.
const LINES_MAX: usize = 4;

/// Returns the task's log that was written to last, and its last lines; `None` where no task has said
/// anything.
pub fn last_words(folder: &Path) -> Option<(PathBuf, String)> {
    let written = |entry: fs::DirEntry| -> Option<(SystemTime, PathBuf)> {
        let metadata = entry.metadata().ok()?;
        let is_log = metadata.is_file() && metadata.len() > 0;
        is_log.then_some((metadata.modified().ok()?, entry.path()))
    };
    let entries = fs::read_dir(folder).ok()?.flatten().take(FILES_MAX);
    let (_, path) = entries.filter_map(written).max()?;
    let mut file: File = preemptlab_files::open(&path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(BYTES_MAX))).ok()?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|it| !it.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LINES_MAX)..];
    Some((path, plain::lines(&last.join("\n")).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_few_and_harmless() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(last_words(folder.path()), None);
        assert_eq!(last_words(&folder.path().join("absent")), None);
        let path = folder.path().join("1_1.log");
        fs::write(&path, format!("{}a\n\nb\nc\nd\u{1b}[2J\ne\n", "x".repeat(1 << 20))).unwrap();
        fs::write(folder.path().join("1_2.log"), "").unwrap();
        fs::create_dir(folder.path().join("1_3.log")).unwrap();
        let (found, said) = last_words(folder.path()).unwrap();
        assert_eq!((found, said.as_str()), (path, "b\nc\nd [2J\ne"));
    }
}
