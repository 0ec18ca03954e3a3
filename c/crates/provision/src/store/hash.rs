//! The SHA-256 of files.

use std::{io, path::Path};

use preemptlab_model::Digest;

/// Computes the SHA-256 of a file's content.
pub(crate) fn sha256(path: &Path) -> io::Result<Digest> {
    Digest::of_reader(preemptlab_files::open(path)?)
}
