use std::{
    fs::{self, File},
    io::{
        self,
        ErrorKind::{PermissionDenied, ReadOnlyFilesystem},
        Write,
    },
    path::{Path, PathBuf},
};

use rustix::{fs::FlockOperation, io::Errno};

use crate::{Draft, Owner, read};

/// The name of the file that names a folder's writer, on filesystems where flock(2) is not enough.
pub const LOCK_FILE: &str = ".lock";

/// The most bytes of a lock file.
const LOCK_BYTES_MAX: u64 = 1 << 10;

/// Filesystems of a single machine, where flock(2) reaches every process (statfs(2)): ext2 to ext4,
/// XFS, Btrfs, tmpfs, ramfs, F2FS, overlayfs, ZFS and bcachefs.
const OWN_FILESYSTEMS: [i64; 9] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0x0102_1994,
    0x8584_58f6,
    0xf2f5_2010,
    0x794c_7630,
    0x2fc1_2fc1,
    0xca45_1a4e,
];

/// The result of asking for a folder's lock.
#[derive(Debug)]
pub enum Lock {
    /// This process has the lock.
    Taken(FolderLock),
    /// Another process has the lock; its name, if it is known.
    Held(Option<String>),
}

/// A folder's lock, until it is dropped. The kernel releases a flock(2) when the process ends,
/// however it ends. On network filesystems and below FUSE, where flock may not reach every process,
/// a file names the lock's owner, too; the file of a process that has ended does not count.
#[derive(Debug)]
pub struct FolderLock {
    _flock: File,
    _file: Option<LockFile>,
}

/// Takes a folder's lock, without waiting.
///
/// # Errors
///
/// When the folder cannot be opened or written to.
pub fn lock(folder: &Path) -> io::Result<Lock> {
    let flock = File::open(folder)?;
    match rustix::fs::flock(&flock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(Lock::Held(None)),
        // The filesystem has no such locks; the file remains.
        Err(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP) => {}
        Err(error) => return Err(error.into()),
    }
    let kind = rustix::fs::fstatfs(&flock)?.f_type;
    if OWN_FILESYSTEMS.contains(&(kind as i64)) {
        return Ok(Lock::Taken(FolderLock { _flock: flock, _file: None }));
    }
    let file = match LockFile::take(folder) {
        Ok(Ok(file)) => Some(file),
        Ok(Err(holder)) => return Ok(Lock::Held(holder)),
        // A user who cannot write there disturbs no other.
        Err(error) if matches!(error.kind(), ReadOnlyFilesystem | PermissionDenied) => None,
        Err(error) => return Err(error),
    };
    Ok(Lock::Taken(FolderLock { _flock: flock, _file: file }))
}

/// A file that names the owner of a folder's lock.
#[derive(Debug)]
struct LockFile {
    path: PathBuf,
    text: String,
}

impl LockFile {
    /// Makes the file, or returns the owner that an existing file names.
    fn take(folder: &Path) -> io::Result<Result<Self, Option<String>>> {
        let path = folder.join(LOCK_FILE);
        let owner = Owner::this().ok_or_else(|| io::Error::other("/proc cannot be read"))?;
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let text = format!("{owner} {}\n", host.trim());
        if let Some(there) = content(&path)? {
            let (holder, host) = there.trim().split_once(' ').unwrap_or((there.trim(), ""));
            match Owner::parse(holder) {
                Some(holder) if holder.is_gone() => fs::remove_file(&path)?,
                Some(holder) => {
                    let host = host.escape_debug();
                    return Ok(Err(Some(format!("process {} on {host}", holder.process()))));
                }
                None => return Ok(Err(None)),
            }
        }
        let mut draft = Draft::new_in(folder)?;
        draft.file().write_all(text.as_bytes())?;
        draft.publish(&path)?;
        // Two processes that saw a third one end may both have removed its file, and the later one
        // the file of the earlier: the process whose file is there has the folder.
        match content(&path)? {
            Some(there) if there == text => Ok(Ok(Self { path, text })),
            _ => Ok(Err(None)),
        }
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if content(&self.path).is_ok_and(|there| there.as_ref() == Some(&self.text)) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn content(path: &Path) -> io::Result<Option<String>> {
    match read(path, LOCK_BYTES_MAX) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_has_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let first = lock(folder.path()).unwrap();
        assert!(matches!(first, Lock::Taken(_)));
        assert!(matches!(lock(folder.path()).unwrap(), Lock::Held(_)));
        drop(first);
        assert!(matches!(lock(folder.path()).unwrap(), Lock::Taken(_)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_says_who_has_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK_FILE);
        let first = LockFile::take(folder.path()).unwrap().unwrap();
        let holder = LockFile::take(folder.path()).unwrap().unwrap_err().unwrap();
        assert!(holder.starts_with(&format!("process {} on ", std::process::id())), "{holder}");
        drop(first);
        assert!(!path.exists());

        // A process that this machine cannot see may still run.
        let elsewhere = format!("1-{}-1-2-3 node7\n", "0".repeat(32));
        fs::write(&path, &elsewhere).unwrap();
        let holder = LockFile::take(folder.path()).unwrap().unwrap_err().unwrap();
        assert_eq!(holder, "process 2 on node7");
        fs::write(&path, "what ever").unwrap();
        assert_eq!(LockFile::take(folder.path()).unwrap().unwrap_err(), None);

        // One of this boot that is gone has nothing any more.
        let this = Owner::this().unwrap().to_string();
        let (before, _) = this.rsplit_once('-').unwrap();
        fs::write(&path, format!("{before}-1 here\n")).unwrap();
        let taken = LockFile::take(folder.path()).unwrap().unwrap();
        // No process removes a file that is another one's by now.
        fs::write(&path, &elsewhere).unwrap();
        drop(taken);
        assert_eq!(fs::read_to_string(&path).unwrap(), elsewhere);
    }
}
