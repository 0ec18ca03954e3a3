use std::fs;

use crate::tune::Settings;
use serde::{Deserialize, Serialize};

use crate::apply::{Contents, Error, Machine, Result, Write, files};

/// The version of the journal. A reader refuses a newer one.
const FORMAT: u32 = 1;

/// Folder of the journal.
const FOLDER: &str = "/var/lib/preemptlab";
const PATH: &str = "/var/lib/preemptlab/journal.json";

/// The applied settings, with the bytes to revert them, and the unfinished change, if there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    format: u32,
    /// The settings in force now or from the next boot on.
    pub applied: Option<Applied>,
    /// An unfinished change. It is there while `apply` or `revert` writes, and afterwards only if
    /// the process was killed.
    pub pending: Option<Transaction>,
}

/// Settings that were applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Settings that were applied.
    pub settings: Settings,
    /// The boot in which they were applied (`/proc/sys/kernel/random/boot_id`).
    pub boot: Option<String>,
    /// The kernel that ran then.
    pub release: String,
    /// The files, in the order in which they were written.
    pub files: Vec<Kept>,
    /// Folders that were made for them.
    pub folders: Vec<String>,
    /// The run-time settings, with their earlier values.
    pub run_time: Vec<Write>,
}

/// A file that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Absolute path of the file.
    pub path: String,
    /// Owner of the file's content.
    pub kind: Kind,
    /// Content before the first `apply`; `None` if there was no file.
    pub original: Option<Contents>,
    /// Content that was applied.
    pub applied: Option<Contents>,
}

/// Owner of a file's content, which decides what happens when another program changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// preemptlab writes the whole file.
    Ours,
    /// The user or another program writes the file, and it holds words of preemptlab.
    Words,
    /// grub-mkconfig generates the file.
    Generated,
}

/// A change of several files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transaction {
    /// `apply` or `revert`.
    pub verb: String,
    /// The files, in the order in which they are changed.
    pub changes: Vec<Change>,
    /// Folders that are made before.
    pub make: Vec<String>,
    /// Folders that are removed afterwards, if nothing is in them.
    pub remove: Vec<String>,
    /// The settings of run time.
    pub run_time: Vec<Write>,
    /// The applied settings after the change.
    pub outcome: Option<Applied>,
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Absolute path of the file.
    pub path: String,
    /// Owner of the file's content.
    pub kind: Kind,
    /// The present content; `None` for no file.
    pub from: Option<Contents>,
    /// New content.
    pub to: Option<Contents>,
}

impl Journal {
    /// Reads the journal of a machine; a machine without one has an empty journal.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read, or a newer preemptlab wrote it.
    pub fn load(machine: &Machine) -> Result<Self> {
        let unusable = |reason: String| Error::Journal { path: PATH.to_owned(), reason };
        let bytes = match fs::read(machine.path(PATH)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self { format: FORMAT, ..Self::default() });
            }
            Err(error) => return Err(unusable(error.to_string())),
        };
        let journal: Self =
            serde_json::from_slice(&bytes).map_err(|error| unusable(error.to_string()))?;
        if journal.format > FORMAT {
            let reason = format!("format {} is of a newer preemptlab", journal.format);
            return Err(unusable(reason));
        }
        Ok(journal)
    }

    /// Removes the files of a process that was killed while it wrote the first journal or removed
    /// the last one.
    ///
    /// # Errors
    ///
    /// When they cannot be removed.
    pub fn sweep(&self, machine: &Machine) -> Result<()> {
        let path = machine.path(PATH);
        files::discard(&path).map_err(Error::file(&path))?;
        if self.says_nothing() {
            // The folder may hold other files.
            let _ = fs::remove_dir(machine.path(FOLDER));
        }
        Ok(())
    }

    /// Returns a journal with other entries.
    pub(crate) fn with(&self, applied: Option<Applied>, pending: Option<Transaction>) -> Self {
        Self { format: self.format, applied, pending }
    }

    /// Writes it to the disk; one that says nothing is removed, with its folder.
    pub(crate) fn store(&self, machine: &Machine) -> Result<()> {
        let folder = machine.path(FOLDER);
        let made = !folder.exists();
        let stored = self.stage(machine).and_then(|()| self.publish(machine));
        stored.inspect_err(|_| {
            drop(files::discard(&machine.path(PATH)));
            if made {
                // It is empty; and if it is not, it is not ours.
                let _ = fs::remove_dir(&folder);
            }
        })
    }

    /// Writes it to the disk under another name.
    pub(crate) fn stage(&self, machine: &Machine) -> Result<()> {
        let path = machine.path(PATH);
        if self.says_nothing() {
            return files::discard(&path).map_err(Error::file(&path));
        }
        let mut bytes = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::Journal { path: PATH.into(), reason: error.to_string() })?;
        bytes.push(b'\n');
        let folder = machine.path(FOLDER);
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        files::sync_folder(&folder).map_err(Error::file(&folder))?;
        let contents = Contents { mode: self.mode(), ..machine.new_file(bytes) };
        files::stage(&path, &contents).map_err(Error::file(&path))
    }

    /// Puts the staged journal in the place of the journal.
    pub(crate) fn publish(&self, machine: &Machine) -> Result<()> {
        let path = machine.path(PATH);
        if !self.says_nothing() {
            return files::publish(&path).map_err(Error::file(&path));
        }
        files::discard(&path).map_err(Error::file(&path))?;
        files::remove(&path).map_err(Error::file(&path))?;
        // The folder may hold other files.
        let _ = fs::remove_dir(machine.path(FOLDER));
        Ok(())
    }

    fn says_nothing(&self) -> bool {
        self.applied.is_none() && self.pending.is_none()
    }

    /// Returns the journal's permissions: it holds the bytes of files, so only users who may read
    /// all of those may read it.
    fn mode(&self) -> u32 {
        let of_applied = self.applied.iter().chain(self.pending.iter().flat_map(|it| &it.outcome));
        let kept = of_applied.flat_map(|it| &it.files).flat_map(|it| [&it.original, &it.applied]);
        let changed = self.pending.iter().flat_map(|it| &it.changes);
        let mut all = kept.chain(changed.flat_map(|it| [&it.from, &it.to])).flatten();
        if all.all(|contents| contents.mode & 0o004 != 0) { 0o644 } else { 0o600 }
    }
}
