//! What the kernel holds that cells change.

use std::{collections::BTreeSet, fs, path::Path};

use preemptlab_protocol::Job;

use crate::{
    LiveError,
    held::{Held, PREEMPT},
    journal,
};

/// What cells are going to change, with what it was.
#[derive(Debug)]
pub struct State {
    held: Vec<Held>,
    _lock: journal::Lock,
}

impl State {
    /// Reads what these jobs change, and writes it down where it outlives this process.
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

    /// Gives the kernel back what it held.
    pub fn restore(&self) -> Result<(), LiveError> {
        self.held.iter().try_for_each(Held::restore)
    }
}

impl Drop for State {
    /// The journal goes when the kernel is as it was; otherwise the next run has another try.
    fn drop(&mut self) {
        let restored = crate::namespace::with_debugfs(|| self.restore());
        if matches!(restored, Ok(Ok(()))) {
            let _ = journal::remove();
        }
        let _ = fs::remove_dir(crate::room::ROOT);
    }
}
