//! Files as a tar archive: owned by root, without dates, in the order of their paths, so that the
//! same files are the same bytes.

use std::io::{self, Read};

use preemptlab_model::Digest;
use tar::{Archive, Builder, Entry, EntryType, Header};

use super::{Files, FilesError, Node};

impl Files {
    /// Writes the archive.
    ///
    /// # Panics
    ///
    /// When writing to memory fails, which is a bug.
    pub fn archive(&self) -> Vec<u8> {
        self.write().expect("memory can be written to, and every path is short")
    }

    /// Computes the SHA-256 of the archive.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.archive())
    }

    fn write(&self) -> io::Result<Vec<u8>> {
        let mut builder = Builder::new(Vec::new());
        for (path, node) in self.iter() {
            let mut header = Header::new_gnu();
            header.set_mtime(0);
            header.set_uid(0);
            header.set_gid(0);
            header.set_size(0);
            match node {
                Node::Folder => {
                    header.set_entry_type(EntryType::Directory);
                    header.set_mode(0o755);
                    builder.append_data(&mut header, format!("{path}/"), io::empty())?;
                }
                Node::File { executable, bytes } => {
                    header.set_entry_type(EntryType::Regular);
                    header.set_mode(if *executable { 0o755 } else { 0o644 });
                    header.set_size(bytes.len() as u64);
                    builder.append_data(&mut header, path, bytes.as_slice())?;
                }
                Node::Symlink(target) => {
                    header.set_entry_type(EntryType::Symlink);
                    header.set_mode(0o777);
                    builder.append_link(&mut header, path, target)?;
                }
            }
        }
        builder.into_inner()
    }

    /// Reads the files of an archive, which may come from a stranger; the caller bounds it to
    /// [`ARCHIVE_BYTES_MAX`](crate::ARCHIVE_BYTES_MAX).
    ///
    /// # Errors
    ///
    /// [`FilesError`] when the archive is damaged or holds an entry that no folder may have.
    pub fn from_archive(archive: &[u8]) -> Result<Self, FilesError> {
        let mut files = Self::default();
        for entry in Archive::new(archive).entries().map_err(FilesError::Archive)? {
            let mut entry = entry.map_err(FilesError::Archive)?;
            let path = text(&entry.path_bytes())?;
            let node = files.node(&path, &mut entry)?;
            files.insert(path.strip_suffix('/').unwrap_or(&path), node)?;
        }
        Ok(files)
    }

    fn node(&self, path: &str, entry: &mut Entry<'_, impl Read>) -> Result<Node, FilesError> {
        match entry.header().entry_type() {
            EntryType::Directory => Ok(Node::Folder),
            EntryType::Symlink => {
                let target = entry.link_name_bytes().unwrap_or_default();
                Ok(Node::Symlink(text(&target)?))
            }
            EntryType::Regular if entry.size() > self.room() => Err(FilesError::TooLarge),
            EntryType::Regular => {
                let mode = entry.header().mode().map_err(FilesError::Archive)?;
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).map_err(FilesError::Archive)?;
                if bytes.len() as u64 != entry.size() {
                    return Err(FilesError::Archive(io::ErrorKind::UnexpectedEof.into()));
                }
                Ok(Node::File { executable: mode & 0o111 != 0, bytes })
            }
            _ => Err(FilesError::Special(path.escape_debug().to_string())),
        }
    }
}

fn text(bytes: &[u8]) -> Result<String, FilesError> {
    let text = str::from_utf8(bytes).map(str::to_owned);
    text.map_err(|_| FilesError::Path(String::from_utf8_lossy(bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn files() -> Files {
        let mut files = Files::default();
        let script = Node::File { executable: true, bytes: b"#!/bin/sh\n".into() };
        files.insert("run.sh", script).unwrap();
        let long = format!("{}/data", ["deep"; 60].join("/"));
        files.insert(&long, Node::File { executable: false, bytes: vec![7; 1000] }).unwrap();
        files.insert("link", Node::Symlink(long)).unwrap();
        files.insert("empty", Node::Folder).unwrap();
        files
    }

    #[test]
    fn what_was_archived_is_read_again() {
        let files = files();
        assert_eq!(Files::from_archive(&files.archive()).unwrap(), files);
        let none = Files::default();
        assert_eq!(Files::from_archive(&none.archive()).unwrap(), none);
    }

    #[test]
    fn the_order_does_not_matter() {
        let nodes: Vec<_> = files().iter().map(|(p, n)| (p.to_owned(), n.clone())).collect();
        let mut backwards = Files::default();
        nodes.into_iter().rev().for_each(|(path, node)| backwards.insert(&path, node).unwrap());
        assert_eq!(backwards.digest(), files().digest());
    }

    /// Checks bytes that must never change, because a recording's digests depend on them.
    #[test]
    fn the_bytes_are_the_same_forever() {
        let digest = files().digest().to_string();
        assert_eq!(digest, "c27aedf678372a292277d5caf4e45abc162d29e967265b2612a6d5d2259f2244");
    }

    fn refused(kind: EntryType, path: &str, target: &str, size: u64) -> String {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(0o644);
        header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
        header.as_gnu_mut().unwrap().linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_cksum();
        Files::from_archive(header.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn hostile_archives_are_refused() {
        use EntryType::{Block, Link, Regular, Symlink};
        for (said, expected) in [
            (refused(Regular, "../up", "", 0), "cannot be the path"),
            (refused(Regular, "/etc/passwd", "", 0), "cannot be the path"),
            (refused(Symlink, "a", "/etc", 0), "leads out of"),
            (refused(Link, "a", "b", 0), "neither a file"),
            (refused(Block, "sda", "", 0), "neither a file"),
            (refused(Regular, "a", "", 1 << 40), "more than 64 MiB"),
            (refused(Regular, "a", "", 100), "not an archive"),
        ] {
            assert!(said.contains(expected), "{said}");
        }
    }

    proptest! {
        #[test]
        fn damage_is_never_a_panic(at in 0usize..40_000, byte: u8, cut in 0usize..40_000) {
            let mut archive = files().archive();
            let length = archive.len();
            archive[at % length] = byte;
            archive.truncate(length - cut % length);
            let _ = Files::from_archive(&archive);
        }
    }
}
