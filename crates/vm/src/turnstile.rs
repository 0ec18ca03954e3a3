//! The turnstile (the library `preemptlab-turnstile`), as QEMU is given it.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
};

use crate::output::{MemoryFile, inherited_path};

/// The library, as the build script made it.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libpreemptlab_turnstile.so"));

/// The files of the turnstile, which QEMU inherits.
#[derive(Debug)]
pub(crate) struct Turnstile {
    library: MemoryFile,
    /// The library writes to it when it has found the thread of the virtual CPUs.
    found: MemoryFile,
}

impl Turnstile {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            library: MemoryFile::with_content("turnstile", LIBRARY)?,
            found: MemoryFile::new("turnstile found")?,
        })
    }

    /// The variables by which the loader and the library find what they need.
    pub(crate) fn environment(&self) -> [(&'static str, String); 2] {
        [
            ("LD_PRELOAD", inherited_path(&self.library)),
            ("PREEMPTLAB_TURNSTILE", self.found.as_fd().as_raw_fd().to_string()),
        ]
    }

    pub(crate) fn files(&self) -> [BorrowedFd<'_>; 2] {
        [self.library.as_fd(), self.found.as_fd()]
    }

    /// Whether the library is in its place. A loader only warns of what it cannot preload, and a
    /// static program has none. A QEMU that answers has started the thread of its CPUs.
    pub(crate) fn is_in_place(&mut self) -> bool {
        self.found.content().is_ok_and(|content| !content.is_empty())
    }
}
