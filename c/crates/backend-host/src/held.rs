//! A file of the kernel, with its content before a cell changed it.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use preemptlab_model::ModeFile;
use serde::{Deserialize, Serialize};

use crate::LiveError;

pub const PREEMPT: &str = "/sys/kernel/debug/sched/preempt";
const FEATURES: &str = "/sys/kernel/debug/sched/features";

/// File of the kernel with its earlier content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Held {
    file: PathBuf,
    text: String,
}

impl Held {
    /// Reads a file's content; `None` for a file that is not there or that a locked-down kernel
    /// refuses, which then cannot be changed either.
    ///
    /// # Errors
    ///
    /// [`LiveError::Kernel`] when it cannot be read.
    pub fn read(path: &Path) -> Result<Option<Self>, LiveError> {
        match fs::read_to_string(path) {
            Ok(text) => Ok(Some(Self { file: path.to_owned(), text: text.trim().to_owned() })),
            Err(error) if is_out_of_reach(&error) => Ok(None),
            Err(error) => Err(LiveError::Kernel { what: "read", path: path.to_owned(), error }),
        }
    }

    /// Writes the earlier content, and checks that the file holds it.
    ///
    /// # Errors
    ///
    /// [`LiveError`] when the file cannot be written, or holds something else afterwards.
    pub fn restore(&self) -> Result<(), LiveError> {
        let path = || self.file.clone();
        let read = || {
            let error = |error| LiveError::Kernel { what: "read", path: path(), error };
            Ok(fs::read_to_string(&self.file).map_err(error)?.trim().to_owned())
        };
        for text in self.writes(&read()?) {
            let file = fs::File::options().write(true).open(&self.file);
            file.and_then(|mut file| file.write_all(text.as_bytes()))
                .map_err(|error| LiveError::Kernel { what: "write to", path: path(), error })?;
        }
        let found: String = read()?;
        if self.writes(&found).is_empty() {
            return Ok(());
        }
        Err(LiveError::NotRestored { path: path(), wanted: self.text.clone(), found })
    }

    /// Returns the texts to write to a file that holds `now`, each by a write of its own; none
    /// where the content means the same.
    fn writes(&self, now: &str) -> Vec<String> {
        if self.text == now {
            return Vec::new();
        }
        if self.file == Path::new(PREEMPT) {
            let active = ModeFile::parse(&self.text).active;
            let changed = active.filter(|active| ModeFile::parse(now).active != Some(*active));
            return changed.iter().map(ToString::to_string).collect();
        }
        if self.file == Path::new(FEATURES) {
            let now: BTreeSet<&str> = now.split_whitespace().collect();
            let changed = self.text.split_whitespace().filter(|feature| !now.contains(feature));
            return changed.map(str::to_owned).collect();
        }
        vec![self.text.clone()]
    }
}

fn is_out_of_reach(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(file: &str, text: &str) -> Held {
        Held { file: file.into(), text: text.into() }
    }

    #[test]
    fn the_mode_that_was_active_is_written() {
        let before = held(PREEMPT, "none (voluntary) full");
        assert_eq!(before.writes("none voluntary (full)"), ["voluntary"]);
        assert!(before.writes("none (voluntary) full").is_empty());
    }

    #[test]
    fn only_the_features_that_changed_are_written_one_by_one() {
        let before = held(FEATURES, "PLACE_LAG NO_HRTICK WAKEUP_PREEMPTION");
        let now = "NO_PLACE_LAG NO_HRTICK NO_WAKEUP_PREEMPTION";
        assert_eq!(before.writes(now), ["PLACE_LAG", "WAKEUP_PREEMPTION"]);
    }

    #[test]
    fn a_file_is_given_back_its_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("base_slice_ns");
        fs::write(&path, "3000000\n").unwrap();
        let held = Held::read(&path).unwrap().unwrap();
        fs::write(&path, "1000000\n").unwrap();
        held.restore().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "3000000\n");
        assert_eq!(Held::read(&folder.path().join("missing")).unwrap(), None);
    }
}
