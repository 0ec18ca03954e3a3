//! Files of the kernel, of which a locked-down one refuses some, and files that commands left.

use alloc::{string::String, vec, vec::Vec};

pub use preemptlab_sys::file::{read, read_from_start};
use rustix::{
    fd::OwnedFd,
    fs::{CWD, Mode, OFlags, ResolveFlags, openat2},
    io::{self, Errno},
};

use super::machine::{self, DEBUGFS};

/// Files of procfs, sysfs and debugfs are shorter than this.
const KERNEL_FILE_BYTES_MAX: usize = 1 << 20;

/// How much is read at a time.
const CHUNK_BYTES: usize = 16 << 10;

/// Opens a file that a command left, which may be anything: a pipe that nobody writes to is not
/// waited for, and a link of procfs does not lead to what this process has open.
pub fn open(path: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)
}

/// Reads a file of the kernel, without the white space around its text. A file of debugfs that a
/// locked-down kernel refuses even to root (`debugfs_locked_down` in fs/debugfs/file.c) is as good
/// as absent.
pub fn read_kernel(path: &str) -> Result<String, Errno> {
    let file = match machine::open(path, OFlags::RDONLY) {
        Err(Errno::PERM) if path.starts_with(DEBUGFS) => return Err(Errno::NOENT),
        file => file?,
    };
    let mut bytes = Vec::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match io::read(&file, &mut chunk[..]) {
            Ok(0) => return Ok(String::from_utf8_lossy(&bytes).trim().into()),
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        if bytes.len() > KERNEL_FILE_BYTES_MAX {
            return Err(Errno::FBIG);
        }
    }
}

/// Writes a short text to an existing file of the kernel, in one go, as such files want it.
pub fn write_kernel(path: &str, text: &str) -> Result<(), Errno> {
    let file = machine::open(path, OFlags::WRONLY)?;
    if io::write(file, text.as_bytes())? == text.len() { Ok(()) } else { Err(Errno::IO) }
}
