//! The files of a commit, found by names that are hashes: from the commit to its folders, and from
//! these to the names of the files.

use std::{collections::BTreeMap, io};

use super::{
    Git, TreeError,
    object_id::{Format, ObjectId, ObjectKind},
    objects::{Objects, tree_of},
    paths::{Bound, Kind, NO_TEXT, ODD, is_plain},
};

/// The most folders of a commit, and the most bytes that describe them. Linux has some 6,000 with
/// 5 MiB.
const FOLDERS_MAX: usize = 100_000;
const FOLDER_BYTES_MAX: usize = 64 << 20;

/// The files of a commit with the names of their contents.
pub(crate) type Files = BTreeMap<String, (Kind, ObjectId)>;

/// A row of a folder in a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row<'a> {
    /// A file with its path's last component.
    File(&'a str, Kind, ObjectId),
    /// A folder.
    Folder(&'a str, ObjectId),
    /// A commit of another repository.
    Submodule,
}

/// Reads a folder: rows of `<mode> <name>\0<id>`.
pub(super) fn rows(content: &[u8], format: Format) -> Result<Vec<Row<'_>>, TreeError> {
    let refused = || TreeError::Refused(ODD);
    let mut rows = Vec::new();
    let mut rest = content;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == 0).ok_or_else(refused)?;
        let (head, after) = (&rest[..end], &rest[end + 1..]);
        let (id, after) = after.split_at_checked(format.id_bytes()).ok_or_else(refused)?;
        let id = ObjectId::from_bytes(id).ok_or_else(refused)?;
        let blank = head.iter().position(|byte| *byte == b' ').ok_or_else(refused)?;
        let mode = std::str::from_utf8(&head[..blank]).ok();
        let mode = mode.filter(|mode| mode.bytes().all(|byte| byte.is_ascii_digit()));
        let mode = mode.and_then(|mode| u32::from_str_radix(mode, 8).ok()).ok_or_else(refused)?;
        let name = std::str::from_utf8(&head[blank + 1..]);
        let name = name.map_err(|_| TreeError::Refused(NO_TEXT))?;
        if !is_plain(name) || name.contains('/') {
            return Err(refused());
        }
        rows.push(match mode & 0o170_000 {
            0o040_000 => Row::Folder(name, id),
            0o100_000 if mode & 0o100 != 0 => Row::File(name, Kind::Executable, id),
            0o100_000 => Row::File(name, Kind::File, id),
            0o120_000 => Row::File(name, Kind::Link, id),
            0o160_000 => Row::Submodule,
            _ => return Err(refused()),
        });
        rest = after;
    }
    Ok(rows)
}

/// Lists the files of a commit. Each object on the way to them has the hash of its name.
pub(crate) fn files(git: &Git, commit: ObjectId) -> Result<Files, TreeError> {
    let format = git.format;
    let mut objects = Objects::of(git, false)?;
    let content = objects.read(commit, ObjectKind::Commit)?;
    let root = tree_of(&content).ok_or_else(|| TreeError::Forged(commit.to_string()))?;
    let (mut files, mut bound) = (Files::new(), Bound::default());
    let (mut folders, mut bytes) = (0, 0);
    let mut level = vec![(String::new(), root)];
    while !level.is_empty() {
        folders += level.len();
        if folders > FOLDERS_MAX {
            return Err(TreeError::Refused("it has too many folders"));
        }
        let ids: Vec<_> = level.iter().map(|(_, id)| *id).collect();
        let mut next = Vec::new();
        objects.each(&ids, ObjectKind::Tree, |at, content| {
            bytes += content.len();
            if bytes > FOLDER_BYTES_MAX {
                return Err(TreeError::Refused("its folders are too large"));
            }
            for row in rows(&content, format)? {
                match row {
                    Row::Submodule => {}
                    Row::Folder(name, id) => {
                        let path = format!("{}{name}/", level[at].0);
                        bound.path(&path)?;
                        next.push((path, id));
                        if folders + next.len() > FOLDERS_MAX {
                            return Err(TreeError::Refused("it has too many folders"));
                        }
                    }
                    Row::File(name, kind, id) => {
                        let path = format!("{}{name}", level[at].0);
                        bound.path(&path)?;
                        files.insert(path, (kind, id));
                    }
                }
            }
            Ok(())
        })?;
        level = next;
    }
    Ok(files)
}

/// Reads a file of a commit.
pub(crate) fn file(git: &Git, commit: ObjectId, path: &str) -> Result<Vec<u8>, TreeError> {
    let format = git.format;
    let mut objects = Objects::of(git, false)?;
    let content = objects.read(commit, ObjectKind::Commit)?;
    let mut folder = tree_of(&content).ok_or_else(|| TreeError::Forged(commit.to_string()))?;
    let absent = || TreeError::Read { path: path.into(), error: io::ErrorKind::NotFound.into() };
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        let content = objects.read(folder, ObjectKind::Tree)?;
        let rows = rows(&content, format)?;
        let found = rows.iter().find_map(|row| match row {
            Row::Folder(name, id) if *name == part && parts.peek().is_some() => Some((None, *id)),
            Row::File(name, kind, id) if *name == part && parts.peek().is_none() => {
                Some((Some(*kind), *id))
            }
            _ => None,
        });
        match found.ok_or_else(absent)? {
            (None, id) => folder = id,
            (Some(_), id) => return objects.read(id, ObjectKind::Blob),
        }
    }
    Err(absent())
}
