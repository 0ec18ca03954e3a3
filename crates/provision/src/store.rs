use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    process::Stdio,
};

use preemptlab_model::Digest;

use crate::Event;

/// How the name of every folder begins that is still being filled.
const UNPACK_PREFIX: &str = ".unpack-";

/// The folders whose content is only written under the store's lock.
const LOCKED_FOLDERS: [&str; 8] =
    ["packages", "kernels", "modules", "configs", "qemu", "headers", "toolchains", "kmod"];

/// The folder of the kernels that were built, which has a lock of its own: a build takes long, and
/// everybody else goes on meanwhile.
const BUILDS: &str = "builds";

/// A folder with everything that was brought here or made here once and can be used again. What
/// it holds is named by a hash, is whole, and never changes.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It belongs to someone else.
    #[error("no permission to write to the store `{}`; choose a folder of your own", .0.display())]
    NoPermission(PathBuf),
    /// A file stands where a folder should be.
    #[error("the store cannot be `{}`, which is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// Programs would read this path as something else.
    #[error(
        "the store cannot be `{}`: apt takes no path with a quote or a line break, and the loader \
         that starts QEMU none with `:`, `;` or `$`; name another folder with --store",
        .0.display()
    )]
    Path(PathBuf),
    /// The disk is full.
    #[error("the disk is full: `{}` cannot be written; free some space and run the command again", .0.display())]
    Full(PathBuf),
    /// Anything else that the operating system reports.
    #[error("the store cannot use `{}`: {source}", path.display())]
    Io {
        /// What it was about.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl StoreError {
    /// What the system's error about a path means.
    pub(crate) fn new(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::NoPermission(path)
            }
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => Self::NotAFolder(path),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full(path),
            _ => Self::Io { path, source },
        }
    }

    /// The same, to be handed to `map_err`.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::new(path, source)
    }
}

impl Store {
    /// Opens a store and makes the folders that are missing.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the folder cannot be made or written to.
    pub fn open(root: PathBuf) -> Result<Self, StoreError> {
        let root = std::path::absolute(&root).map_err(StoreError::at(&root))?;
        if root.as_os_str().as_encoded_bytes().iter().any(|byte| b"\"\n:;$".contains(byte)) {
            return Err(StoreError::Path(root));
        }
        let store = Self { root };
        let others = [BUILDS, "apt", "images", "snapshots", "cells"];
        for folder in LOCKED_FOLDERS.into_iter().chain(others) {
            let folder = store.root.join(folder);
            fs::create_dir_all(&folder).map_err(StoreError::at(&folder))?;
        }
        store.lock_file("lock")?;
        Ok(store)
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The private apt root.
    pub fn apt(&self) -> PathBuf {
        self.root.join("apt")
    }

    /// The folder of the packages.
    pub fn packages(&self) -> PathBuf {
        self.root.join("packages")
    }

    /// What apt answered before.
    pub(crate) fn answers(&self) -> PathBuf {
        self.root.join("answers")
    }

    /// A package's file.
    pub fn package(&self, sha256: Digest) -> PathBuf {
        self.packages().join(format!("{sha256}.deb"))
    }

    /// A kernel's folder, by the hash of its bzImage.
    pub fn kernel(&self, image_sha256: Digest) -> PathBuf {
        self.root.join("kernels").join(image_sha256.to_string())
    }

    /// A kernel's bzImage.
    pub fn kernel_image(&self, image_sha256: Digest) -> PathBuf {
        self.kernel(image_sha256).join("vmlinuz")
    }

    /// Where it is written which bzImage a package holds.
    pub(crate) fn kernel_of_package(&self, sha256: Digest) -> PathBuf {
        self.root.join("kernels").join(format!("{sha256}.json"))
    }

    /// The modules of a kernel, by the hash of the package that they come in.
    pub(crate) fn modules(&self, package_sha256: Digest) -> PathBuf {
        self.root.join("modules").join(package_sha256.to_string())
    }

    /// A kernel's configuration, by the hash of the package it was read from.
    pub(crate) fn config_of_package(&self, sha256: Digest) -> PathBuf {
        self.root.join("configs").join(sha256.to_string())
    }

    /// An unpacked QEMU, by the digest of its build.
    pub fn qemu(&self, digest: Digest) -> PathBuf {
        self.root.join("qemu").join(digest.to_string())
    }

    /// Unpacked headers of a kernel, by the digest of their packages.
    pub(crate) fn headers(&self, digest: Digest) -> PathBuf {
        self.root.join("headers").join(digest.to_string())
    }

    /// An unpacked compiler of kernels, by the digest of its packages.
    pub(crate) fn toolchain(&self, digest: Digest) -> PathBuf {
        self.root.join("toolchains").join(digest.to_string())
    }

    /// One of the project's own modules, by the digest of what it was built from.
    pub(crate) fn kmod(&self, digest: Digest) -> PathBuf {
        self.root.join("kmod").join(digest.to_string())
    }

    /// A folder to build a module in that is not to be kept.
    pub(crate) fn kmod_draft(&self, _lock: &StoreLock) -> Result<tempfile::TempDir, StoreError> {
        draft_in(&self.root.join("kmod"))
    }

    /// A kernel that was built, by the digest of everything that it was built from.
    pub(crate) fn build(&self, digest: Digest) -> PathBuf {
        self.root.join(BUILDS).join(digest.to_string())
    }

    /// The folder of the guest images.
    pub fn images(&self) -> PathBuf {
        self.root.join("images")
    }

    /// A guest image.
    pub fn image(&self, sha256: Digest) -> PathBuf {
        self.images().join(sha256.to_string())
    }

    /// The folder of the boot snapshots.
    pub fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    /// The folder of the layouts of kernels, with which traces are read.
    pub fn layouts(&self) -> PathBuf {
        self.root.join("layouts")
    }

    /// The folder of the finished cells.
    pub fn cells(&self) -> PathBuf {
        self.root.join("cells")
    }

    /// Takes the store's lock, waiting for other processes, and removes what killed ones left.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the lock file cannot be used.
    pub fn lock(&self, on_event: &dyn Fn(Event)) -> Result<StoreLock, StoreError> {
        self.locked("lock", &LOCKED_FOLDERS, on_event)
    }

    /// The same for the kernels that are built. Whoever holds it may take the store's lock, and
    /// nobody does it the other way round.
    pub(crate) fn lock_builds(&self, on_event: &dyn Fn(Event)) -> Result<StoreLock, StoreError> {
        self.locked("builds.lock", &[BUILDS], on_event)
    }

    fn locked(
        &self,
        name: &str,
        folders: &[&str],
        on_event: &dyn Fn(Event),
    ) -> Result<StoreLock, StoreError> {
        let file = self.lock_file(name)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                on_event(Event::Waiting);
                file.lock().map_err(StoreError::at(&self.root.join(name)))?;
            }
            Err(TryLockError::Error(error)) => {
                return Err(StoreError::new(&self.root.join(name), error));
            }
        }
        for folder in folders {
            let folder = self.root.join(folder);
            sweep(&folder).map_err(StoreError::at(&folder))?;
        }
        Ok(StoreLock { file })
    }

    fn lock_file(&self, name: &str) -> Result<File, StoreError> {
        let path = self.root.join(name);
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        file.map_err(StoreError::at(&path))
    }
}

/// A lock of the store (`flock(2)`), until it is dropped.
#[derive(Debug)]
pub struct StoreLock {
    file: File,
}

impl StoreLock {
    /// The lock as a child's standard input. When this process is killed, the store stays locked
    /// until its children have ended too.
    pub(crate) fn share(&self) -> io::Result<Stdio> {
        self.file.try_clone().map(Stdio::from)
    }

    /// Fills a folder of the store that either exists with its whole content or not at all.
    pub(crate) fn fill<E: From<StoreError>>(
        &self,
        folder: &Path,
        fill: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        if folder.is_dir() {
            return Ok(());
        }
        let parent = folder.parent().unwrap_or(folder);
        let draft = draft_in(parent)?;
        fill(draft.path())?;
        File::open(draft.path())
            .and_then(|file| Ok(rustix::fs::syncfs(file)?))
            .and_then(|()| fs::rename(draft.path(), folder))
            .map_err(StoreError::at(folder))?;
        Ok(())
    }
}

/// A folder that is removed again, at the latest when the store is locked the next time.
fn draft_in(parent: &Path) -> Result<tempfile::TempDir, StoreError> {
    tempfile::Builder::new()
        .prefix(UNPACK_PREFIX)
        .tempdir_in(parent)
        .map_err(StoreError::at(parent))
}

/// Removes what killed processes left in a folder. Only the folders of kernels get files after
/// they have their name, so only these are looked into.
fn sweep(folder: &Path) -> io::Result<()> {
    preemptlab_durable::sweep(folder)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(UNPACK_PREFIX) {
            fs::remove_dir_all(entry.path())?;
        } else if folder.ends_with("kernels") && entry.file_type()?.is_dir() {
            preemptlab_durable::sweep(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn a_file_is_no_store() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, b"").unwrap();
        assert!(matches!(Store::open(path), Err(StoreError::NotAFolder(_))));
    }

    #[test]
    fn a_store_of_someone_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
        // The superuser may write everywhere.
        if !rustix::process::geteuid().is_root() {
            let opened = Store::open(folder.path().join("store"));
            assert!(matches!(opened, Err(StoreError::NoPermission(_))));
        }
    }

    #[test]
    fn a_failed_fill_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store")).unwrap();
        let lock = store.lock(&|_| ()).unwrap();
        let target = store.qemu(Digest::of(b""));
        let error = lock.fill(&target, |draft| {
            fs::write(draft.join("half"), b"").unwrap();
            Err(StoreError::Full(draft.to_owned()))
        });
        assert!(error.is_err());
        assert_eq!(fs::read_dir(target.parent().unwrap()).unwrap().count(), 0);

        lock.fill(&target, |draft| {
            fs::write(draft.join("all"), b"").map_err(StoreError::at(draft))
        })
        .unwrap();
        assert!(target.join("all").is_file());
    }

    #[test]
    fn locking_waits_and_sweeps() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store")).unwrap();
        let left_behind = store.packages().join(".unpack-killed");
        fs::create_dir(&left_behind).unwrap();
        let lock = store.lock(&|_| ()).unwrap();
        assert!(!left_behind.exists());

        let waited = std::thread::scope(|scope| {
            let (sender, receiver) = std::sync::mpsc::channel();
            let other = scope.spawn({
                let store = &store;
                move || {
                    let waited = Cell::new(false);
                    let lock = store.lock(&|event| {
                        waited.set(event == Event::Waiting);
                        sender.send(()).unwrap();
                    });
                    lock.map(|_| waited.get()).unwrap()
                }
            });
            receiver.recv().unwrap();
            drop(lock);
            other.join().unwrap()
        });
        assert!(waited);
    }
}
