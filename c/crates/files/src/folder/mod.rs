//! The files of a folder as a value, read from a disk or from an archive.

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
