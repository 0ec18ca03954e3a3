//! A copy of a source in the store, which follows its origin: a file that stays the same keeps its
//! time, so that make compiles only changed files.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs::{self, File},
    io::{self, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{OpenOptionsExt, PermissionsExt, symlink},
    },
    path::Path,
};

use preemptlab_model::Digest;
use serde::{Deserialize, Serialize};

use super::{
    TreeError,
    listing::{Entry, Listing, Marks, Origin, read},
    paths::{DEPTH_MAX, Kind},
};
use crate::StoreError;

/// The files of a copy, as they were left.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Copied {
    files: BTreeMap<String, (Marks, Entry)>,
}

/// Makes the copy in `folder` equal to a listing. A process that is killed meanwhile leaves a copy
/// that the next one completes.
pub(crate) fn follow(
    folder: &Path,
    listing: &Listing,
    origin: &mut Origin,
    copied: &mut Copied,
) -> Result<(), TreeError> {
    fs::create_dir_all(folder).map_err(StoreError::at(folder))?;
    remove_others(folder, "", listing, DEPTH_MAX).map_err(StoreError::at(folder))?;
    let mut files = BTreeMap::new();
    let mut made = BTreeSet::new();
    for (path, entry) in listing.iter() {
        let place = folder.join(path);
        let last = copied.files.get(path);
        let present = fs::symlink_metadata(&place).ok();
        let is_kept = present.as_ref().is_some_and(|metadata| {
            last.is_some_and(|(marks, last)| last == entry && *marks == Marks::of(metadata))
        });
        if !is_kept && !is_equal(&place, present.as_ref(), *entry) {
            let bytes = origin.bytes(path, *entry)?;
            write(folder, path, *entry, &bytes, present.is_some(), &mut made)
                .map_err(StoreError::at(&place))?;
        }
        let metadata = match (is_kept, present) {
            (true, Some(metadata)) => metadata,
            _ => fs::symlink_metadata(&place).map_err(StoreError::at(&place))?,
        };
        files.insert(path.to_owned(), (Marks::of(&metadata), *entry));
    }
    copied.files = files;
    Ok(())
}

/// Removes everything that the listing lacks, and files in the place of its folders.
fn remove_others(folder: &Path, prefix: &str, listing: &Listing, depth: u32) -> io::Result<bool> {
    let mut is_empty = true;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        let path = name.to_str().map(|name| format!("{prefix}{name}"));
        if kind.is_dir() {
            let below = path.as_deref().filter(|path| listing.get(path).is_none() && depth > 0);
            let is_used = match below {
                Some(path) => {
                    !remove_others(&entry.path(), &format!("{path}/"), listing, depth - 1)?
                }
                None => false,
            };
            if !is_used {
                fs::remove_dir_all(entry.path())?;
            }
            is_empty &= !is_used;
        } else if path.is_some_and(|path| listing.get(&path).is_some()) {
            is_empty = false;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(is_empty)
}

/// Returns whether a file of the copy is the wanted one already.
fn is_equal(place: &Path, present: Option<&fs::Metadata>, entry: Entry) -> bool {
    let Some(metadata) = present else { return false };
    let kind = match metadata.permissions().mode() {
        _ if metadata.is_symlink() => Kind::Link,
        mode if mode & 0o100 != 0 => Kind::Executable,
        _ => Kind::File,
    };
    kind == entry.kind && read(place, kind).is_ok_and(|bytes| Digest::of(&bytes) == entry.sha256)
}

fn write(
    folder: &Path,
    path: &str,
    entry: Entry,
    bytes: &[u8],
    is_there: bool,
    made: &mut BTreeSet<String>,
) -> io::Result<()> {
    let place = folder.join(path);
    if let Some((parent, _)) = path.rsplit_once('/')
        && made.insert(parent.to_owned())
    {
        // The listing has no file there, and everything else was removed: no link leads elsewhere.
        fs::create_dir_all(folder.join(parent))?;
    }
    if is_there {
        fs::remove_file(&place)?;
    }
    let mode = match entry.kind {
        Kind::Link => return symlink(OsStr::from_bytes(bytes), &place),
        Kind::Executable => 0o755,
        Kind::File => 0o644,
    };
    let mut file: File = File::options().write(true).create_new(true).mode(mode).open(&place)?;
    file.write_all(bytes)
}
