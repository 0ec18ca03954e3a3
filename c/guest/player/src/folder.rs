//! The names in a folder.

use alloc::{format, string::String, vec::Vec};
use core::mem::MaybeUninit;

use rustix::{
    fs::{Mode, OFlags, RawDir, open},
    io::Errno,
};

use crate::trouble::{Attempt, Result};

/// Room for some hundred entries at a time.
const BUFFER_BYTES: usize = 16 << 10;

/// The names in a folder; none when there is no such folder.
pub fn names(path: &str) -> Result<Vec<String>> {
    let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = match open(path, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(Vec::new()),
        folder => folder.attempt(|| format!("open {path}"))?,
    };
    let mut entries = RawDir::new(folder, &mut buffer);
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry.attempt(|| format!("read {path}"))?;
        if let Ok(name) = entry.file_name().to_str()
            && !matches!(name, "." | "..")
        {
            names.push(name.into());
        }
    }
    Ok(names)
}
