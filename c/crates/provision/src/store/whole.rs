//! Folders of the store with a list of their content, by which damage of the disk and changes are
//! noticed before a program of theirs is run.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use preemptlab_model::{Digest, seal, unseal};
use serde::{Deserialize, Serialize};

use crate::store::seen;

/// File in a folder that lists the folder's content.
const CONTENTS: &str = ".contents";

/// A folder of some 30,000 files takes 5 MB to describe.
const CONTENTS_BYTES_MAX: u64 = 64 << 20;

/// Everything in a folder by its path. The paths are compared, and never opened.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    nodes: BTreeMap<String, Node>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Node {
    Folder,
    File {
        sha256: Digest,
        executable: bool,
    },
    Link(String),
    /// A device or the like, which no package of ours brings.
    Special,
}

/// Writes the list of a folder's content into the folder.
pub(crate) fn note(folder: &Path) -> io::Result<()> {
    let contents = serde_json::to_vec(&Contents::of(folder)?)?;
    fs::write(folder.join(CONTENTS), seal(contents))
}

/// Returns whether a folder holds exactly the listed content. A folder without a readable list does
/// not count as whole. Files are read again only where their marks have changed since they were
/// last found whole.
pub(crate) fn is_whole(folder: &Path) -> bool {
    // The marks are taken first: a file that is written to while it is read has other marks
    // afterwards.
    let Ok(marks) = seen::marks(folder) else { return false };
    let digest = marks.digest.to_string();
    let seen = seen_path(folder);
    let last = preemptlab_files::read(&seen, digest.len() as u64);
    if last.is_ok_and(|last| last == digest.as_bytes()) {
        return true;
    }
    let is_whole = noted(folder)
        .is_some_and(|noted| Contents::of(folder).is_ok_and(|contents| contents == noted));
    if is_whole && marks.settled {
        // It only saves time, so that a full disk is no reason to stop.
        let _ = preemptlab_files::replace(&seen, digest.as_bytes());
    }
    is_whole
}

/// Returns the path of the marks that a folder had when it was last found whole: beside it, because
/// the folder never changes.
pub(crate) fn seen_path(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".seen");
    folder.with_file_name(name)
}

fn noted(folder: &Path) -> Option<Contents> {
    let mut note = preemptlab_files::read(&folder.join(CONTENTS), CONTENTS_BYTES_MAX).ok()?;
    if unseal(&mut note) != Ok(true) {
        return None;
    }
    serde_json::from_slice(&note).ok()
}

impl Contents {
    fn of(folder: &Path) -> io::Result<Self> {
        let mut contents = Self { nodes: BTreeMap::new() };
        contents.read(folder, "")?;
        contents.nodes.remove(CONTENTS);
        Ok(contents)
    }

    fn read(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let (place, metadata) = (entry.path(), entry.metadata()?);
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let node = if metadata.is_dir() {
                self.read(&place, &format!("{path}/"))?;
                Node::Folder
            } else if metadata.is_symlink() {
                Node::Link(fs::read_link(&place)?.to_string_lossy().into_owned())
            } else if metadata.is_file() {
                let executable = metadata.permissions().mode() & 0o111 != 0;
                Node::File { sha256: Digest::of_reader(File::open(&place)?)?, executable }
            } else {
                Node::Special
            };
            self.nodes.insert(path, node);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn whatever_is_changed_is_noticed() {
        let store = tempfile::tempdir().unwrap();
        let made = || {
            let folder = tempfile::tempdir_in(store.path()).unwrap();
            fs::create_dir_all(folder.path().join("usr/lib")).unwrap();
            fs::write(folder.path().join("usr/lib/libc.so.6"), "libc").unwrap();
            symlink("libc.so.6", folder.path().join("usr/lib/libc.so")).unwrap();
            assert!(!is_whole(folder.path()));
            note(folder.path()).unwrap();
            assert!(is_whole(folder.path()));
            folder
        };
        let changes: [fn(&Path); 14] = [
            |folder| fs::write(folder.join("usr/lib/libc.so.6"), "libd").unwrap(),
            |folder| fs::write(folder.join("usr/lib/libm.so.6"), "libm").unwrap(),
            |folder| fs::remove_file(folder.join("usr/lib/libc.so")).unwrap(),
            |folder| {
                fs::remove_file(folder.join("usr/lib/libc.so")).unwrap();
                symlink("/tmp/libc.so", folder.join("usr/lib/libc.so")).unwrap();
            },
            |folder| fs::create_dir(folder.join("usr/bin")).unwrap(),
            |folder| {
                let mode = fs::Permissions::from_mode(0o755);
                fs::set_permissions(folder.join("usr/lib/libc.so.6"), mode).unwrap();
            },
            |folder| fs::remove_file(folder.join(CONTENTS)).unwrap(),
            |folder| {
                let note = fs::read_to_string(folder.join(CONTENTS)).unwrap();
                fs::write(folder.join(CONTENTS), note.replace("libc", "libd")).unwrap();
            },
            |folder| fs::write(folder.join(CONTENTS), "").unwrap(),
            |folder| fs::write(folder.join(CONTENTS), seal(b"{}".to_vec())).unwrap(),
            |folder| fs::write(folder.join(CONTENTS), seal(vec![b'['; 1 << 20])).unwrap(),
            |folder| {
                let nodes = br#"{"nodes":{"../../etc/passwd":"special","/etc":"folder"}}"#;
                fs::write(folder.join(CONTENTS), seal(nodes.to_vec())).unwrap();
            },
            |folder| {
                let note = fs::File::create(folder.join(CONTENTS)).unwrap();
                note.set_len(CONTENTS_BYTES_MAX + 1).unwrap();
            },
            |folder| {
                fs::remove_file(folder.join(CONTENTS)).unwrap();
                symlink("/dev/zero", folder.join(CONTENTS)).unwrap();
            },
        ];
        for (number, change) in changes.iter().enumerate() {
            let folder = made();
            change(folder.path());
            assert!(!is_whole(folder.path()), "change {number}");
        }
    }

    #[test]
    fn files_are_read_again_where_their_marks_have_changed() {
        let store = tempfile::tempdir().unwrap();
        let folder = store.path().join("folder");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("file"), "whole").unwrap();
        note(&folder).unwrap();
        // Until it is old enough for its marks to count.
        let known = |folder: &Path| {
            while !seen_path(folder).exists() {
                std::thread::sleep(std::time::Duration::from_millis(50));
                assert!(is_whole(folder));
            }
        };
        known(&folder);
        let marks = fs::read(seen_path(&folder)).unwrap();

        // The note is not read again, because these are the marks of a folder that was found whole.
        fs::write(folder.join(CONTENTS), "damaged").unwrap();
        assert!(!is_whole(&folder));
        fs::write(seen_path(&folder), seen::marks(&folder).unwrap().digest.to_string()).unwrap();
        assert!(is_whole(&folder));

        // A copy has other marks, and is whole.
        fs::remove_file(folder.join(CONTENTS)).unwrap();
        note(&folder).unwrap();
        let copy = store.path().join("copy");
        fs::create_dir(&copy).unwrap();
        for name in ["file", CONTENTS] {
            fs::copy(folder.join(name), copy.join(name)).unwrap();
        }
        known(&copy);
        assert_ne!(fs::read(seen_path(&copy)).unwrap(), marks);
    }
}
