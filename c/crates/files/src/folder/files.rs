use std::collections::BTreeMap;

use super::{
    FilesError,
    error::{BYTES_MAX, NODES_MAX},
};

/// The most bytes of a path or a link's target.
const PATH_BYTES_MAX: usize = 1_000;

/// The most bytes of an archive: besides its content, each entry has a header and padding, and both
/// again for a long path or target.
pub const ARCHIVE_BYTES_MAX: u64 = BYTES_MAX + (NODES_MAX as u64 + 2) * 8 * 512;

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A folder.
    Folder,
    /// A regular file.
    File {
        /// Whether the file may be executed.
        executable: bool,
        /// Content of the file.
        bytes: Vec<u8>,
    },
    /// A symbolic link to this path, which is relative and does not lead out of the folder.
    Symlink(String),
}

/// The files of a folder by their paths in it, without owners and dates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    nodes: BTreeMap<String, Node>,
    bytes: u64,
}

impl Files {
    /// Inserts an entry at a path, together with the folders above it.
    ///
    /// # Errors
    ///
    /// [`FilesError`] when the path or the link is not allowed, the path is taken, or a bound is
    /// reached.
    pub fn insert(&mut self, path: &str, node: Node) -> Result<(), FilesError> {
        if !is_sound(path) {
            return Err(FilesError::Path(path.to_owned()));
        }
        if let Node::Symlink(target) = &node
            && !stays(path, target)
        {
            return Err(FilesError::Leaves { path: path.to_owned(), target: target.clone() });
        }
        if let Node::File { bytes, .. } = &node {
            self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        }
        if self.bytes > BYTES_MAX {
            return Err(FilesError::TooLarge);
        }
        for (slash, _) in path.match_indices('/') {
            self.put(&path[..slash], Node::Folder)?;
        }
        self.put(path, node)
    }

    /// Inserts one entry. Only a folder may be inserted twice.
    fn put(&mut self, path: &str, node: Node) -> Result<(), FilesError> {
        match self.nodes.get(path) {
            Some(Node::Folder) if node == Node::Folder => return Ok(()),
            Some(_) => return Err(FilesError::Twice(path.to_owned())),
            None => {}
        }
        if self.nodes.len() >= NODES_MAX {
            return Err(FilesError::TooMany);
        }
        self.nodes.insert(path.to_owned(), node);
        Ok(())
    }

    /// Removes the entry at a path and returns it.
    pub fn remove(&mut self, path: &str) -> Option<Node> {
        let node = self.nodes.remove(path)?;
        if let Node::File { bytes, .. } = &node {
            self.bytes -= bytes.len() as u64;
        }
        Some(node)
    }

    /// Iterates over the entries in the order of their paths: a folder before its entries.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.nodes.iter().map(|(path, node)| (path.as_str(), node))
    }

    /// Returns how many more bytes may be inserted.
    pub(crate) fn room(&self) -> u64 {
        BYTES_MAX - self.bytes
    }
}

/// Returns whether a path is relative, does not climb, and shows every character to a reader.
fn is_sound(path: &str) -> bool {
    let is_name = |part: &str| !matches!(part, "" | "." | "..");
    path.len() <= PATH_BYTES_MAX
        && !path.contains(|c: char| c.is_control())
        && path.split('/').all(is_name)
}

/// Returns whether a link's target, read as text, stays in the folder.
fn stays(path: &str, target: &str) -> bool {
    if target.is_empty()
        || target.len() > PATH_BYTES_MAX
        || target.starts_with('/')
        || target.contains(|c: char| c.is_control())
    {
        return false;
    }
    let mut depth = path.matches('/').count();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." if depth == 0 => return false,
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(length: usize) -> Node {
        Node::File { executable: false, bytes: vec![0; length] }
    }

    fn link(target: &str) -> Node {
        Node::Symlink(target.to_owned())
    }

    #[test]
    fn folders_come_with_what_is_in_them() {
        let mut files = Files::default();
        files.insert("a/b/c", file(1)).unwrap();
        files.insert("a/b", Node::Folder).unwrap();
        let paths: Vec<_> = files.iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["a", "a/b", "a/b/c"]);
        assert!(matches!(files.insert("a/b", file(1)), Err(FilesError::Twice(_))));
        assert!(matches!(files.insert("a/b/c/d", file(1)), Err(FilesError::Twice(_))));
    }

    #[test]
    fn paths_that_climb_or_name_nothing_are_refused() {
        for path in ["", "/a", "a/../b", "..", "a//b", "a/./b", "a/", "a\nb", &"x".repeat(1001)] {
            let refused = Files::default().insert(path, file(0));
            assert!(matches!(refused, Err(FilesError::Path(_))), "{path}");
        }
    }

    #[test]
    fn links_may_not_leave() {
        for (path, target) in [
            ("a", ".."),
            ("a", "/etc/passwd"),
            ("a", ""),
            ("a/b", "../../c"),
            ("a/b", "../c/../../d"),
            ("a", "b\0"),
        ] {
            let refused = Files::default().insert(path, link(target));
            assert!(matches!(refused, Err(FilesError::Leaves { .. })), "{path} to {target}");
        }
        for (path, target) in [("a", "b"), ("a/b", "../c"), ("a/b", "./d//e/../f"), ("a/b", "..")] {
            Files::default().insert(path, link(target)).unwrap();
        }
    }

    #[test]
    fn what_there_is_has_bounds() {
        let mut files = Files::default();
        files.insert("most", file(BYTES_MAX as usize)).unwrap();
        assert!(matches!(files.clone().insert("more", file(1)), Err(FilesError::TooLarge)));
        files.remove("most").unwrap();
        files.insert("more", file(1)).unwrap();
        for number in 1..NODES_MAX {
            files.insert(&number.to_string(), file(0)).unwrap();
        }
        assert!(matches!(files.insert("last", file(0)), Err(FilesError::TooMany)));
    }
}
