//! Holds the files of a folder as a value, read from a disk or from an archive.
//!
//! Invariants:
//!
//! - A value holds at most 64 MiB and 1000 files, wherever it came from.
//! - No path and no link leads out of the folder.
//! - The same files give the same archive and the same digest, whatever machine, user, date or
//!   order of reading they come from.
//!
//! Files of strangers come through here, so this crate depends on `durable` and `model` only and
//! executes nothing.
//!
//! ```
//! use preemptlab_files::{Files, Node};
//!
//! let mut files = Files::default();
//! let script = Node::File { executable: true, bytes: b"#!/bin/true\n".to_vec() };
//! files.insert("bin/start", script)?;
//! assert!(files.insert("../escape", Node::Folder).is_err());
//!
//! let archive = files.archive();
//! assert_eq!(Files::from_archive(&archive)?.digest(), files.digest());
//! # Ok::<(), preemptlab_files::FilesError>(())
//! ```

mod archive;
mod error;
mod files;
mod read;

use std::collections::BTreeMap;

pub use error::FilesError;
pub use files::{ARCHIVE_BYTES_MAX, Files, Node};
use preemptlab_model::Digest;

/// The files of several folders by the digests of their archives.
pub type Folders = BTreeMap<Digest, Files>;
