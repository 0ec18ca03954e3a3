//! The content that a worker's store needs, in one file.
//!
//! ```text
//! seed.json                  its origin
//! qemu/DIGEST/...            QEMU's unpacked packages
//! kernels/SHA256/vmlinuz     kernel images
//! images/SHA256              guest images
//! ```
//!
//! The same content gives the same bytes.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use preemptlab_files::Replacement;
use preemptlab_model::Digest;
use serde::{Serialize, de::DeserializeOwned};
use tar::Archive;

use crate::{
    Event, Store, StoreError,
    store::{
        archive::{self, Packer, Stream},
        hash::sha256,
        whole,
    },
};

/// Name of the entry about the seed's origin.
const ABOUT: &str = "seed.json";

/// Most bytes of that entry.
const ABOUT_BYTES_MAX: u64 = 64 << 10;

/// zstd's own default.
const LEVEL: i32 = 3;

/// Contents of a seed, by the digests under which a store has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The build of QEMU; `None` where no virtual machine runs.
    pub qemu: Option<Digest>,
    /// The kernels' images; several kernels may have one.
    pub kernels: BTreeSet<Digest>,
    /// The guest images; several kernels may boot one.
    pub images: BTreeSet<Digest>,
}

impl Contents {
    /// Returns whether a path of an archive is part of them.
    fn have(&self, path: &str) -> bool {
        let has = |digests: &BTreeSet<Digest>, name: &str| {
            digests.iter().any(|digest| digest.to_string() == name)
        };
        let Some((top, below)) = path.split_once('/') else { return path == ABOUT };
        let (name, rest) = below.split_once('/').unwrap_or((below, ""));
        match top {
            "qemu" => self.qemu.is_some_and(|digest| digest.to_string() == name),
            "kernels" => rest == "vmlinuz" && has(&self.kernels, name),
            "images" => rest.is_empty() && has(&self.images, name),
            _ => false,
        }
    }
}

/// Error of a seed that cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// The file cannot be read or written.
    #[error("cannot {action} the seed {}: {error}", path.display())]
    Io {
        /// Action that failed, as a verb.
        action: &'static str,
        /// Path of the seed.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// There is no seed.
    #[error("there is no seed {}; `preemptlab cluster prepare EXPERIMENT --out RECORDING` makes it", .0.display())]
    Absent(PathBuf),
    /// The file is damaged, or no seed.
    #[error(
        "the seed {} is damaged: {reason}; make it again with `preemptlab cluster prepare`, or copy it again",
        path.display()
    )]
    Damaged {
        /// Path of the seed.
        path: PathBuf,
        /// Damage, in words.
        reason: String,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Packs the files of a store that a worker needs, with a word about its origin.
///
/// # Errors
///
/// When the store lacks something, or the file cannot be written.
pub fn pack(
    store: &Store,
    contents: &Contents,
    about: &impl Serialize,
    path: &Path,
) -> Result<(), SeedError> {
    let error = |error| SeedError::Io { action: "write", path: path.to_owned(), error };
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = || {
        preemptlab_files::create_folder(folder)?;
        let mut file = Replacement::of_file(path)?;
        let mut packer = Packer::new(file.file(), LEVEL)?;
        packer.bytes(&serde_json::to_vec(about)?, ABOUT)?;
        if let Some(digest) = contents.qemu {
            packer.folder(&store.qemu(digest), &format!("qemu/{digest}"))?;
        }
        for digest in &contents.kernels {
            packer.file(&store.kernel_image(*digest), &format!("kernels/{digest}/vmlinuz"))?;
        }
        for digest in &contents.images {
            packer.file(&store.image(*digest), &format!("images/{digest}"))?;
        }
        packer.finish()?;
        file.publish()
    };
    written().map_err(error)
}

/// Reads the word about the seed's origin.
///
/// # Errors
///
/// When there is none, or it is damaged.
pub fn about<T: DeserializeOwned>(path: &Path) -> Result<T, SeedError> {
    let damaged = |reason: String| SeedError::Damaged { path: path.to_owned(), reason };
    let first = archive::first(&mut open(path)?, ABOUT, ABOUT_BYTES_MAX);
    let bytes = first.map_err(|error| damaged(error.to_string()))?;
    let bytes = bytes.ok_or_else(|| damaged("it does not say whose it is".to_owned()))?;
    serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))
}

/// Makes sure that a store has some contents, whole: unpacks a seed where something is missing or
/// damaged.
///
/// # Errors
///
/// When the seed lacks something or is damaged, or the store cannot be used.
pub fn unpack(
    store: &Store,
    contents: &Contents,
    path: &Path,
    on_event: &dyn Fn(Event),
) -> Result<(), SeedError> {
    let lock = store.lock(on_event)?;
    if has(store, contents) {
        return Ok(());
    }
    on_event(Event::Unpacking { what: "the seed".to_owned() });
    let damaged = |reason: String| SeedError::Damaged { path: path.to_owned(), reason };
    let draft = store.draft(&lock)?;
    let mut archive = open(path)?;
    let unfolded = archive::unfold(&mut archive, draft.path(), |entry, _| contents.have(entry));
    let unfolded = unfolded.and_then(|()| archive.into_inner().finish());
    unfolded.map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            SeedError::Io { action: "unpack", path: path.to_owned(), error }
        }
        _ => damaged(error.to_string()),
    })?;
    if let Some(digest) = contents.qemu {
        let from = draft.path().join(format!("qemu/{digest}"));
        if !whole::is_whole(&from) {
            return Err(damaged("its QEMU is not whole".to_owned()));
        }
        lock.fill(&store.qemu(digest), |to| {
            for entry in fs::read_dir(&from).map_err(StoreError::at(&from))? {
                let entry = entry.map_err(StoreError::at(&from))?;
                let to = to.join(entry.file_name());
                fs::rename(entry.path(), &to).map_err(StoreError::at(&to))?;
            }
            Ok::<(), StoreError>(())
        })?;
    }
    for digest in &contents.kernels {
        let from = draft.path().join(format!("kernels/{digest}/vmlinuz"));
        let to = store.kernel_image(*digest);
        let folder = store.kernel(*digest);
        preemptlab_files::create_folder(&folder).map_err(StoreError::at(&folder))?;
        keep(&from, &to, *digest).map_err(|error| not_kept(path, &to, error))?;
    }
    for digest in &contents.images {
        let (from, to) = (draft.path().join(format!("images/{digest}")), store.image(*digest));
        keep(&from, &to, *digest).map_err(|error| not_kept(path, &to, error))?;
    }
    Ok(())
}

/// Reason why a file of a seed is not in the store.
enum NotKept {
    /// The seed has another file, or none.
    Seed(String),
    /// The store cannot be written to.
    Store(io::Error),
}

fn not_kept(seed: &Path, to: &Path, error: NotKept) -> SeedError {
    match error {
        NotKept::Seed(reason) => SeedError::Damaged { path: seed.to_owned(), reason },
        NotKept::Store(error) => StoreError::at(to)(error).into(),
    }
}

/// Moves a file whose content has this digest to its place.
fn keep(from: &Path, to: &Path, digest: Digest) -> Result<(), NotKept> {
    let name = digest.short();
    match sha256(from) {
        Ok(found) if found == digest => {}
        Ok(_) => return Err(NotKept::Seed(format!("the content of {name} is another"))),
        Err(_) => return Err(NotKept::Seed(format!("it lacks {name}"))),
    }
    let kept =
        File::open(from).and_then(|file| file.sync_all()).and_then(|()| fs::rename(from, to));
    kept.map_err(NotKept::Store)
}

/// Returns whether a store has all of it, whole.
fn has(store: &Store, contents: &Contents) -> bool {
    let is = |path: &Path, digest: &Digest| sha256(path).is_ok_and(|found| found == *digest);
    contents.qemu.is_none_or(|digest| whole::is_whole(&store.qemu(digest)))
        && contents.kernels.iter().all(|digest| is(&store.kernel_image(*digest), digest))
        && contents.images.iter().all(|digest| is(&store.image(*digest), digest))
}

fn open(path: &Path) -> Result<Archive<Stream>, SeedError> {
    let error = |error| SeedError::Io { action: "read", path: path.to_owned(), error };
    match archive::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(SeedError::Absent(path.to_owned()))
        }
        Err(error) if preemptlab_files::is_of_the_file(&error) => {
            let reason = error.to_string();
            Err(SeedError::Damaged { path: path.to_owned(), reason })
        }
        opened => opened.map_err(error),
    }
}

/// Unpacks a seed, and bytes as the archive in one, whatever is wanted of it.
pub(crate) fn unfold(path: &Path, archive: &[u8], folder: &Path) -> io::Result<()> {
    let mut archive = Archive::new(archive);
    let unfolded = archive::unfold(&mut archive, folder, |_, _| true);
    let mut archive = open(path).map_err(io::Error::other)?;
    archive::unfold(&mut archive, folder, |_, _| true)?;
    archive.into_inner().finish()?;
    unfolded
}

#[cfg(test)]
mod tests;
