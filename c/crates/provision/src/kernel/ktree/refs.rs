//! References of a repository, read as data: names of commits and of other references.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use super::{TreeError, object_id::ObjectId};

/// The largest file of packed references, and the largest file of one, in bytes.
const PACKED_BYTES_MAX: u64 = 64 << 20;
const LOOSE_BYTES_MAX: u64 = 4 << 10;

/// The most references, and the most folders on the way to one.
const REFS_MAX: usize = 400_000;
const DEPTH_MAX: u32 = 32;

/// References in which git puts other objects in the place of those that are asked for.
const REPLACE: &str = "refs/replace/";

/// Content of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The name of an object.
    Id(ObjectId),
    /// The name of another reference.
    Ref(String),
}

/// References by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Refs {
    targets: BTreeMap<String, Target>,
}

impl Refs {
    /// Reads the references of a repository, and those of a working tree of its own.
    pub(super) fn read(common: &Path, own: &Path) -> Result<Self, TreeError> {
        let mut refs = Self::default();
        let packed = common.join("packed-refs");
        if let Some(bytes) = read(&packed, PACKED_BYTES_MAX)? {
            refs.packed(&bytes)?;
        }
        refs.loose(&common.join("refs"), "refs", DEPTH_MAX)?;
        if own != common {
            refs.loose(&own.join("refs"), "refs", DEPTH_MAX)?;
        }
        Ok(refs)
    }

    /// Adds the rows of a file of packed references.
    pub(super) fn packed(&mut self, bytes: &[u8]) -> Result<(), TreeError> {
        for line in bytes.split(|byte| *byte == b'\n') {
            // The tag itself holds the name of its object.
            if line.is_empty() || line.starts_with(b"#") || line.starts_with(b"^") {
                continue;
            }
            let row = std::str::from_utf8(line).ok().and_then(|line| line.split_once(' '));
            let row = row.and_then(|(id, name)| Some((name, id.parse().ok()?)));
            let (name, id) = row.ok_or(TreeError::Refused("its packed-refs holds another row"))?;
            self.insert(name, Target::Id(id))?;
        }
        Ok(())
    }

    /// Adds the files of a folder. A file that is not a reference is not one for git either.
    fn loose(&mut self, folder: &Path, name: &str, depth: u32) -> Result<(), TreeError> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(TreeError::Read { path: folder.to_owned(), error }),
        };
        for entry in entries {
            let at = |error| TreeError::Read { path: folder.to_owned(), error };
            let entry = entry.map_err(at)?;
            let Ok(last) = entry.file_name().into_string() else { continue };
            let name = format!("{name}/{last}");
            if last.starts_with('.') || last.ends_with(".lock") {
                continue;
            }
            let path = entry.path();
            if entry.file_type().map_err(at)?.is_dir() {
                if depth == 0 {
                    return Err(TreeError::Refused("its references are too deep in folders"));
                }
                self.loose(&path, &name, depth - 1)?;
            } else if let Some(target) = target_of(&path)? {
                self.insert(&name, target)?;
            }
        }
        Ok(())
    }

    fn insert(&mut self, name: &str, target: Target) -> Result<(), TreeError> {
        if is_name(name) && !name.starts_with(REPLACE) {
            self.targets.insert(name.to_owned(), target);
        }
        match self.targets.len() > REFS_MAX {
            true => Err(TreeError::Refused("it has too many references")),
            false => Ok(()),
        }
    }

    /// Returns the text of packed references, and those that name others.
    pub(super) fn split(self) -> (String, Vec<(String, String)>) {
        let (mut packed, mut others) = (String::new(), Vec::new());
        for (name, target) in self.targets {
            match target {
                Target::Id(id) => packed.push_str(&format!("{id} {name}\n")),
                Target::Ref(other) => others.push((name, other)),
            }
        }
        (packed, others)
    }
}

/// Reads the target of a reference in a file of its own; `None` where the file holds no reference,
/// as after a crash.
pub(super) fn target_of(path: &Path) -> Result<Option<Target>, TreeError> {
    // Once a reference to another one was a link.
    let link = fs::read_link(path).ok();
    if let Some(name) = link.as_deref().and_then(Path::to_str).filter(|name| is_name(name)) {
        return Ok(Some(Target::Ref(name.to_owned())));
    }
    Ok(read(path, LOOSE_BYTES_MAX)?.as_deref().and_then(target))
}

/// Reads the text of a reference.
pub(super) fn target(bytes: &[u8]) -> Option<Target> {
    let text = std::str::from_utf8(bytes).ok()?;
    match text.strip_prefix("ref:") {
        Some(name) => {
            Some(name.trim()).filter(|name| is_name(name)).map(|name| Target::Ref(name.to_owned()))
        }
        // `FETCH_HEAD` says more behind it.
        None => text.split_whitespace().next()?.parse().ok().map(Target::Id),
    }
}

/// Returns whether a text can name a reference (git-check-ref-format(1)).
pub(super) fn is_name(name: &str) -> bool {
    let is_odd = |char: char| char.is_control() || " ~^:?*[\\".contains(char);
    let is_plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with(".lock")
            && !part.ends_with('.')
    };
    name.starts_with("refs/")
        && name.len() <= 1_000
        && !name.contains(is_odd)
        && !name.contains("..")
        && !name.contains("@{")
        && name.split('/').all(is_plain)
}

/// Reads a regular file of a repository; `None` where it is not there.
pub(super) fn read(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, TreeError> {
    match preemptlab_files::read(path, bytes_max) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(TreeError::Read { path: PathBuf::from(path), error }),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
