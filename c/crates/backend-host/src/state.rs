//! The state of the kernel that cells change.

use std::{collections::BTreeSet, fs, path::Path};

use preemptlab_protocol::Job;

use crate::{
    LiveError,
    held::{Held, PREEMPT},
    journal,
};

/// Files that cells are going to change, with their earlier content.
#[derive(Debug)]
pub struct State {
    held: Vec<Held>,
    _lock: journal::Lock,
}

impl State {
    /// Reads the files that these jobs change, and records them in the journal, which outlives this
    /// process.
    ///
    /// # Errors
    ///
    /// [`LiveError`] when a file cannot be read, or the journal cannot be written.
    pub fn remember<'a>(
        lock: journal::Lock,
        jobs: impl Iterator<Item = &'a Job>,
    ) -> Result<Self, LiveError> {
        let mut files = BTreeSet::new();
        for job in jobs {
            files.insert(PREEMPT);
            files.extend(
                job.settings.iter().filter_map(|each| Some(each.write.as_ref()?.file.as_str())),
            );
        }
        let held: Vec<Held> = files
            .into_iter()
            .filter_map(|file| Held::read(Path::new(file)).transpose())
            .collect::<Result<_, _>>()?;
        if !held.is_empty() {
            journal::write(&held)?;
        }
        Ok(Self { held, _lock: lock })
    }

    /// Restores the kernel's state.
    ///
    /// # Errors
    ///
    /// [`LiveError`] when a file cannot be restored.
    pub fn restore(&self) -> Result<(), LiveError> {
        self.held.iter().try_for_each(Held::restore)
    }
}

impl Drop for State {
    /// Restores the kernel, and removes the journal if that worked; otherwise the next run tries
    /// again.
    fn drop(&mut self) {
        let restored = crate::namespace::with_debugfs(|| self.restore());
        if matches!(restored, Ok(Ok(()))) {
            let _ = journal::remove();
        }
        let _ = fs::remove_dir(crate::room::ROOT);
    }
}
