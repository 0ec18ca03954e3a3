//! Bounded reading and writing of files.

use alloc::{string::String, vec, vec::Vec};

use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd, RawFd},
    fs::{self, Mode, OFlags},
    io::{self, Errno},
};

/// Files of procfs, sysfs and debugfs are shorter than this.
const KERNEL_FILE_BYTES_MAX: usize = 1 << 20;

/// How much is read at a time.
const CHUNK_BYTES: usize = 16 << 10;

/// Opens a file for reading.
pub fn open(path: &str) -> Result<OwnedFd, Errno> {
    fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// Reads a file. `EFBIG` when it is longer than `bytes_max`.
pub fn read(path: &str, bytes_max: usize) -> Result<Vec<u8>, Errno> {
    let file = open(path)?;
    // Not every file of debugfs lets itself be read at an offset.
    let bytes = gather(bytes_max, |chunk, _| io::read(&file, chunk))?;
    if bytes.len() > bytes_max { Err(Errno::FBIG) } else { Ok(bytes) }
}

/// Reads an open file from its start to its end, without moving the offset that it shares with
/// whoever writes it, and one byte more than `bytes_max` when there is more.
pub fn read_from_start(file: impl AsFd, bytes_max: usize) -> Result<Vec<u8>, Errno> {
    gather(bytes_max, |chunk, offset| io::pread(&file, chunk, offset))
}

fn gather(
    bytes_max: usize,
    mut read: impl FnMut(&mut [u8], u64) -> Result<usize, Errno>,
) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; CHUNK_BYTES.min(bytes_max + 1)];
    while bytes.len() <= bytes_max {
        let want = chunk.len().min(bytes_max + 1 - bytes.len());
        match read(&mut chunk[..want], bytes.len() as u64) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(bytes)
}

/// Reads a file of the kernel, without the white space around its text.
pub fn read_kernel(path: &str) -> Result<String, Errno> {
    let bytes = read(path, KERNEL_FILE_BYTES_MAX)?;
    Ok(String::from_utf8_lossy(&bytes).trim().into())
}

/// Writes a short text to an existing file, in one go, as files of the kernel want it.
pub fn write_kernel(path: &str, text: &str) -> Result<(), Errno> {
    let fd = fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    if io::write(fd, text.as_bytes())? == text.len() { Ok(()) } else { Err(Errno::IO) }
}

/// Writes a text to one of the standard files. Whom it does not reach, nothing can be told.
pub fn say(to: RawFd, text: &str) {
    // SAFETY: nothing closes the standard files.
    let to = unsafe { BorrowedFd::borrow_raw(to) };
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        match io::write(to, rest) {
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn reading_is_bounded() {
        let path = std::env::temp_dir().join(std::format!("preemptlab-{}", std::process::id()));
        let mut file = std::fs::File::create_new(&path).unwrap();
        file.write_all(&[7; 40_000]).unwrap();
        let name = path.to_str().unwrap();
        let reader = open(name).unwrap();
        let lengths = [39_999, 40_000, 40_001].map(|bytes_max| {
            (read(name, bytes_max).map(|bytes| bytes.len()), read_from_start(&reader, bytes_max))
        });
        std::fs::remove_file(&path).unwrap();
        let [short, exact, long] = lengths.map(|(whole, bytes)| (whole, bytes.unwrap().len()));
        assert_eq!(short, (Err(Errno::FBIG), 40_000));
        assert_eq!(exact, (Ok(40_000), 40_000));
        assert_eq!(long, (Ok(40_000), 40_000));
    }
}
