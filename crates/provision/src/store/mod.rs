pub(crate) mod archive;
mod error;
pub(crate) mod hash;
pub(crate) mod kept;
mod node_store;
pub mod seed;
pub(crate) mod seen;
pub(crate) mod whole;

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use preemptlab_files::Owner;
use preemptlab_model::{Digest, Platform};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::{Event, platform::HOST};

pub use error::StoreError;
pub use node_store::NodeStore;

/// First part of the name of every folder that is still being filled.
const UNPACK_PREFIX: &str = ".unpack-";

/// Folders whose content is only written under the store's lock.
const LOCKED_FOLDERS: [&str; 11] = [
    "packages",
    "kernels",
    "modules",
    "configs",
    "unpacked",
    "qemu",
    "headers",
    "toolchains",
    "kmod",
    "capsules",
    "resolvers",
];

/// The folder of the kernels that were built, which has a lock of its own: a build takes long, and
/// other processes continue meanwhile.
const BUILDS: &str = "builds";

/// The folder of the copies of the user's own trees, and of their builds. Each has a lock.
const TREES: &str = "trees";

/// Interval at which a process that waits for a lock asks again. A wait in the kernel would outlast
/// a signal whose handler sets a flag.
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Folder of everything that was fetched or made once and can be used again. A hash names its
/// content, which is whole and never changes.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    interrupt: Arc<AtomicBool>,
}

impl Store {
    /// Opens a store and makes the folders that are missing, but none above it: a path with a typing
    /// error would get a store, too. No other user may write to any of them.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the folder cannot be made or written to, or others could write to it.
    pub fn open(root: PathBuf) -> Result<Self, StoreError> {
        let root = std::path::absolute(&root).map_err(StoreError::at(&root))?;
        if root.as_os_str().as_encoded_bytes().iter().any(|byte| b"\"\n:;$".contains(byte)) {
            return Err(StoreError::Path(root));
        }
        make_own(&root, &root)?;
        check_parents(&root)?;
        let store = Self { root, interrupt: Arc::default() };
        let others = [BUILDS, TREES, "apt", "archives", "images", "snapshots", "layouts", "cells"];
        for folder in LOCKED_FOLDERS.into_iter().chain(others) {
            make_own(&store.root.join(folder), &store.root)?;
        }
        store.lock_file("lock")?;
        Ok(store)
    }

    /// Makes the store wait for other processes only until a flag is set.
    #[must_use]
    pub fn until(self, interrupt: Arc<AtomicBool>) -> Self {
        Self { interrupt, ..self }
    }

    /// Returns the folder of the store.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the private apt root.
    pub(crate) fn apt(&self, of: &Platform) -> PathBuf {
        match of == HOST {
            true => self.root.join("apt"),
            // Each has a root of its own: an index in the midst of an update would lose the others' lists, too.
            false => self.root.join(format!("apt-{}", of.debian)),
        }
    }

    /// Returns the folder of lists and downloads from other distributions' archives than Debian's.
    pub(crate) fn archives(&self) -> PathBuf {
        self.root.join("archives")
    }

    /// Returns the folder of the packages.
    pub fn packages(&self) -> PathBuf {
        self.root.join("packages")
    }

    /// Returns the path of a package's file.
    pub fn package(&self, sha256: Digest) -> PathBuf {
        self.packages().join(format!("{sha256}.deb"))
    }

    /// Returns whether the store holds a package. A copy that the disk has damaged is removed.
    pub(crate) fn has_package(&self, wanted: Digest) -> Result<bool, StoreError> {
        let path = self.package(wanted);
        match hash::sha256(&path) {
            Ok(digest) if digest == wanted => Ok(true),
            Ok(_) => fs::remove_file(&path).map(|()| false).map_err(StoreError::at(&path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(StoreError::new(&path, error)),
        }
    }

    /// Returns the path of a kernel's folder, by the hash of its bzImage.
    pub fn kernel(&self, image_sha256: Digest) -> PathBuf {
        self.root.join("kernels").join(image_sha256.to_string())
    }

    /// Returns the path of a kernel's bzImage.
    pub fn kernel_image(&self, image_sha256: Digest) -> PathBuf {
        self.kernel(image_sha256).join("vmlinuz")
    }

    /// Returns the path of the file that names the bzImage in a package.
    pub(crate) fn kernel_of_package(&self, sha256: Digest) -> PathBuf {
        self.root.join("kernels").join(format!("{sha256}.json"))
    }

    /// Returns the folder of a kernel's modules, by the hash of their package.
    pub(crate) fn modules(&self, package_sha256: Digest) -> PathBuf {
        self.root.join("modules").join(package_sha256.to_string())
    }

    /// Returns the path of a kernel's configuration, by the hash of the package it was read from.
    pub(crate) fn config_of_package(&self, sha256: Digest) -> PathBuf {
        self.root.join("configs").join(sha256.to_string())
    }

    /// Returns the folder of a kernel's parts out of packages of the user's own, by the digest of the
    /// packages.
    pub(crate) fn unpacked(&self, digest: Digest) -> PathBuf {
        self.root.join("unpacked").join(digest.to_string())
    }

    /// Returns the folder of an unpacked QEMU, by the digest of its build.
    pub fn qemu(&self, digest: Digest) -> PathBuf {
        self.root.join("qemu").join(digest.to_string())
    }

    /// Returns the folder of files from which modules for a kernel are built: unpacked headers, by the
    /// digest of their packages, or the kit of a build.
    pub(crate) fn headers(&self, digest: Digest) -> PathBuf {
        self.root.join("headers").join(digest.to_string())
    }

    /// Returns the folder of an unpacked compiler of kernels, by the digest of its packages.
    pub(crate) fn toolchain(&self, digest: Digest) -> PathBuf {
        self.root.join("toolchains").join(digest.to_string())
    }

    /// Returns the folder of an unpacked apt, by the digest of its packages.
    pub(crate) fn resolver(&self, digest: Digest) -> PathBuf {
        self.root.join("resolvers").join(digest.to_string())
    }

    /// Returns the folder of one of the project's own modules, by the digest of its inputs.
    pub(crate) fn kmod(&self, digest: Digest) -> PathBuf {
        self.root.join("kmod").join(digest.to_string())
    }

    /// Creates a folder to unpack a seed into that is not kept.
    pub(crate) fn draft(&self, _lock: &StoreLock) -> Result<tempfile::TempDir, StoreError> {
        draft_in(&self.root.join("qemu"))
    }

    /// Creates a folder to open a capsule in that is not kept. Its owner needs no lock afterwards.
    pub(crate) fn capsule_draft(&self, _lock: &StoreLock) -> Result<tempfile::TempDir, StoreError> {
        draft_in(&self.root.join("capsules"))
    }

    /// Creates a folder to build a module in that is not kept.
    pub(crate) fn kmod_draft(&self, _lock: &StoreLock) -> Result<tempfile::TempDir, StoreError> {
        draft_in(&self.root.join("kmod"))
    }

    /// Creates a folder to build a kernel in that is not kept.
    pub(crate) fn build_draft(&self, _lock: &StoreLock) -> Result<tempfile::TempDir, StoreError> {
        draft_in(&self.root.join(BUILDS))
    }

    /// Returns the folder of a built kernel, by the digest of all its inputs.
    pub(crate) fn build(&self, digest: Digest) -> PathBuf {
        self.root.join(BUILDS).join(digest.to_string())
    }

    /// Returns the folder of the copies of the user's own trees.
    pub(crate) fn trees(&self) -> PathBuf {
        self.root.join(TREES)
    }

    /// Returns the folder in which the kernels of a tree are built, by the digest of its place.
    pub(crate) fn tree(&self, place: Digest) -> PathBuf {
        self.trees().join(place.short())
    }

    /// Takes the lock of a tree's folder. A process that holds it may take the other locks, and
    /// none does it the other way round.
    pub(crate) fn lock_tree(
        &self,
        place: Digest,
        on_event: &dyn Fn(Event),
    ) -> Result<StoreLock, StoreError> {
        self.locked(&format!("{TREES}/{}.lock", place.short()), &[], on_event)
    }

    /// Returns the folder of the guest images.
    pub fn images(&self) -> PathBuf {
        self.root.join("images")
    }

    /// Returns the path of a guest image.
    pub fn image(&self, sha256: Digest) -> PathBuf {
        self.images().join(sha256.to_string())
    }

    /// Returns the folder of the boot snapshots.
    pub fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    /// Returns the folder of the layouts of kernels, with which traces are read.
    pub fn layouts(&self) -> PathBuf {
        self.root.join("layouts")
    }

    /// Returns the folder of the finished cells, in which each build has its own.
    pub fn cells(&self) -> PathBuf {
        self.root.join("cells")
    }

    /// Takes the store's lock, waits for other processes, and removes the drafts of killed ones.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the lock file cannot be used.
    pub fn lock(&self, on_event: &dyn Fn(Event)) -> Result<StoreLock, StoreError> {
        self.locked("lock", &LOCKED_FOLDERS, on_event)
    }

    /// Takes the lock of the kernels that are built. A process that holds it may take the store's
    /// lock, and none does it the other way round.
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
        let mut is_told = false;
        while let Err(error) = file.try_lock() {
            if let TryLockError::Error(error) = error {
                return Err(StoreError::new(&self.root.join(name), error));
            }
            if self.interrupt.load(Ordering::Relaxed) {
                return Err(StoreError::Interrupted(self.root.clone()));
            }
            if !std::mem::replace(&mut is_told, true) {
                on_event(Event::Waiting);
            }
            thread::sleep(LOCK_PAUSE);
        }
        for folder in folders {
            let folder = self.root.join(folder);
            sweep(&folder).map_err(StoreError::at(&folder))?;
        }
        Ok(StoreLock { file })
    }

    fn lock_file(&self, name: &str) -> Result<File, StoreError> {
        let path = self.root.join(name);
        let mut options = File::options();
        let file = options.create(true).truncate(false).write(true).mode(0o644).open(&path);
        file.map_err(StoreError::at(&path))
    }
}

/// A lock of the store (`flock(2)`), until it is dropped.
#[derive(Debug)]
pub struct StoreLock {
    file: File,
}

impl StoreLock {
    /// Returns the lock as a child's standard input. When this process is killed, the store stays
    /// locked until its children have ended too.
    pub(crate) fn share(&self) -> io::Result<Stdio> {
        self.file.try_clone().map(Stdio::from)
    }

    /// Fills a folder of the store that either exists with its whole content or not at all. One that
    /// is damaged is exchanged.
    pub(crate) fn fill<E: From<StoreError>>(
        &self,
        folder: &Path,
        fill: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        if whole::is_whole(folder) {
            return Ok(());
        }
        let parent = folder.parent().unwrap_or(folder);
        let draft = draft_in(parent)?;
        fill(draft.path())?;
        whole::note(draft.path())
            .and_then(|()| File::open(draft.path()))
            .and_then(|file| Ok(rustix::fs::syncfs(file)?))
            .and_then(|()| match folder.is_dir() {
                // The damaged one is removed with the draft.
                true => exchange(draft.path(), folder),
                false => fs::rename(draft.path(), folder),
            })
            .map_err(StoreError::at(folder))?;
        Ok(())
    }
}

/// Makes a folder that only this user can write to, whatever the umask is, or checks that the one
/// there is such a one.
fn make_own(folder: &Path, root: &Path) -> Result<(), StoreError> {
    match DirBuilder::new().mode(0o755).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = folder.parent().unwrap_or(folder).to_owned();
            return Err(StoreError::NoParent { store: root.to_owned(), parent });
        }
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(StoreError::new(folder, error));
        }
        _ => {}
    }
    let metadata = fs::metadata(folder).map_err(StoreError::at(folder))?;
    let path = folder.to_owned();
    if !metadata.is_dir() {
        return Err(StoreError::NotAFolder(path));
    }
    let (owner, user) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner != user {
        return Err(StoreError::Foreign { path, owner, user });
    }
    match metadata.mode() & 0o7777 {
        mode if mode & 0o022 != 0 => {
            Err(StoreError::Writable { path, mode, root: root.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Checks that no other user can put another folder into the place of one above the store: a folder
/// that every user can write to, such as `/tmp`, must have the sticky bit.
fn check_parents(root: &Path) -> Result<(), StoreError> {
    const STICKY: u32 = 0o1000;
    let real = fs::canonicalize(root).map_err(StoreError::at(root))?;
    for path in real.ancestors().skip(1) {
        let mode = fs::metadata(path).map_err(StoreError::at(path))?.mode() & 0o7777;
        if mode & 0o002 != 0 && mode & STICKY == 0 {
            return Err(StoreError::WritableParent { path: path.to_owned(), mode });
        }
    }
    Ok(())
}

/// Puts one folder into the place of another one, at once where the filesystem can.
fn exchange(draft: &Path, folder: &Path) -> io::Result<()> {
    match renameat_with(CWD, draft, CWD, folder, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        Err(_) => fs::remove_dir_all(folder).and_then(|()| fs::rename(draft, folder)),
    }
}

/// Creates a folder that is removed again, at the latest when the store is locked the next time.
fn draft_in(parent: &Path) -> Result<tempfile::TempDir, StoreError> {
    let prefix = match Owner::this() {
        Some(owner) => format!("{UNPACK_PREFIX}{owner}-"),
        None => UNPACK_PREFIX.to_owned(),
    };
    tempfile::Builder::new()
        .prefix(&prefix)
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir_in(parent)
        .map_err(StoreError::at(parent))
}

/// Removes the drafts of killed processes from a folder. It keeps those of other machines, which
/// the lock does not reach and which may still write. Only the folders of kernels get files after
/// they have their name, so it searches only these.
fn sweep(folder: &Path) -> io::Result<()> {
    preemptlab_files::sweep(folder)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if let Some(owner) = name.to_string_lossy().strip_prefix(UNPACK_PREFIX) {
            // An older preemptlab named none.
            if Owner::parse(owner).is_none_or(|owner| owner.is_gone()) {
                fs::remove_dir_all(entry.path())?;
            }
        } else if folder.ends_with("kernels") && entry.file_type()?.is_dir() {
            preemptlab_files::sweep(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

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

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_store_that_others_can_write_to_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("store");
        Store::open(root.clone()).unwrap();
        for path in [root.clone(), root.join("cells"), root.join("qemu"), root.join("apt")] {
            for mode in [0o777, 0o775, 0o757, 0o1777] {
                set_mode(&path, mode);
                let said = Store::open(root.clone()).unwrap_err().to_string();
                let mend = format!("`chmod -R go-w {}`", root.display());
                assert!(said.contains(&mend) && said.contains(&format!("{mode:04o}")), "{said}");
            }
            set_mode(&path, 0o755);
            Store::open(root.clone()).unwrap();
        }
    }

    #[test]
    fn a_store_in_a_folder_of_everybody_needs_the_sticky_bit() {
        let folder = tempfile::tempdir().unwrap();
        let parent = folder.path().join("shared");
        fs::create_dir(&parent).unwrap();
        set_mode(&parent, 0o777);
        let said = Store::open(parent.join("store")).unwrap_err().to_string();
        assert!(said.contains("anybody can rename what is in"), "{said}");
        set_mode(&parent, 0o1777);
        Store::open(parent.join("store")).unwrap();
    }

    #[test]
    fn a_store_of_another_user_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("store");
        Store::open(root.clone()).unwrap();
        // Only the superuser can give something away.
        if std::os::unix::fs::chown(&root, Some(12345), None).is_ok() {
            let said = Store::open(root.clone()).unwrap_err().to_string();
            assert!(said.contains("the user with the number 12345"), "{said}");
        }
    }

    #[test]
    fn nothing_above_a_store_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let opened = Store::open(folder.path().join("tpyo/store"));
        assert!(matches!(opened, Err(StoreError::NoParent { .. })));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
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

        // A damaged folder is filled again.
        fs::write(target.join("all"), b"spoilt").unwrap();
        assert!(!whole::is_whole(&target));
        lock.fill(&target, |draft| {
            fs::write(draft.join("all"), b"new").map_err(StoreError::at(draft))
        })
        .unwrap();
        assert!(whole::is_whole(&target));
        assert_eq!(fs::read(target.join("all")).unwrap(), b"new");
        let drafts = fs::read_dir(target.parent().unwrap()).unwrap().filter(|entry| {
            entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(UNPACK_PREFIX)
        });
        assert_eq!(drafts.count(), 0);
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
