//! Files in memory that QEMU writes to or reads from; they vanish with their last user.

use std::{
    fs::File,
    io::{self, Read, Seek, Write},
    os::fd::{AsFd, AsRawFd, BorrowedFd},
};

use preemptlab_runner::Stop;
use rustix::fs::{MemfdFlags, memfd_create};

/// An anonymous file (`memfd_create(2)`).
#[derive(Debug)]
pub(crate) struct MemoryFile(File);

impl MemoryFile {
    /// Creates an empty file. The name is for people who look at the process from outside.
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        Ok(Self(memfd_create(name, MemfdFlags::CLOEXEC)?.into()))
    }

    /// Creates a file with some content.
    pub(crate) fn with_content(name: &str, content: &[u8]) -> io::Result<Self> {
        let mut file = Self::new(name)?;
        file.0.write_all(content)?;
        Ok(file)
    }

    /// Returns everything that was written so far.
    /// [`OUTPUT_BYTES_MAX`](crate::process::OUTPUT_BYTES_MAX) bounds the output of a guest.
    pub(crate) fn content(&mut self) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        self.0.rewind()?;
        self.0.read_to_end(&mut content)?;
        Ok(content)
    }

    /// Returns a second descriptor of the same file.
    pub(crate) fn try_clone(&self) -> io::Result<File> {
        self.0.try_clone()
    }
}

impl AsFd for MemoryFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Returns the path by which a process that inherited a descriptor can open its file anew.
pub(crate) fn inherited_path(fd: impl AsFd) -> String {
    format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd())
}

/// Returns the error of a file in memory that cannot be made or read.
pub(crate) fn no_memory_file(error: io::Error) -> Stop {
    Stop::Host { reason: format!("cannot hold a guest's output in memory: {error}") }
}
