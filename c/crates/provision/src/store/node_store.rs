//! A store that the workers of one machine share, and that the last of them removes.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::fs::FlockOperation;

use crate::{Store, StoreError};

/// File that every worker keeps locked while it uses the store.
const USERS: &str = "users";

/// Interval at which a worker that waits for another one asks again.
const PAUSE: Duration = Duration::from_millis(50);

/// How often a store is opened that another worker removes meanwhile, and removed while another one comes.
const ATTEMPTS: u32 = 20;

/// Added to the name of a store that is being removed.
const ASIDE: &str = "removed-";

/// Number of stores that this process has removed.
static REMOVED: AtomicU32 = AtomicU32::new(0);

/// Store that this process uses together with others.
#[derive(Debug)]
pub struct NodeStore {
    store: Store,
    users: File,
}

impl NodeStore {
    /// Opens a store, which is made if there is none, and keeps others from removing it. Waits for
    /// a process that removes it, until a flag is set.
    ///
    /// # Errors
    ///
    /// As [`Store::open`], and [`StoreError::Interrupted`].
    pub fn open(root: PathBuf, interrupt: Arc<AtomicBool>) -> Result<Self, StoreError> {
        for attempt in 1.. {
            match Self::join(&root, &interrupt) {
                Ok(Some(store)) => return Ok(store),
                Err(error) if attempt >= ATTEMPTS || !error.is_gone() => return Err(error),
                _ if interrupt.load(Ordering::Relaxed) => {
                    return Err(StoreError::Interrupted(root));
                }
                _ => thread::sleep(PAUSE),
            }
        }
        unreachable!("the loop has no end of its own")
    }

    /// Joins the users of a store; `None` where it was removed meanwhile.
    fn join(root: &Path, interrupt: &Arc<AtomicBool>) -> Result<Option<Self>, StoreError> {
        Store::open(root.to_owned())?;
        let path = root.join(USERS);
        let mut options = File::options();
        let users = options.create(true).truncate(false).write(true).mode(0o644).open(&path);
        let users = users.map_err(StoreError::at(&path))?;
        match rustix::fs::flock(&users, FlockOperation::NonBlockingLockShared) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(StoreError::new(&path, error.into())),
        }
        if users.metadata().map_err(StoreError::at(&path))?.nlink() == 0 {
            return Ok(None);
        }
        // Another worker may have moved the store away while its folders were being made here. From now on
        // nobody does.
        let store = Store::open(root.to_owned())?.until(Arc::clone(interrupt));
        Ok(Some(Self { store, users }))
    }

    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Removes the store, where no other process uses it.
    ///
    /// # Errors
    ///
    /// When a file cannot be removed.
    pub fn remove(self) -> Result<(), StoreError> {
        // The change of a lock is not atomic (flock(2)): two that leave at once both let go, and one
        // of them gets it.
        match rustix::fs::flock(&self.users, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(_) => return Ok(()),
        }
        let is_there = self.users.metadata().is_ok_and(|metadata| metadata.nlink() > 0);
        if !is_there {
            return Ok(());
        }
        // A process that comes meanwhile would make folders and a file of users in a store that is being
        // removed, so the store gets out of the way at once, under a name that no other has.
        let root = self.store.root();
        let nth = REMOVED.fetch_add(1, Ordering::Relaxed);
        let aside = root.with_added_extension(format!("{ASIDE}{}-{nth}", process::id()));
        match fs::rename(root, &aside) {
            Ok(()) => removed(&aside)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::new(root, error)),
        }
        sweep(root);
        Ok(())
    }
}

/// Removes the rest of stores whose workers were killed while they removed them.
fn sweep(root: &Path) {
    let (Some(parent), Some(name)) = (root.parent(), root.file_name()) else { return };
    let Ok(entries) = fs::read_dir(parent) else { return };
    let start = Path::new(name).with_added_extension(ASIDE).into_os_string().into_encoded_bytes();
    for entry in entries.flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(&start) {
            // Its owner may be at it, and others may not be ours to remove.
            let _ = removed(&entry.path());
        }
    }
}

/// Removes a folder, which others may be removing as well. A worker that had opened it before it was moved away
/// may make its last folder in it.
fn removed(folder: &Path) -> Result<(), StoreError> {
    for attempt in 1.. {
        match fs::remove_dir_all(folder) {
            Ok(()) => break,
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(error)
                if error.kind() == io::ErrorKind::DirectoryNotEmpty && attempt < ATTEMPTS => {}
            Err(error) => return Err(StoreError::new(folder, error)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_removes_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("store");
        let open = || NodeStore::open(root.clone(), Arc::default()).unwrap();
        let (one, two) = (open(), open());
        one.remove().unwrap();
        assert!(two.store().images().is_dir());
        let three = open();
        two.remove().unwrap();
        assert!(root.exists());
        three.remove().unwrap();
        assert!(!root.exists());
        open().remove().unwrap();
    }

    #[test]
    fn workers_that_come_and_go_find_a_whole_store() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("store");
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..40 {
                        let store = NodeStore::open(root.clone(), Arc::default()).unwrap();
                        assert!(store.store().cells().is_dir());
                        fs::write(store.store().images().join("image"), "image").unwrap();
                        store.remove().unwrap();
                    }
                });
            }
        });
        assert!(!root.exists());
    }
}
