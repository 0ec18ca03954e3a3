//! The files of a guest image.

use std::collections::{BTreeMap, btree_map::Entry};

use cpio::newc::{self, ModeFileType};

/// The longest path or link target that the kernel unpacks (init/initramfs.c).
const PATH_BYTES_MAX: usize = 4095;

/// Folders that Debian has merged into /usr; older packages still name them.
const MERGED: [&str; 4] = ["bin", "lib", "lib64", "sbin"];

/// A tree of files, each owned by root and without a date, so that its archive depends on their
/// content alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    nodes: BTreeMap<String, Node>,
}

/// Entry of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Folder,
    File { executable: bool, bytes: Vec<u8> },
    Symlink(String),
}

/// Reason why an entry has no place in the tree.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PlaceError {
    #[error("`{0}` is no path of a file in an image")]
    Path(String),
    #[error("`{0}` is there already, and is something else")]
    Taken(String),
}

impl Tree {
    /// Creates a tree with the links of a merged /usr.
    pub(crate) fn new() -> Self {
        let folders = MERGED.map(|name| (format!("usr/{name}"), Node::Folder));
        let links = MERGED.map(|name| (name.to_owned(), Node::Symlink(format!("usr/{name}"))));
        let usr = ("usr".to_owned(), Node::Folder);
        Self { nodes: folders.into_iter().chain(links).chain([usr]).collect() }
    }

    /// Puts something at a path, with the folders above it. The same thing may be put there twice.
    pub(crate) fn place(&mut self, path: &str, node: Node) -> Result<(), PlaceError> {
        let path = match &node {
            // A package may bring the links of a merged /usr itself.
            Node::Symlink(_) if MERGED.contains(&path) => path.to_owned(),
            Node::Symlink(target) if !is_text(target) => {
                return Err(PlaceError::Path(path.to_owned()));
            }
            _ => canonical(path)?,
        };
        for (slash, _) in path.match_indices('/') {
            let folder = &path[..slash];
            if *self.nodes.entry(folder.to_owned()).or_insert(Node::Folder) != Node::Folder {
                return Err(PlaceError::Taken(folder.to_owned()));
            }
        }
        match self.nodes.entry(path) {
            Entry::Vacant(vacant) => {
                vacant.insert(node);
                Ok(())
            }
            Entry::Occupied(there) if *there.get() == node => Ok(()),
            Entry::Occupied(there) => Err(PlaceError::Taken(there.key().clone())),
        }
    }

    /// Returns the entry at a path.
    pub(crate) fn get(&self, path: &str) -> Option<&Node> {
        self.nodes.get(&canonical(path).ok()?)
    }

    /// Returns the bytes of all files together.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.values().map(|node| node.body().len()).sum()
    }

    /// Returns the archive that the kernel unpacks:
    /// Documentation/driver-api/early-userspace/buffer-format.rst.
    pub(crate) fn archive(&self) -> std::io::Result<Vec<u8>> {
        let mut archive = Vec::with_capacity(self.bytes() + 256 * self.nodes.len());
        for (inode, (path, node)) in (1..).zip(&self.nodes) {
            let (kind, mode) = match node {
                Node::Folder => (ModeFileType::Directory, 0o755),
                Node::File { executable: true, .. } => (ModeFileType::Regular, 0o755),
                Node::File { executable: false, .. } => (ModeFileType::Regular, 0o644),
                Node::Symlink(_) => (ModeFileType::Symlink, 0o777),
            };
            let body = node.body();
            let length = u32::try_from(body.len()).map_err(std::io::Error::other)?;
            let entry = newc::Builder::new(path).ino(inode).mode(mode).set_mode_file_type(kind);
            let mut writer = entry.write(&mut archive, length);
            std::io::Write::write_all(&mut writer, body)?;
            writer.finish()?;
        }
        newc::trailer(&mut archive)?;
        Ok(archive)
    }
}

impl Node {
    fn body(&self) -> &[u8] {
        match self {
            Self::Folder => &[],
            Self::File { bytes, .. } => bytes,
            Self::Symlink(target) => target.as_bytes(),
        }
    }
}

/// Returns a path without a slash before it, in the merged /usr.
///
/// # Errors
///
/// [`PlaceError::Path`] for a path that names nothing or climbs.
pub(crate) fn canonical(path: &str) -> Result<String, PlaceError> {
    let plain = path.strip_prefix('/').unwrap_or(path);
    let sound = |part: &str| !matches!(part, "" | "." | "..");
    if !is_text(plain) || !plain.split('/').all(sound) {
        return Err(PlaceError::Path(path.to_owned()));
    }
    let first = plain.split('/').next().unwrap_or_default();
    Ok(if MERGED.contains(&first) { format!("usr/{plain}") } else { plain.to_owned() })
}

fn is_text(path: &str) -> bool {
    (1..=PATH_BYTES_MAX - "usr/".len()).contains(&path.len()) && !path.contains('\0')
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn file(text: &str) -> Node {
        Node::File { executable: false, bytes: text.into() }
    }

    /// Returns every entry of an archive and its content.
    fn entries(archive: &[u8]) -> Vec<(newc::Entry, Vec<u8>)> {
        let mut entries = Vec::new();
        let mut rest = archive;
        loop {
            let mut reader = newc::Reader::new(rest).unwrap();
            let entry = reader.entry().clone();
            if entry.is_trailer() {
                return entries;
            }
            let mut content = Vec::new();
            reader.read_to_end(&mut content).unwrap();
            entries.push((entry, content));
            rest = reader.finish().unwrap();
        }
    }

    #[test]
    fn the_archive_holds_the_tree() {
        let mut tree = Tree::new();
        tree.place("/etc/a.conf", file("12345")).unwrap();
        tree.place("etc/a", Node::Symlink("a.conf".into())).unwrap();
        tree.place("init", Node::File { executable: true, bytes: b"\x7fELF".into() }).unwrap();
        let entries = entries(&tree.archive().unwrap());
        let find = |path: &str| {
            let (entry, content) = entries.iter().find(|(entry, _)| entry.name() == path).unwrap();
            (entry.mode(), content.as_slice())
        };
        assert_eq!(find("etc"), (0o040_755, &b""[..]));
        assert_eq!(find("lib64"), (0o120_777, &b"usr/lib64"[..]));
        assert_eq!(find("etc/a.conf"), (0o100_644, &b"12345"[..]));
        assert_eq!(find("init"), (0o100_755, &b"\x7fELF"[..]));
        assert_eq!(find("etc/a"), (0o120_777, &b"a.conf"[..]));
        assert!(entries.iter().zip(1..).all(|((entry, _), inode)| entry.ino() == inode));
        assert!(entries.iter().all(|(e, _)| [e.uid(), e.gid(), e.mtime()] == [0, 0, 0]));
        assert!(entries.is_sorted_by_key(|(entry, _)| entry.name()));
    }

    #[test]
    fn the_order_of_placing_does_not_matter() {
        let mut trees = [Tree::new(), Tree::new()];
        let files = [("usr/bin/a", "1"), ("usr/bin-x", "2"), ("etc/b", "3")];
        files.iter().for_each(|(path, text)| trees[0].place(path, file(text)).unwrap());
        files.iter().rev().for_each(|(path, text)| trees[1].place(path, file(text)).unwrap());
        assert_eq!(trees[0].archive().unwrap(), trees[1].archive().unwrap());
    }

    #[test]
    fn old_paths_come_into_usr() {
        let mut tree = Tree::new();
        tree.place("lib/x86_64-linux-gnu/libc.so.6", file("libc")).unwrap();
        assert!(tree.get("usr/lib/x86_64-linux-gnu/libc.so.6").is_some());
        tree.place("lib", Node::Folder).unwrap();
        tree.place("lib", Node::Symlink("usr/lib".into())).unwrap();
        assert_eq!(tree.get("usr/lib"), Some(&Node::Folder));
    }

    #[test]
    fn what_conflicts_is_refused() {
        let mut tree = Tree::new();
        tree.place("etc/a", file("1")).unwrap();
        tree.place("etc/a", file("1")).unwrap();
        let taken = |path: &str| Err(PlaceError::Taken(path.into()));
        assert_eq!(tree.place("etc/a", file("2")), taken("etc/a"));
        assert_eq!(tree.place("etc/a/b", file("1")), taken("etc/a"));
        assert_eq!(tree.place("etc", Node::Symlink("/tmp".into())), taken("etc"));
    }

    #[test]
    fn paths_that_climb_or_name_nothing_are_refused() {
        for path in ["", "/", "a/../b", "..", "a//b", "a/./b", "a/", "a\0b", &"x".repeat(5000)] {
            let refused = Tree::new().place(path, file(""));
            assert!(matches!(refused, Err(PlaceError::Path(_))), "{path}");
        }
    }
}
