//! The files of a kernel's source, and what they hold.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use preemptlab_model::Digest;
use serde::{Deserialize, Serialize};

use super::{Blobs, Git, TreeError};

/// The most files of a source, and the largest of them in bytes. Linux has some 90,000.
const FILES_MAX: usize = 1_000_000;
const FILE_BYTES_MAX: u64 = 256 << 20;

/// A file whose time is younger than this may change without a change of its time.
const SETTLED_NS: i64 = 2_000_000_000;

/// The most contents of a repository whose digests are kept.
const BLOBS_MAX: usize = 400_000;

/// Files of a kernel that was built in its own tree, which no other build may find there.
const BUILT: [&str; 5] =
    [".config", ".tmp_", "include/config/", "include/generated/", "Module.symvers"];

/// What git takes at the top of a source that was unpacked: Debian's has a `.gitignore` that ignores
/// everything there, so these patterns, of which the last one decides, stand before its own.
const UNPACKED: [&str; 7] = [
    "--exclude=!/*",
    "--exclude=/.*",
    "--exclude=/*.o",
    "--exclude=/*vmlinux*",
    "--exclude=/modules.*",
    "--exclude=/System.map",
    "--exclude=!/.gitignore",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    File,
    Executable,
    Link,
}

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

/// What of a file changes when it is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marks {
    bytes: u64,
    modified_ns: i64,
    changed_ns: i64,
    inode: u64,
}

/// Digests of files that were read before.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Known {
    files: BTreeMap<String, (Marks, Digest)>,
    blobs: BTreeMap<String, Digest>,
}

/// The place of a source's files.
pub(crate) enum Origin {
    /// A working tree.
    Folder(PathBuf),
    /// A repository, with the name of each file's content in it.
    Repository { blobs: Blobs, ids: BTreeMap<String, String> },
}

impl Listing {
    /// Lists a working tree: what git would take, whether it is committed or not.
    pub(crate) fn of_folder(
        git: &Git,
        folder: &Path,
        in_repository: bool,
        known: &mut Known,
    ) -> Result<Self, TreeError> {
        let mut arguments = vec!["ls-files", "-z", "--others", "--exclude-standard"];
        match in_repository {
            true => arguments.push("--cached"),
            false => arguments.extend(UNPACKED),
        }
        let paths = git.ask(&arguments)?.map_err(TreeError::Git)?;
        let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let now_ns = i64::try_from(now_ns).unwrap_or(i64::MAX);
        let mut files = BTreeMap::new();
        let mut listing = Self::default();
        for path in names(&paths)? {
            let place = folder.join(path);
            // A file that is deleted and not committed is still among git's.
            let Ok(metadata) = fs::symlink_metadata(&place) else { continue };
            let kind = match metadata.mode() {
                _ if metadata.is_symlink() => Kind::Link,
                mode if metadata.is_file() && mode & 0o100 != 0 => Kind::Executable,
                _ if metadata.is_file() => Kind::File,
                // A pipe or the like, or a repository in the repository.
                _ => continue,
            };
            let marks = Marks::of(&metadata);
            let last = known.files.get(path).filter(|(last, _)| *last == marks);
            let sha256 = match last {
                Some((_, sha256)) => *sha256,
                None => Digest::of(&read(&place, kind).map_err(at(&place))?),
            };
            if now_ns - marks.modified_ns.max(marks.changed_ns) > SETTLED_NS {
                files.insert(path.to_owned(), (marks, sha256));
            }
            listing.insert(path, Entry { kind, sha256 })?;
        }
        known.files = files;
        listing.checked()
    }

    /// Lists a commit, and says where its files are.
    pub(crate) fn of_commit(
        git: &Git,
        commit: &str,
        known: &mut Known,
    ) -> Result<(Self, Origin), TreeError> {
        let said = git.ask(&["ls-tree", "-r", "-z", "--full-tree", commit])?;
        let said = said.map_err(TreeError::Git)?;
        let (mut blobs, mut ids) = (git.blobs()?, BTreeMap::new());
        let mut listing = Self::default();
        for row in names(&said)? {
            // `<mode> blob <id>\t<path>`
            let (head, path) = row.split_once('\t').ok_or(TreeError::Refused(ODD))?;
            let mut words = head.split(' ');
            let (mode, _, id) = (words.next(), words.next(), words.next().unwrap_or_default());
            let kind = match mode {
                Some("100755") => Kind::Executable,
                Some("120000") => Kind::Link,
                Some("100644" | "100664") => Kind::File,
                _ => continue,
            };
            let sha256 = match known.blobs.get(id) {
                Some(sha256) => *sha256,
                None => {
                    let bytes = blobs.read(id).map_err(at(Path::new(path)))?;
                    let sha256 = Digest::of(&bytes);
                    known.blobs.insert(id.to_owned(), sha256);
                    sha256
                }
            };
            ids.insert(path.to_owned(), id.to_owned());
            listing.insert(path, Entry { kind, sha256 })?;
        }
        if known.blobs.len() > BLOBS_MAX {
            let of_this: std::collections::BTreeSet<_> = ids.values().collect();
            known.blobs.retain(|id, _| of_this.contains(id));
        }
        Ok((listing.checked()?, Origin::Repository { blobs, ids }))
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
            // No path holds what separates them.
            let _ = write!(text, "{sha256} {kind:?} {path}\0");
        }
        Digest::of(&text)
    }

    fn insert(&mut self, path: &str, entry: Entry) -> Result<(), TreeError> {
        let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        if !path.split('/').all(is_plain) || path.split('/').any(|part| part == ".git") {
            return Err(TreeError::Refused(ODD));
        }
        if BUILT.iter().any(|built| path.starts_with(built))
            || path.starts_with("arch/") && path.contains("/include/generated/")
        {
            return Ok(());
        }
        if self.entries.len() >= FILES_MAX {
            return Err(TreeError::Refused("it has too many files"));
        }
        self.entries.insert(path.to_owned(), entry);
        Ok(())
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

const ODD: &str = "it has a path that leads elsewhere";

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
            Self::Repository { blobs, ids } => {
                let id = ids.get(path).ok_or(TreeError::Refused(ODD))?;
                blobs.read(id).map_err(at(Path::new(path)))?
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
        Kind::File | Kind::Executable => preemptlab_durable::read(place, FILE_BYTES_MAX),
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> TreeError {
    let path = path.to_owned();
    move |error| TreeError::Read { path: path.clone(), error }
}

/// Returns the texts between zeros. A name that is no text is none of a kernel's.
fn names(bytes: &[u8]) -> Result<impl Iterator<Item = &str>, TreeError> {
    if !bytes.is_empty() && !bytes.ends_with(b"\0") {
        return Err(TreeError::Refused("it has too many files"));
    }
    let texts = bytes.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(texts.filter_map(|name| std::str::from_utf8(name).ok()))
}
