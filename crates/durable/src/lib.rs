//! Files that are whole or absent, whatever moment the process is killed at, and files of strangers
//! read without waiting and within bounds.
//!
//! A [`Draft`] has no name until it is published, so a killed process leaves nothing behind:
//! `O_TMPFILE` and `linkat(2)`, as open(2) describes. Where the filesystem has no `O_TMPFILE`, the
//! draft is a hidden file whose name says who writes it, and which [`sweep`] removes once that
//! process is known to be gone.

mod draft;
mod lock;
mod owner;
mod read;

pub use draft::{Draft, is_draft, replace, sweep, write_new};
pub use lock::{FolderLock, LOCK_FILE, Lock, lock};
pub use owner::Owner;
pub use read::{open, read};

use std::{fs::DirBuilder, io, os::unix::fs::DirBuilderExt, path::Path};

/// Makes a folder with those above it, into which nobody else can write whatever the umask is.
///
/// # Errors
///
/// When that is not allowed, or a file is in the way.
pub fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}
