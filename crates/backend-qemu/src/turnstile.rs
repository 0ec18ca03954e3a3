//! The turnstile (the library `preemptlab-turnstile`), as QEMU is given it.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
};

use crate::output::{MemoryFile, inherited_path};

/// The library, as the build script made it.
pub(crate) const LIBRARY: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/libpreemptlab_turnstile.so"));

/// The files of the turnstile, which QEMU inherits.
#[derive(Debug)]
pub(crate) struct Turnstile {
    library: MemoryFile,
    /// File to which the library writes its findings, one byte each.
    found: MemoryFile,
}

impl Turnstile {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            library: MemoryFile::with_content("turnstile", LIBRARY)?,
            found: MemoryFile::new("turnstile found")?,
        })
    }

    /// Returns the variables that the loader and the library read.
    pub(crate) fn environment(&self) -> [(&'static str, String); 2] {
        [
            ("LD_PRELOAD", inherited_path(&self.library)),
            ("PREEMPTLAB_TURNSTILE", self.found.as_fd().as_raw_fd().to_string()),
        ]
    }

    pub(crate) fn files(&self) -> [BorrowedFd<'_>; 2] {
        [self.library.as_fd(), self.found.as_fd()]
    }

    /// Returns whether the library is in its place. A loader only warns of a library that it cannot
    /// preload, and a static program has no loader. A QEMU that answers has started the thread of
    /// its CPUs.
    pub(crate) fn is_in_place(&mut self) -> bool {
        self.has_said(b'.')
    }

    /// Returns whether the library notices how the cache of translated code is emptied. QEMU
    /// empties it whenever it loads a machine.
    pub(crate) fn notices_flushes(&mut self) -> bool {
        self.has_said(b'f')
    }

    /// Returns whether a flush of the cache of translated code ended a CPU's turn.
    pub(crate) fn has_cut_a_turn(&mut self) -> bool {
        self.has_said(b'!')
    }

    fn has_said(&mut self, word: u8) -> bool {
        self.found.content().is_ok_and(|content| content.contains(&word))
    }
}
