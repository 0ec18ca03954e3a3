//! The folder of the store in which the kernels of one tree or repository are built.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use preemptlab_model::Digest;

use super::{
    Checkout, TreeError,
    checkout::Listed,
    copy::{self, Copied},
    listing::{Known, Listing, Origin},
};
use crate::{Event, Store, StoreError, StoreLock, store::kept};

/// The most places whose copies and builds are kept, and the most builds of one of them. The one
/// that was not used for the longest time makes room for a new one.
const PLACES_MAX: usize = 4;
const BUILDS_MAX: usize = 3;

const COPY: &str = "source";
const BUILD_PREFIX: &str = "build-";

/// The longest time between two writes to a file that is being made.
const HALF_WRITTEN: Duration = Duration::from_secs(60);

/// There while make works in a folder of builds.
const WORKING: &str = ".preemptlab-working";

/// Its time says when a folder was used last.
const USED: &str = ".preemptlab-used";

/// A copy of a source and its builds, locked.
pub(crate) struct Workspace {
    folder: PathBuf,
    lock: StoreLock,
}

impl Workspace {
    /// Opens the folder of a checkout's place, and waits for other processes that build in it.
    pub(crate) fn open(
        store: &Store,
        checkout: &Checkout,
        on_event: &dyn Fn(Event),
    ) -> Result<Self, StoreError> {
        let folder = store.tree(checkout.place());
        let lock = store.lock_tree(checkout.place(), on_event)?;
        if !folder.is_dir() {
            make_room(&store.trees(), "", PLACES_MAX)?;
            preemptlab_files::create_folder(&folder).map_err(StoreError::at(&folder))?;
        }
        use_now(&folder)?;
        Ok(Self { folder, lock })
    }

    /// Returns the lock, which children hold as well.
    pub(crate) fn lock(&self) -> &StoreLock {
        &self.lock
    }

    /// Returns the folder of the copy.
    pub(crate) fn copy(&self) -> PathBuf {
        self.folder.join(COPY)
    }

    /// Lists the files of a checkout. Those that were read before are not read again.
    pub(crate) fn list(&self, checkout: &Checkout) -> Result<Listed, TreeError> {
        let (path, question) = (self.folder.join("known"), Digest::of(b"known 2"));
        let mut known: Known = kept::read(&path, question).unwrap_or_default();
        let listed = checkout.listing(&mut known)?;
        kept::write(&path, question, &known);
        Ok(listed)
    }

    /// Makes the copy equal to a listing.
    pub(crate) fn follow(&self, listing: &Listing, origin: &mut Origin) -> Result<(), TreeError> {
        let (path, question) = (self.folder.join("copied"), Digest::of(b"copied 1"));
        let mut copied: Copied = kept::read(&path, question).unwrap_or_default();
        let followed = copy::follow(&self.copy(), listing, origin, &mut copied);
        kept::write(&path, question, &copied);
        followed
    }

    /// Returns the folder of the builds with one configuration and compiler, ready for make.
    pub(crate) fn build(&self, key: Digest) -> Result<BuildFolder, StoreError> {
        let folder = self.folder.join(format!("{BUILD_PREFIX}{}", key.short()));
        if !folder.is_dir() {
            make_room(&self.folder, BUILD_PREFIX, BUILDS_MAX)?;
            preemptlab_files::create_folder(&folder).map_err(StoreError::at(&folder))?;
        }
        use_now(&folder)?;
        let build = BuildFolder { folder };
        build.mend()?;
        Ok(build)
    }
}

/// A folder for `make O=`.
pub(crate) struct BuildFolder {
    folder: PathBuf,
}

impl BuildFolder {
    /// Returns the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    /// Says that make is about to work in it.
    pub(crate) fn begin(&self) -> Result<(), StoreError> {
        let path = self.folder.join(WORKING);
        fs::write(&path, "").map_err(StoreError::at(&path))
    }

    /// Says that make has ended by itself, well or not.
    pub(crate) fn end(&self) -> Result<(), StoreError> {
        remove_file(&self.folder.join(WORKING))
    }

    /// Removes files that a killed make may have left half written: make would take them for whole.
    /// Where the configuration is among them, everything goes.
    fn mend(&self) -> Result<(), StoreError> {
        let io = StoreError::at(&self.folder);
        let Ok(working) = fs::metadata(self.folder.join(WORKING)) else { return Ok(()) };
        let begun = working.modified().map_err(StoreError::at(&self.folder))?;
        let mut young = Vec::new();
        younger(&self.folder, begun, &mut young).map_err(StoreError::at(&self.folder))?;
        let is_configuration = |path: &Path| {
            let path = path.strip_prefix(&self.folder).unwrap_or(path);
            ["include/config", ".config"].iter().any(|start| path.starts_with(start))
        };
        if young.iter().any(|(_, path)| is_configuration(path)) {
            fs::remove_dir_all(&self.folder)
                .and_then(|()| preemptlab_files::create_folder(&self.folder))
                .map_err(io)?;
            return use_now(&self.folder);
        }
        // A process that was killed while it wrote a file wrote to it shortly before.
        let last = young.iter().map(|(modified, _)| *modified).max().unwrap_or(begun);
        for (_, path) in young.iter().filter(|(modified, _)| *modified + HALF_WRITTEN >= last) {
            fs::remove_file(path).map_err(StoreError::at(path))?;
        }
        remove_file(&self.folder.join(WORKING))
    }
}

/// Finds the files that are not older than a time.
fn younger(
    folder: &Path,
    than: SystemTime,
    found: &mut Vec<(SystemTime, PathBuf)>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            younger(&entry.path(), than, found)?;
        } else if kind.is_file() && ![WORKING, USED].iter().any(|own| entry.file_name() == *own) {
            let modified = entry.metadata()?.modified()?;
            if modified >= than {
                found.push((modified, entry.path()));
            }
        }
    }
    Ok(())
}

/// Removes the folders that were not used for the longest time, so that one more has room. One that
/// another process works in stays.
fn make_room(parent: &Path, prefix: &str, most: usize) -> Result<(), StoreError> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(parent).map_err(StoreError::at(parent))? {
        let entry = entry.map_err(StoreError::at(parent))?;
        let name = entry.file_name();
        if entry.path().is_dir() && name.to_string_lossy().starts_with(prefix) {
            let used = fs::metadata(entry.path().join(USED)).and_then(|used| used.modified());
            folders.push((used.unwrap_or(SystemTime::UNIX_EPOCH), entry.path()));
        }
    }
    folders.sort();
    let surplus = (folders.len() + 1).saturating_sub(most);
    for (_, folder) in folders.into_iter().take(surplus) {
        let lock = File::options().write(true).open(folder.with_extension("lock"));
        if lock.is_ok_and(|lock| lock.try_lock().is_err()) {
            continue;
        }
        fs::remove_dir_all(&folder).map_err(StoreError::at(&folder))?;
    }
    Ok(())
}

fn use_now(folder: &Path) -> Result<(), StoreError> {
    let path = folder.join(USED);
    fs::write(&path, "").map_err(StoreError::at(&path))
}

fn remove_file(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::new(path, error)),
        _ => Ok(()),
    }
}
