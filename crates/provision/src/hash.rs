//! The SHA-256 of files.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use preemptlab_model::Digest;
use sha2::{Digest as _, Sha256};

/// Of a file's content.
pub(crate) fn sha256(path: &Path) -> io::Result<Digest> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Digest::from_bytes(hasher.finalize().into())),
            length => hasher.update(&buffer[..length]),
        }
    }
}
