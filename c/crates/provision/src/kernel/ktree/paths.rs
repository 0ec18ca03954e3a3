//! Paths of a kernel's source: which are taken, and how many at most.

use serde::{Deserialize, Serialize};

use super::TreeError;

pub(super) const ODD: &str = "it has a path that leads elsewhere";
pub(super) const NO_TEXT: &str = "it has a path that is no text (UTF-8)";

/// The most files of a source, and the most bytes of their paths. Linux has some 90,000 files with
/// 4 MiB of paths.
const FILES_MAX: usize = 500_000;
const PATHS_BYTES_MAX: usize = 64 << 20;

/// The most folders on the way to a file.
pub(super) const DEPTH_MAX: u32 = 64;

/// Files of a kernel that was built in its own tree, which no other build may find there.
const BUILT: [&str; 5] =
    [".config", ".tmp_", "include/config/", "include/generated/", "Module.symvers"];

/// Kind of the file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    File,
    Executable,
    Link,
}

/// Counts paths within their bounds.
#[derive(Debug, Default)]
pub(super) struct Bound {
    paths: usize,
    bytes: usize,
}

impl Bound {
    /// Counts a path, and refuses one that no kernel has.
    pub(super) fn path(&mut self, path: &str) -> Result<(), TreeError> {
        self.paths += 1;
        self.bytes += path.len();
        let levels = path.trim_end_matches('/').matches('/').count();
        if self.paths > FILES_MAX {
            return Err(TreeError::Refused("it has too many files"));
        }
        if levels > DEPTH_MAX as usize {
            return Err(TreeError::Refused("it has a path of too many folders"));
        }
        match self.bytes > PATHS_BYTES_MAX {
            true => Err(TreeError::Refused("its paths are too long")),
            false => Ok(()),
        }
    }
}

/// Returns whether a path's component leads nowhere but to the named file.
pub(super) fn is_plain(part: &str) -> bool {
    !part.is_empty() && part != "." && part != ".." && !part.eq_ignore_ascii_case(".git")
}

/// Refuses a path that leads elsewhere.
pub(super) fn check(path: &str) -> Result<(), TreeError> {
    match path.split('/').all(is_plain) {
        true => Ok(()),
        false => Err(TreeError::Refused(ODD)),
    }
}

/// Returns whether a file is one of the source, and not of a build in its place.
pub(super) fn is_taken(path: &str) -> bool {
    let is_generated = path.starts_with("arch/") && path.contains("/include/generated/");
    !is_generated && !BUILT.iter().any(|built| path.starts_with(built))
}
