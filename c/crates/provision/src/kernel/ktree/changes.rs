//! The difference between a working tree and its commit, by the contents of both: no list of git's,
//! no time of a file and no filter has a say.

use std::{collections::BTreeSet, ffi::OsStr};

use preemptlab_model::plain;

use super::{
    Git, TreeError,
    commit::Files,
    listing::{Entry, OfFolder},
    object_id::ObjectId,
    paths::{Kind, is_taken},
    repository::{quoted, write},
};

/// The most of a difference that a recording holds, in bytes.
const DIFF_BYTES_MAX: usize = 64 << 10;

/// The most files of which a difference is made: each takes more than 50 bytes of it.
const DIFF_FILES_MAX: usize = DIFF_BYTES_MAX / 50;

/// The most bytes of these files.
const CHANGED_BYTES_MAX: usize = 48 << 20;

/// The lines of the kernel's own `.gitattributes` about the heads of parts of a difference.
const ATTRIBUTES: &[u8] =
    b"*.c diff=cpp\n*.h diff=cpp\n*.dts diff=dts\n*.dtsi diff=dts\n*.rs diff=rust\n";

/// A file that differs from the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) path: String,
    before: Option<(Kind, ObjectId)>,
    after: Option<Entry>,
    /// Whether it is new, and not in git's index.
    is_untracked: bool,
}

/// Lists the files of a working tree that differ from the commit.
pub(super) fn changes(committed: &Files, present: &OfFolder) -> Vec<Change> {
    let present_at = |path: &str| {
        let (entry, id) = (present.listing.get(path)?, present.ids.get(path)?);
        Some((*entry, *id))
    };
    let paths: BTreeSet<&str> = committed
        .keys()
        .map(String::as_str)
        .filter(|path| is_taken(path))
        .chain(present.listing.iter().map(|(path, _)| path))
        .collect();
    let change = |path: &str| {
        let (before, after) = (committed.get(path).copied(), present_at(path));
        let is_same = before == after.map(|(entry, id)| (entry.kind, id));
        (!is_same).then(|| Change {
            path: path.to_owned(),
            before,
            after: after.map(|(entry, _)| entry),
            is_untracked: present.untracked.contains(path),
        })
    };
    paths.into_iter().filter_map(change).collect()
}

/// Returns the difference of the files that git knows, as `git diff HEAD` shows it without the
/// filters of the repository; `None` where it is larger than a recording holds. `read` returns the
/// content of a file of the working tree.
pub(super) fn diff(
    git: &Git,
    changes: &[Change],
    read: impl Fn(&str, Entry) -> Result<Vec<u8>, TreeError>,
) -> Result<Option<String>, TreeError> {
    let changes: Vec<_> = changes.iter().filter(|change| !change.is_untracked).collect();
    if changes.is_empty() || changes.len() > DIFF_FILES_MAX {
        return Ok(None);
    }
    let Some(stream) = stream(&changes, read)? else { return Ok(None) };
    write(&git.gitdir().join("info/attributes"), ATTRIBUTES)?;
    // A clone may lack the commit's content.
    if git.told(&["fast-import", "--quiet", "--force"], &stream)?.is_err() {
        return Ok(None);
    }
    let arguments = [
        "diff",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "refs/preemptlab/before",
        "refs/preemptlab/after",
    ];
    let said = git.ask(&arguments)?.unwrap_or_default();
    let is_whole = said.len() <= DIFF_BYTES_MAX && !said.is_empty();
    Ok(is_whole.then(|| plain::lines(&String::from_utf8_lossy(&said)).into_owned()))
}

/// Returns two commits for `git fast-import`, with the changed files before and after; `None` where
/// these have too many bytes.
fn stream(
    changes: &[&Change],
    read: impl Fn(&str, Entry) -> Result<Vec<u8>, TreeError>,
) -> Result<Option<Vec<u8>>, TreeError> {
    let head = |name: &str| {
        let who = "preemptlab <preemptlab@localhost.invalid> 0 +0000";
        format!("commit refs/preemptlab/{name}\ncommitter {who}\ndata 0\n").into_bytes()
    };
    let mut stream = head("before");
    for change in changes {
        if let Some((kind, id)) = change.before {
            stream.extend(format!("M {} {id} ", mode(kind)).bytes());
            stream.extend(path(change));
        }
    }
    stream.extend(head("after"));
    for change in changes {
        let Some(entry) = change.after else { continue };
        let bytes = read(&change.path, entry)?;
        if stream.len() + bytes.len() > CHANGED_BYTES_MAX {
            return Ok(None);
        }
        stream.extend(format!("M {} inline ", mode(entry.kind)).bytes());
        stream.extend(path(change));
        stream.extend(format!("data {}\n", bytes.len()).bytes());
        stream.extend(bytes);
        stream.push(b'\n');
    }
    Ok(Some(stream))
}

fn path(change: &Change) -> Vec<u8> {
    quoted(OsStr::new(&change.path))
}

const fn mode(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "100644",
        Kind::Executable => "100755",
        Kind::Link => "120000",
    }
}
