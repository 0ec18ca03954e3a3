//! The files of the users' own workloads: an archive of each folder.

use std::{
    collections::btree_map::Entry,
    io::Read,
    path::{Path, PathBuf},
};

use preemptlab_files::{ARCHIVE_BYTES_MAX, Files, Folders};
use preemptlab_model::Digest;

use crate::{
    RecordingError,
    cells::create_folder,
    packed::{Kind, Packed},
};

pub const FOLDERS: &str = "folders";

/// The most that the folders of all workloads may hold together: a recording may name many, each of
/// which a few bytes of zstd can stand for.
const ARCHIVES_BYTES_MAX: u64 = 2 * ARCHIVE_BYTES_MAX;

/// Reads the folders with these digests.
///
/// # Errors
///
/// When an archive is missing, too large or damaged.
pub fn read(path: &Path, digests: impl Iterator<Item = Digest>) -> Result<Folders, RecordingError> {
    let mut folders = Folders::new();
    let mut left = ARCHIVES_BYTES_MAX;
    for sha256 in digests {
        if let Entry::Vacant(vacant) = folders.entry(sha256) {
            let packed = Packed::new(path, Kind::Files, &sha256);
            vacant.insert(read_one(&packed, sha256, &mut left)?);
        }
    }
    Ok(folders)
}

/// Returns the path of the archive of a folder.
pub fn file(path: &Path, sha256: Digest) -> PathBuf {
    Packed::new(path, Kind::Files, &sha256).path
}

fn read_one(packed: &Packed, sha256: Digest, left: &mut u64) -> Result<Files, RecordingError> {
    let damaged = |reason: String| RecordingError::Damaged { path: packed.path.clone(), reason };
    let stream = packed.open()?.ok_or_else(|| damaged("it is not there".to_owned()))?;
    let mut archive = Vec::new();
    stream
        .take(ARCHIVE_BYTES_MAX + 1)
        .read_to_end(&mut archive)
        .map_err(|error| damaged(format!("it is cut off or damaged ({error})")))?;
    *left = left.checked_sub(archive.len() as u64).ok_or_else(|| {
        let most = ARCHIVES_BYTES_MAX >> 20;
        damaged(format!("the folders of all workloads together hold more than {most} MiB"))
    })?;
    if archive.len() as u64 > ARCHIVE_BYTES_MAX || Digest::of(&archive) != sha256 {
        return Err(damaged("it holds other files than its name says".to_owned()));
    }
    Files::from_archive(&archive).map_err(|error| damaged(error.to_string()))
}

/// Writes folders; those that are there already stay as they are.
///
/// # Errors
///
/// When they cannot be written.
pub fn write(path: &Path, folders: &Folders) -> Result<(), RecordingError> {
    if folders.is_empty() {
        return Ok(());
    }
    create_folder(path)?;
    preemptlab_files::sweep(path).map_err(RecordingError::io("clean", path))?;
    for (sha256, files) in folders {
        let packed = Packed::new(path, Kind::Files, sha256);
        if !packed.path.exists() {
            packed.write(&mut files.archive().as_slice())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use preemptlab_files::Node;

    use super::*;

    fn files(text: &str) -> Files {
        let mut files = Files::default();
        files.insert("run", Node::File { executable: true, bytes: text.into() }).unwrap();
        files
    }

    fn read_back(folder: &Path, sha256: Digest) -> Result<Files, String> {
        let packed = Packed::new(folder, Kind::Files, &sha256);
        read_one(&packed, sha256, &mut ARCHIVES_BYTES_MAX.clone())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn folders_are_kept_and_checked() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (files("one"), files("other"));
        let digest = one.digest();
        let said = read_back(folder.path(), digest).unwrap_err();
        assert!(said.contains("it is not there"), "{said}");
        write(folder.path(), &Folders::from([(digest, one.clone())])).unwrap();
        write(folder.path(), &Folders::from([(digest, one.clone())])).unwrap();
        assert_eq!(read_back(folder.path(), digest).unwrap(), one);

        let packed = Packed::new(folder.path(), Kind::Files, &digest);
        std::fs::remove_file(&packed.path).unwrap();
        packed.write(&mut other.archive().as_slice()).unwrap();
        let said = read_back(folder.path(), digest).unwrap_err();
        assert!(said.contains("other files than its name says"), "{said}");

        // A few bytes of zstd can stand for anything.
        std::fs::remove_file(&packed.path).unwrap();
        packed.write(&mut std::io::repeat(0).take(ARCHIVE_BYTES_MAX + 10)).unwrap();
        assert!(read_back(folder.path(), digest).is_err());
    }
}
