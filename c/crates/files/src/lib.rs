//! Writes files that are whole or absent, reads the files of strangers within bounds, and holds
//! the files of a folder as a value.
//!
//! Invariants:
//!
//! - At whatever moment the process is killed, a file has its old content, its new content, or does
//!   not exist. A [`Draft`] has no name until it is published (`O_TMPFILE` and `linkat(2)`, as
//!   open(2) describes), so a killed process leaves no file behind. On a filesystem without
//!   `O_TMPFILE` the draft is a hidden file whose name identifies its process; [`sweep`] removes it
//!   once that process has ended.
//! - A folder that this program chose itself ([`OutFolder`]) is this user's, and no link leads to it.
//! - Reading never waits (for a pipe, a device) and never takes more memory than the caller allows.
//! - A value ([`Files`]) holds at most 64 MiB and 1000 files, wherever it came from. No path and no
//!   link of it leads out of its folder.
//! - The same files give the same archive and the same digest, whatever machine, user, date or
//!   order of reading they come from.
//!
//! Files of strangers come through here, so this crate depends on `model` only and executes
//! nothing.
//!
//! ```
//! use preemptlab_files::{Files, Node};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("cell.json");
//! assert!(preemptlab_files::write_new(&path, b"{}")?);
//! // A second writer finds the file there and leaves it alone.
//! assert!(!preemptlab_files::write_new(&path, b"other")?);
//! assert_eq!(preemptlab_files::read(&path, 1 << 20)?, b"{}");
//! assert!(preemptlab_files::read(&path, 1).is_err());
//!
//! let mut files = Files::default();
//! let script = Node::File { executable: true, bytes: b"#!/bin/true\n".to_vec() };
//! files.insert("bin/start", script)?;
//! assert!(files.insert("../escape", Node::Folder).is_err());
//!
//! let archive = files.archive();
//! assert_eq!(Files::from_archive(&archive)?.digest(), files.digest());
//! # Ok(())
//! # }
//! ```

mod draft;
mod folder;
mod lock;
mod own;
mod owner;
mod read;

pub use draft::{Draft, Replacement, is_draft, renew, replace, sweep, write_new};
pub use folder::{ARCHIVE_BYTES_MAX, Files, FilesError, Folders, Node};
pub use lock::{FolderLock, LOCK_FILE, Lock, lock};
pub use own::{FolderError, OutFolder, make_below, remove_folder};
pub use owner::Owner;
pub use read::{is_of_the_file, open, read};

use std::{fs::DirBuilder, io, os::unix::fs::DirBuilderExt, path::Path};

/// Makes a folder and the folders above it. No other user can write to them, whatever the umask is.
///
/// # Errors
///
/// When the filesystem refuses a folder, or a file has the name of one.
pub fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}
