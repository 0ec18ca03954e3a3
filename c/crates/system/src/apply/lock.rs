use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::PathBuf,
};

use rustix::fs::{FlockOperation, flock};

use crate::apply::{Error, Machine, Result};

/// Lock of the machine while settings are read and changed. Its file is not in the place of any
/// setting, and is removed with the lock.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Takes the lock of a machine.
    ///
    /// # Errors
    ///
    /// When another process holds it; the error names the process.
    pub fn take(machine: &Machine) -> Result<Self> {
        let path = machine.path("/run/preemptlab.lock");
        let failed = || Error::file(path.clone());
        loop {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false).mode(0o600);
            let file = options.open(&path).map_err(failed())?;
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                let inode = file.metadata().map_err(failed())?.ino();
                return Err(Error::Busy { holder: holder(inode) });
            }
            // The process that held the lock before may have removed the file after it was opened
            // here.
            let mine = file.metadata().map_err(failed())?.ino();
            if fs::metadata(&path).is_ok_and(|metadata| metadata.ino() == mine) {
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the process that holds a lock, from /proc/locks (proc_locks(5)).
fn holder(inode: u64) -> String {
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let pid = locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (kind, pid, place) = (words.get(1)?, words.get(4)?, words.get(5)?);
        let is_it = *kind == "FLOCK" && place.rsplit(':').next()? == inode.to_string();
        is_it.then(|| (*pid).to_owned())
    });
    match pid {
        Some(pid) => format!("preemptlab with process number {pid}"),
        None => "another preemptlab".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("run")).unwrap();
        let machine = Machine::at(folder.path());
        let lock = Lock::take(&machine).unwrap();
        let error = Lock::take(&machine).unwrap_err().to_string();
        assert!(error.contains(&std::process::id().to_string()), "{error}");
        drop(lock);
        assert_eq!(fs::read_dir(folder.path().join("run")).unwrap().count(), 0);
        drop(Lock::take(&machine).unwrap());
    }
}
