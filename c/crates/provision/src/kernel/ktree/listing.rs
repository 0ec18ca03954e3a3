//! The files of a kernel's source, and their contents.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Write},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use preemptlab_model::Digest;
use serde::{Deserialize, Serialize};

use super::{
    Git, Stranger, TreeError, commit,
    object_id::{BLOB_BYTES_MAX, ObjectId, ObjectKind},
    objects::Objects,
    paths::{Bound, Kind, NO_TEXT, ODD, check, is_taken},
    stranger::who,
    watched::Bounds,
};

/// The largest file, and the largest source, in bytes. Linux has 1.5 GiB.
const FILE_BYTES_MAX: u64 = BLOB_BYTES_MAX;
const SOURCE_BYTES_MAX: u64 = 4 << 30;

/// Bounds of listing a working tree. Linux takes 0.3 s.
const OF_LISTING: Bounds = Bounds { cpu_s: 8, memory_mib: 400 };

/// A file whose time is younger than this may change without a change of its time.
const SETTLED_NS: i64 = 2_000_000_000;

/// The most contents of a repository whose digests are kept.
const BLOBS_MAX: usize = 400_000;

/// Patterns of the files that git takes at the top of an unpacked source: Debian's has a
/// `.gitignore` that ignores everything there, so these patterns, of which the last one decides,
/// stand before its own.
const UNPACKED: [&str; 7] = [
    "--exclude=!/*",
    "--exclude=/.*",
    "--exclude=/*.o",
    "--exclude=/*vmlinux*",
    "--exclude=/modules.*",
    "--exclude=/System.map",
    "--exclude=!/.gitignore",
];

/// A file of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) sha256: Digest,
}

/// Every file of a source by its path, none of which leads out of it.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    entries: BTreeMap<String, Entry>,
}

/// Attributes of a file that change when it is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marks {
    bytes: u64,
    modified_ns: i64,
    changed_ns: i64,
    inode: u64,
}

/// Digests of files that were read before, and of contents of a repository.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Known {
    files: BTreeMap<String, (Marks, Digest, ObjectId)>,
    blobs: BTreeMap<ObjectId, Digest>,
}

/// The files of a working tree.
pub(crate) struct OfFolder {
    pub(crate) listing: Listing,
    /// The names that their contents have, or would have, in the repository.
    pub(crate) ids: BTreeMap<String, ObjectId>,
    /// New files that are not in git's index.
    pub(crate) untracked: BTreeSet<String>,
    /// The first of them that another user can write to.
    pub(crate) stranger: Option<Stranger>,
}

/// The place of a source's files.
pub(crate) enum Origin {
    /// A working tree.
    Folder(PathBuf),
    /// A repository, with the name of each file's content in it.
    Repository { objects: Box<Objects>, ids: BTreeMap<String, ObjectId> },
}

impl Listing {
    /// Lists a working tree: the files that git would take, committed or not. `committed` are
    /// paths that belong to it even if git's own list lacks them.
    pub(crate) fn of_folder(
        git: &Git,
        folder: &Path,
        committed: Option<&commit::Files>,
        known: &mut Known,
    ) -> Result<OfFolder, TreeError> {
        let mut arguments = vec!["ls-files", "-t", "-z", "--others", "--exclude-standard"];
        match committed {
            Some(_) => arguments.push("--cached"),
            None => arguments.extend(UNPACKED),
        }
        let said = git.within(OF_LISTING).ask(&arguments)?.map_err(TreeError::Git)?;
        let (mut paths, untracked) = names(&said)?;
        paths.extend(committed.into_iter().flat_map(BTreeMap::keys).map(String::as_str));
        let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let now_ns = i64::try_from(now_ns).unwrap_or(i64::MAX);
        let mut folders = Folders::new(folder);
        let (mut found, mut bound, mut bytes) = (Vec::new(), Bound::default(), 0_u64);
        for path in paths.into_iter().filter(|path| is_taken(path)) {
            check(path)?;
            bound.path(path)?;
            let place = folder.join(path);
            // A file that is deleted and not committed is still among git's, and so is one in whose
            // folder's place a link is.
            let is_there = folders.are_real(path);
            let Ok(metadata) = fs::symlink_metadata(&place) else { continue };
            let kind = match metadata.mode() {
                _ if !is_there => continue,
                _ if metadata.is_symlink() => Kind::Link,
                mode if metadata.is_file() && mode & 0o100 != 0 => Kind::Executable,
                _ if metadata.is_file() => Kind::File,
                // A pipe or the like, or a repository in the repository.
                _ => continue,
            };
            if metadata.len() > FILE_BYTES_MAX {
                let what = format!("`{}`", place.display());
                return Err(TreeError::TooLarge { what, mib: FILE_BYTES_MAX >> 20 });
            }
            bytes = bytes.saturating_add(metadata.len());
            folders.look_at(&place, &metadata);
            found.push((path, place, kind, Marks::of(&metadata)));
        }
        if bytes > SOURCE_BYTES_MAX {
            return Err(TreeError::Refused(TOO_LARGE));
        }
        let mut files = BTreeMap::new();
        let (mut listing, mut ids) = (Self::default(), BTreeMap::new());
        for (path, place, kind, marks) in found {
            let last = known.files.get(path).filter(|(last, ..)| *last == marks);
            let (sha256, id) = match last {
                Some((_, sha256, id)) => (*sha256, *id),
                None => {
                    let bytes = read(&place, kind).map_err(at(&place))?;
                    (Digest::of(&bytes), git.format.name(ObjectKind::Blob, &bytes))
                }
            };
            if now_ns - marks.modified_ns.max(marks.changed_ns) > SETTLED_NS {
                files.insert(path.to_owned(), (marks, sha256, id));
            }
            ids.insert(path.to_owned(), id);
            listing.entries.insert(path.to_owned(), Entry { kind, sha256 });
        }
        known.files = files;
        let listing = listing.checked()?;
        Ok(OfFolder { listing, ids, untracked, stranger: folders.stranger })
    }

    /// Lists a commit, and says where its files are.
    pub(crate) fn of_commit(
        git: &Git,
        commit: ObjectId,
        known: &mut Known,
    ) -> Result<(Self, Origin), TreeError> {
        let mut files = commit::files(git, commit)?;
        files.retain(|path, _| is_taken(path));
        let unknown: BTreeSet<ObjectId> = files.values().map(|(_, id)| *id).collect();
        let unknown: Vec<_> =
            unknown.into_iter().filter(|id| !known.blobs.contains_key(id)).collect();
        if !unknown.is_empty() {
            let sizes = Objects::of(git, true)?.bytes(&unknown, ObjectKind::Blob)?;
            if sizes > SOURCE_BYTES_MAX {
                return Err(TreeError::Refused(TOO_LARGE));
            }
        }
        let mut objects = Objects::of(git, false)?;
        objects.each(&unknown, ObjectKind::Blob, |at, bytes| {
            known.blobs.insert(unknown[at], Digest::of(&bytes));
            Ok(())
        })?;
        let (mut listing, mut ids) = (Self::default(), BTreeMap::new());
        for (path, (kind, id)) in files {
            let sha256 = *known.blobs.get(&id).ok_or(TreeError::Refused(ODD))?;
            listing.entries.insert(path.clone(), Entry { kind, sha256 });
            ids.insert(path, id);
        }
        if known.blobs.len() > BLOBS_MAX {
            let of_this: BTreeSet<_> = ids.values().collect();
            known.blobs.retain(|id, _| of_this.contains(id));
        }
        Ok((listing.checked()?, Origin::Repository { objects: Box::new(objects), ids }))
    }

    /// Returns every file with its path.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(path, entry)| (path.as_str(), entry))
    }

    /// Returns a file.
    pub(crate) fn get(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// Computes the digest of the files whose paths satisfy a condition.
    pub(crate) fn digest(&self, wanted: impl Fn(&str) -> bool) -> Digest {
        let mut text = Vec::new();
        for (path, Entry { kind, sha256 }) in self.iter().filter(|(path, _)| wanted(path)) {
            // No path holds the separator.
            let _ = write!(text, "{sha256} {kind:?} {path}\0");
        }
        Digest::of(&text)
    }

    /// Refuses a listing in which a file is the folder of another one.
    fn checked(self) -> Result<Self, TreeError> {
        let is_below_a_file = |path: &str| {
            let ends = path.match_indices('/').map(|(end, _)| end);
            ends.into_iter().any(|end| self.entries.contains_key(&path[..end]))
        };
        match self.entries.keys().any(|path| is_below_a_file(path)) {
            true => Err(TreeError::Refused("a file is also the folder of another one")),
            false => Ok(self),
        }
    }
}

const TOO_LARGE: &str = "its files have more than 4 GiB together";

/// Folders of a working tree that were looked at.
struct Folders<'a> {
    root: &'a Path,
    are_real: BTreeMap<String, bool>,
    stranger: Option<Stranger>,
}

impl<'a> Folders<'a> {
    fn new(root: &'a Path) -> Self {
        Self { root, are_real: BTreeMap::new(), stranger: None }
    }

    /// Returns whether every folder on the way to a file is one, and no link that leads elsewhere.
    fn are_real(&mut self, path: &str) -> bool {
        let Some((parent, _)) = path.rsplit_once('/') else { return true };
        if let Some(are_real) = self.are_real.get(parent) {
            return *are_real;
        }
        let mut is_real = self.are_real(parent);
        if is_real {
            let place = self.root.join(parent);
            let metadata = fs::symlink_metadata(&place).ok().filter(fs::Metadata::is_dir);
            is_real = metadata.is_some();
            if let Some(metadata) = metadata {
                self.look_at(&place, &metadata);
            }
        }
        self.are_real.insert(parent.to_owned(), is_real);
        is_real
    }

    /// Keeps the first file or folder that another user can write to.
    fn look_at(&mut self, place: &Path, metadata: &fs::Metadata) {
        if self.stranger.is_none() {
            self.stranger = who(metadata).map(|who| Stranger { path: place.to_owned(), who });
        }
    }
}

impl Marks {
    pub(crate) fn of(metadata: &fs::Metadata) -> Self {
        let ns = |seconds: i64, ns: i64| seconds.saturating_mul(1_000_000_000).saturating_add(ns);
        Self {
            bytes: metadata.len(),
            modified_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        }
    }
}

impl Origin {
    /// Reads a file, which must be the one that was listed.
    pub(crate) fn bytes(&mut self, path: &str, entry: Entry) -> Result<Vec<u8>, TreeError> {
        let bytes = match self {
            Self::Folder(folder) => {
                let place = folder.join(path);
                read(&place, entry.kind).map_err(at(&place))?
            }
            Self::Repository { objects, ids } => {
                let id = ids.get(path).ok_or(TreeError::Refused(ODD))?;
                objects.read(*id, ObjectKind::Blob)?
            }
        };
        match Digest::of(&bytes) == entry.sha256 {
            true => Ok(bytes),
            false => Err(TreeError::Changing(path.to_owned())),
        }
    }
}

/// Reads a file, or the target of a link.
pub(crate) fn read(place: &Path, kind: Kind) -> io::Result<Vec<u8>> {
    match kind {
        Kind::Link => Ok(fs::read_link(place)?.as_os_str().as_bytes().to_vec()),
        Kind::File | Kind::Executable => preemptlab_files::read(place, FILE_BYTES_MAX),
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> TreeError {
    let path = path.to_owned();
    move |error| TreeError::Read { path: path.clone(), error }
}

/// Returns the paths of `git ls-files -t -z`, and those among them that are not in git's index:
/// `? PATH`.
pub(super) fn names(said: &[u8]) -> Result<(BTreeSet<&str>, BTreeSet<String>), TreeError> {
    let (mut paths, mut untracked) = (BTreeSet::new(), BTreeSet::new());
    for row in said.split(|byte| *byte == 0).filter(|row| !row.is_empty()) {
        // A repository in the repository is not one of its files.
        if row.ends_with(b"/") {
            continue;
        }
        let row = std::str::from_utf8(row).map_err(|_| TreeError::Refused(NO_TEXT))?;
        let (tag, path) = row.split_once(' ').ok_or(TreeError::Refused(ODD))?;
        if tag == "?" {
            untracked.insert(path.to_owned());
        }
        paths.insert(path);
    }
    Ok((paths, untracked))
}
