//! Opening a capsule, which may be a stranger's.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use preemptlab_model::Digest;
use serde::Deserialize;
use tar::EntryType;
use tempfile::TempDir;

use super::{
    CapsuleError,
    form::{ABOUT, About, FORMAT, Needs, SOURCES, image_name, kernel_name, package_name},
};
use crate::{
    Event, QemuError, Store, StoreError,
    distribution::debian::signed_lists::{SignedList, Vouching},
    qemu,
    store::{archive, hash::sha256},
};

/// Most bytes of the word about a capsule.
const ABOUT_BYTES_MAX: u64 = 64 << 10;

/// Most bytes of a signed list; Debian's longest has 57 MB.
const LIST_BYTES_MAX: u64 = 256 << 20;

/// Most signed lists.
const LISTS_MAX: usize = 16;

/// A capsule that was unpacked into a folder of its own, which is removed with this value. Nothing in it was
/// executed.
#[derive(Debug)]
pub struct Capsule {
    path: PathBuf,
    draft: TempDir,
    names: BTreeSet<String>,
    packed_by: String,
}

/// Grounds on which the QEMU of a capsule is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Debian signed a list that names its packages.
    Debian,
    /// The user says so, whatever is signed.
    User,
}

/// Whoever vouches for the QEMU of a capsule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vouched {
    /// Debian, in these releases: the codename of each.
    Debian(Vec<String>),
    /// The user alone.
    User,
}

impl Capsule {
    /// Unpacks a capsule beside the store's own content, within bounds.
    ///
    /// # Errors
    ///
    /// When it is damaged, or of a newer format, or the disk is full.
    pub fn open(
        store: &Store,
        path: &Path,
        on_event: &dyn Fn(Event),
    ) -> Result<Self, CapsuleError> {
        let packed_by = about(path)?;
        on_event(Event::Unpacking { what: "the capsule".to_owned() });
        let lock = store.lock(on_event)?;
        let draft = store.capsule_draft(&lock)?;
        drop(lock);
        let names = unfold(path, draft.path())?;
        Ok(Self { path: path.to_owned(), draft, names, packed_by })
    }

    /// Returns the folder of the recording, whose content nobody has checked.
    pub fn recording(&self) -> PathBuf {
        self.draft.path().join("recording")
    }

    /// Returns the version of the program that packed it, as it says itself.
    pub fn packed_by(&self) -> &str {
        &self.packed_by
    }

    /// Returns a store with what the cells of its recording need. All of it has the digests that the recording
    /// names, and nothing else is in it. The files of the recording are given by their names in its folder.
    ///
    /// # Errors
    ///
    /// When something is missing, or is something else, or nobody whom this machine trusts vouches for its QEMU.
    pub fn provide(
        &self,
        needs: &Needs,
        recording: &[String],
        trust: Trust,
        on_event: &dyn Fn(Event),
    ) -> Result<(Store, Vouched), CapsuleError> {
        self.check(needs, recording)?;
        let vouched = match trust {
            Trust::User => Vouched::User,
            Trust::Debian => Vouched::Debian(self.vouched(needs)?),
        };
        let root = self.draft.path().join("store");
        let store = Store::open(root)?;
        let moved = |name: String, to: &Path| {
            let moved = to.parent().map_or(Ok(()), preemptlab_files::create_folder);
            let moved = moved.and_then(|()| fs::rename(self.draft.path().join(name), to));
            moved.map_err(StoreError::at(to))
        };
        for digest in &needs.kernels {
            moved(kernel_name(*digest), &store.kernel_image(*digest))?;
        }
        for digest in &needs.images {
            moved(image_name(*digest), &store.image(*digest))?;
        }
        let debs: BTreeSet<Digest> = needs.qemu.iter().map(|package| package.sha256).collect();
        for digest in debs {
            moved(package_name(digest), &store.package(digest))?;
        }
        let lock = store.lock(on_event)?;
        qemu::fill(&store, &lock, &needs.qemu, on_event).map_err(|error| match error {
            QemuError::Packages(crate::PackageError::Store(error)) => error.into(),
            error => self.damaged(error.to_string()),
        })?;
        drop(lock);
        Ok((store, vouched))
    }

    /// Checks that it holds exactly what is needed.
    fn check(&self, needs: &Needs, recording: &[String]) -> Result<(), CapsuleError> {
        let wanted = needs.files();
        let recording: BTreeSet<&str> = recording.iter().map(String::as_str).collect();
        let is_wanted = |name: &str| {
            let of_recording = name.strip_prefix("recording/");
            let top = name.split('/').next().unwrap_or_default();
            matches!(top, ABOUT | SOURCES | "lists" | "licences")
                || wanted.iter().any(|(wanted, _)| wanted == name)
                || of_recording.is_some_and(|below| recording.contains(below))
        };
        if let Some(name) = self.names.iter().find(|name| !is_wanted(name)) {
            return Err(self.damaged(format!("it holds {name}, which its recording does not name")));
        }
        for (name, digest) in &wanted {
            if !self.names.contains(name) {
                return Err(self.damaged(format!("it lacks {name}, which its recording names")));
            }
            if sha256(&self.draft.path().join(name)).ok() != Some(*digest) {
                return Err(self.damaged(format!("the content of {name} is another")));
            }
        }
        Ok(())
    }

    /// Returns the releases whose lists name QEMU's packages.
    fn vouched(&self, needs: &Needs) -> Result<Vec<String>, CapsuleError> {
        let not = |reason| CapsuleError::NotVouched { path: self.path.clone(), reason };
        let mut vouching = Vouching::new(&needs.qemu).map_err(not)?;
        for number in 0..LISTS_MAX {
            if let Some(list) = self.list(number)? {
                vouching.add(&list).map_err(not)?;
            }
        }
        vouching.releases().map_err(not)
    }

    /// Reads a signed list into memory; `None` where it is not whole.
    fn list(&self, number: usize) -> Result<Option<SignedList>, CapsuleError> {
        let read = |name: &str| {
            let name = format!("lists/{number}/{name}");
            let read = || preemptlab_files::read(&self.draft.path().join(&name), LIST_BYTES_MAX);
            let read = self.names.contains(&name).then(read);
            read.transpose().map_err(|error| self.damaged(format!("{name}: {error}")))
        };
        Ok(match (read("InRelease")?, read("Packages")?) {
            (Some(in_release), Some(packages)) => Some(SignedList { in_release, packages }),
            _ => None,
        })
    }

    fn damaged(&self, reason: String) -> CapsuleError {
        CapsuleError::Damaged { path: self.path.clone(), reason }
    }
}

/// Reads the word about a capsule, and returns the program that packed it.
pub(super) fn about(path: &Path) -> Result<String, CapsuleError> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }

    let damaged = |reason: String| CapsuleError::Damaged { path: path.to_owned(), reason };
    let first = archive::open(path)
        .and_then(|mut archive| archive::first(&mut archive, ABOUT, ABOUT_BYTES_MAX));
    let bytes = first.map_err(|error| of(path, error))?;
    let bytes = bytes.ok_or_else(|| damaged(format!("it does not begin with {ABOUT}")))?;
    // The format comes first, so that a newer one is called so and not damaged.
    let unreadable = |error: serde_json::Error| damaged(format!("{ABOUT}: {error}"));
    let Format { format: found } = serde_json::from_slice(&bytes).map_err(unreadable)?;
    if found > FORMAT {
        return Err(CapsuleError::Newer { path: path.to_owned(), found, known: FORMAT });
    }
    if found < FORMAT {
        return Err(damaged(format!("no capsule has format {found}")));
    }
    let about: About = serde_json::from_slice(&bytes).map_err(unreadable)?;
    Ok(about.packed_by.chars().take(100).collect())
}

/// Unpacks a capsule into an empty folder, and returns the names of its files.
pub(super) fn unfold(path: &Path, folder: &Path) -> Result<BTreeSet<String>, CapsuleError> {
    let names = RefCell::new(BTreeSet::new());
    let is_wanted = |name: &str, kind: EntryType| {
        let is_wanted = kind == EntryType::Regular && is_name(name);
        if is_wanted {
            names.borrow_mut().insert(name.to_owned());
        }
        is_wanted
    };
    let unfolded = archive::open(path).and_then(|mut archive| {
        archive::unfold(&mut archive, folder, is_wanted)?;
        archive.into_inner().finish()
    });
    unfolded.map_err(|error| of(path, error))?;
    Ok(names.into_inner())
}

/// Returns whether a capsule may have a file of this name.
fn is_name(name: &str) -> bool {
    let is_digest = |text: &str| text.parse::<Digest>().is_ok();
    let parts: Vec<&str> = name.split('/').collect();
    match parts[..] {
        [ABOUT | SOURCES] | ["recording", "recording.json" | "until.json"] => true,
        ["recording", "cells" | "looks", file] => file.ends_with(".json"),
        ["recording", "folders" | "traces", file] => file.ends_with(".zst"),
        ["packages", file] => file.strip_suffix(".deb").is_some_and(is_digest),
        ["kernels", digest, "vmlinuz"] | ["images", digest] => is_digest(digest),
        ["lists", number, "InRelease" | "Packages"] => {
            (0..LISTS_MAX).any(|known| known.to_string() == number)
        }
        ["licences", _] => true,
        _ => false,
    }
}

/// Tells damage of a capsule from a failure of this machine.
fn of(path: &Path, error: io::Error) -> CapsuleError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            CapsuleError::Io { action: "unpack", path, error }
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound => {
            CapsuleError::Io { action: "read", path, error }
        }
        _ => CapsuleError::Damaged { path, reason: error.to_string() },
    }
}
