//! Fingerprints of files, by which a change is noticed.

use std::{
    collections::BTreeMap,
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use preemptlab_model::Digest;
use serde::Serialize;

use crate::{StoreError, store::hash::sha256};

/// Largest file that is compared by its content, in bytes.
const HASHED_BYTES_MAX: u64 = 1 << 20;

/// The coarsest clock that a filesystem marks files with, and one second because less is cut off.
const CLOCK_STEP_MAX: Duration = Duration::from_secs(3);

/// Depth to which a folder is searched.
const DEPTH_MAX: u32 = 4;

/// Names in apt's folders that apt reads no answer from: its lock, and the folder of what it has not
/// downloaded wholly, which no other user may look into, nor root in a user namespace.
const NO_ANSWERS: [&str; 2] = ["lock", "partial"];

/// A file or a folder.
#[derive(Serialize)]
enum Seen {
    Nothing,
    /// This user cannot read the file.
    Closed,
    Content(Digest),
    /// A write to a file changes its `ctime`, which no program can set (inode(7)).
    Large {
        device: u64,
        inode: u64,
        bytes: u64,
        mtime_ns: (i64, i64),
        ctime_ns: (i64, i64),
    },
    Folder(Vec<(String, Seen)>),
}

/// Computes a digest of everything below some paths that apt answers from: of small files' content,
/// and of the marks of large ones that change when they are written to.
pub(crate) fn digest(paths: &[impl AsRef<Path>]) -> Result<Digest, StoreError> {
    let seen: Result<Vec<_>, _> = paths
        .iter()
        .map(|path| look(path.as_ref(), DEPTH_MAX).map_err(StoreError::at(path.as_ref())))
        .collect();
    Ok(Digest::of_json(&seen?))
}

/// The marks of everything in a folder.
pub(crate) struct Marks {
    pub(crate) digest: Digest,
    /// Whether every later write changes the marks.
    pub(crate) settled: bool,
}

/// Returns the marks of everything in a folder, at any depth and without following links, that
/// change when it is written to. It reads no file.
pub(crate) fn marks(folder: &Path) -> io::Result<Marks> {
    let mut marks = BTreeMap::new();
    let mut newest = SystemTime::UNIX_EPOCH;
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let (path, metadata) = (below.join(entry.file_name()), entry.metadata()?);
            let ctime = Duration::from_secs(metadata.ctime().try_into().unwrap_or_default());
            newest = newest.max(SystemTime::UNIX_EPOCH + ctime);
            let marked = (metadata.mode(), (!metadata.is_dir()).then(|| large(&metadata)));
            marks.insert(path.to_string_lossy().into_owned(), marked);
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    // A file that is written to twice within one step of the filesystem's clock has the same marks.
    let settled = SystemTime::now().duration_since(newest).is_ok_and(|age| age > CLOCK_STEP_MAX);
    Ok(Marks { digest: Digest::of_json(&marks), settled })
}

fn look(path: &Path, depth: u32) -> io::Result<Seen> {
    let seen = fs::metadata(path).and_then(|metadata| match metadata {
        metadata if metadata.is_dir() => folder(path, depth),
        metadata if metadata.is_file() && metadata.len() <= HASHED_BYTES_MAX => {
            sha256(path).map(Seen::Content)
        }
        metadata => Ok(large(&metadata)),
    });
    match seen {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Seen::Nothing),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Seen::Closed),
        seen => seen,
    }
}

fn folder(path: &Path, depth: u32) -> io::Result<Seen> {
    let mut entries = Vec::new();
    if depth > 0 {
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !NO_ANSWERS.contains(&&*name) {
                entries.push((name, look(&entry.path(), depth - 1)?));
            }
        }
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(Seen::Folder(entries))
}

fn large(metadata: &Metadata) -> Seen {
    Seen::Large {
        device: metadata.dev(),
        inode: metadata.ino(),
        bytes: metadata.len(),
        mtime_ns: (metadata.mtime(), metadata.mtime_nsec()),
        ctime_ns: (metadata.ctime(), metadata.ctime_nsec()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::FileTimes;

    use super::*;

    #[test]
    fn whatever_changes_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let look = || digest(&[folder.path().to_owned(), path("absent")]).unwrap();
        let mut seen = vec![look()];
        let mut changed = || {
            let now = look();
            assert!(!seen.contains(&now));
            seen.push(now);
        };
        fs::write(path("small"), b"1").unwrap();
        changed();
        fs::write(path("small"), b"2").unwrap();
        changed();
        fs::rename(path("small"), path("other")).unwrap();
        changed();
        fs::create_dir(path("deeper")).unwrap();
        changed();
        fs::write(path("deeper/file"), b"").unwrap();
        changed();
        fs::remove_file(path("other")).unwrap();
        changed();
        fs::write(path("large"), vec![0; 2 << 20]).unwrap();
        changed();
        fs::write(path("large"), vec![0; 3 << 20]).unwrap();
        changed();
        let now = look();
        assert_eq!(look(), now);
    }

    #[test]
    fn a_large_file_with_its_old_time_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        let write = |byte| {
            fs::write(&path, vec![byte; 2 << 20]).unwrap();
            let times = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH);
            fs::File::options().write(true).open(&path).unwrap().set_times(times).unwrap();
            digest(&[&path]).unwrap()
        };
        let first = write(0);
        // Longer than the step of the clock that files are marked with.
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_ne!(write(1), first);
    }
}
