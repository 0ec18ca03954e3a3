use std::{io, path::PathBuf};

use preemptlab_files::FolderError;
use preemptlab_provision::TreeError;

/// Reason why a search cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum BisectError {
    /// The repository or a revision cannot be used.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The good commit is not an ancestor of the bad one.
    #[error(
        "{good} (good) is no ancestor of {bad} (bad): {}", match reversed {
            true => "it is the other way round; the older one stands first",
            false => "the two have different histories, and git can bisect only one",
        }
    )]
    NotRelated {
        /// The good revision.
        good: String,
        /// The bad revision.
        bad: String,
        /// Whether the bad one is an ancestor of the good one.
        reversed: bool,
    },
    /// Both revisions are one commit.
    #[error("good and bad are the same commit {0}: nothing lies between them")]
    Same(String),
    /// Some commits between the two are missing.
    #[error(
        "the repository lacks a part of the history between {good} and {bad}; it is a shallow clone, and \
         `git fetch --unshallow` brings the rest"
    )]
    Shallow {
        /// The good revision.
        good: String,
        /// The bad revision.
        bad: String,
    },
    /// The folder holds a search for something else.
    #[error(
        "`{}` holds another search; choose another folder with --out, or remove it",
        path.display()
    )]
    Other {
        /// The folder.
        path: PathBuf,
    },
    /// Another process searches there.
    #[error("another process bisects in `{}`{}", path.display(), match by {
        Some(by) => format!(" ({by})"),
        None => String::new(),
    })]
    Busy {
        /// The folder.
        path: PathBuf,
        /// The process, if it is known.
        by: Option<String>,
    },
    /// The journal is not one.
    #[error("`{}` cannot be read: {reason}; remove it to begin anew", path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// git said something unexpected.
    #[error("git bisect failed: {0}")]
    Git(String),
    /// Something stands in the place of a folder to write to that is not this user's own.
    #[error(transparent)]
    NotOwn(FolderError),
    /// The folder cannot be written to.
    #[error("`{}` cannot be written to: {error}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
}

impl From<FolderError> for BisectError {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Io { path, error } => Self::Write { path, error },
            error => Self::NotOwn(error),
        }
    }
}
