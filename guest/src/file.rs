//! Bounded reading and writing of files.

use alloc::{string::String, vec, vec::Vec};

use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{self, Mode, OFlags},
    io::{Errno, pread, write},
};

/// Files of procfs, sysfs and debugfs are shorter than this.
const KERNEL_FILE_BYTES_MAX: usize = 1 << 20;

/// How much is read at a time.
const CHUNK_BYTES: usize = 16 << 10;

/// Reads from the start to the end, and one byte more than `bytes_max` when there is more.
pub fn read_fd(fd: impl AsFd, bytes_max: usize) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; CHUNK_BYTES.min(bytes_max + 1)];
    while bytes.len() <= bytes_max {
        let want = chunk.len().min(bytes_max + 1 - bytes.len());
        match pread(&fd, &mut chunk[..want], bytes.len() as u64) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(bytes)
}

/// Opens a file for reading.
pub fn open(path: &str) -> Result<OwnedFd, Errno> {
    fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// Reads a file. `EFBIG` when it is longer than `bytes_max`.
pub fn read(path: &str, bytes_max: usize) -> Result<Vec<u8>, Errno> {
    let bytes = read_fd(open(path)?, bytes_max)?;
    if bytes.len() > bytes_max { Err(Errno::FBIG) } else { Ok(bytes) }
}

/// Reads a file of the kernel, without the white space around its text.
pub fn read_kernel(path: &str) -> Result<String, Errno> {
    let bytes = read(path, KERNEL_FILE_BYTES_MAX)?;
    Ok(String::from_utf8_lossy(&bytes).trim().into())
}

/// Writes a short text to an existing file, in one go, as files of the kernel want it.
pub fn write_kernel(path: &str, text: &str) -> Result<(), Errno> {
    let fd = fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    if write(fd, text.as_bytes())? == text.len() { Ok(()) } else { Err(Errno::IO) }
}
