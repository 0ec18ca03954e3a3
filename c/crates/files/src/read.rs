use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

/// Opens a regular file for reading. Refuses any other file without waiting: a pipe without a
/// writer, a device without an end.
///
/// # Errors
///
/// When there is no such file, or it is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    // Opening a device can do something, so it is looked at first.
    check(&fs::metadata(path)?)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file: File = rustix::fs::open(path, flags, Mode::empty())?.into();
    // It may have been exchanged meanwhile.
    check(&file.metadata()?)?;
    Ok(file)
}

/// Reads a regular file of at most `bytes_max` bytes.
///
/// # Errors
///
/// When there is no such file, it is not a regular file, or it is larger.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    if length > bytes_max {
        return Err(too_large(bytes_max));
    }
    let mut bytes = Vec::with_capacity(length as usize + 1);
    // It may grow meanwhile, and files of procfs say that they are empty.
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max { Err(too_large(bytes_max)) } else { Ok(bytes) }
}

/// Returns whether an error of reading a file is the file's own fault, and no other machine could read it:
/// it is too large, or something else than a regular file.
pub fn is_of_the_file(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, InvalidInput, IsADirectory};
    matches!(error.kind(), FileTooLarge | InvalidInput | IsADirectory)
        || [Errno::LOOP, Errno::NAMETOOLONG]
            .iter()
            .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn check(metadata: &fs::Metadata) -> io::Result<()> {
    if metadata.is_file() {
        Ok(())
    } else if metadata.is_dir() {
        Err(Errno::ISDIR.into())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
    }
}

fn too_large(bytes_max: u64) -> io::Error {
    let size = match bytes_max >> 20 {
        0 => format!("{} KiB", bytes_max >> 10),
        mib => format!("{mib} MiB"),
    };
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {size}"))
}

#[cfg(test)]
mod tests {
    use std::{os::unix::net::UnixListener, process::Command};

    use super::*;

    #[test]
    fn a_file_is_read_within_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, b"12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(read(&path, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let said = read(&path, 1 << 20).unwrap_err().to_string();
        assert_eq!(said, "it is larger than 1 MiB");
        assert!(!read(Path::new("/proc/self/status"), 1 << 20).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let socket = folder.path().join("socket");
        drop(UnixListener::bind(&socket).unwrap());
        for path in [pipe.as_path(), &socket, Path::new("/dev/zero"), Path::new("/dev/null")] {
            let said = read(path, 10).unwrap_err().to_string();
            assert_eq!(said, "it is no regular file", "{}", path.display());
        }
        let said = read(folder.path(), 10).unwrap_err();
        assert!(said.kind() == io::ErrorKind::IsADirectory && is_of_the_file(&said));
        let circle = folder.path().join("circle");
        std::os::unix::fs::symlink(&circle, &circle).unwrap();
        assert!(is_of_the_file(&read(&circle, 10).unwrap_err()));
        let absent = read(&folder.path().join("absent"), 10).unwrap_err();
        assert!(absent.kind() == io::ErrorKind::NotFound && !is_of_the_file(&absent));
    }
}
