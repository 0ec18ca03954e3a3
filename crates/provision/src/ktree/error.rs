use std::{io, path::PathBuf};

use preemptlab_model::plain;

use crate::StoreError;

/// Reason why a tree of kernel source cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The folder holds no kernel.
    #[error(
        "`{}` is no kernel source: it has no {lacks}; name the folder with the kernel's Makefile, or \
         a repository", plain::line(&path.display().to_string())
    )]
    NotAKernel {
        /// The folder.
        path: PathBuf,
        /// A file of every kernel.
        lacks: &'static str,
    },
    /// The folder is in no repository.
    #[error(
        "`{}` is no git repository ({complaint}); name a clone, or build a working tree with \
         `tree:`", plain::line(&path.display().to_string())
    )]
    NotARepository {
        /// The folder.
        path: PathBuf,
        /// git's own complaint.
        complaint: String,
    },
    /// The repository lacks a revision.
    #[error(
        "the repository `{}` has no revision `{revision}`{}", plain::line(&path.display().to_string()),
        match shallow {
            true => "; it is a shallow clone, and `git fetch --unshallow` brings the rest",
            false => "; `git fetch --tags` brings new ones",
        }
    )]
    NoRevision {
        /// The folder.
        path: PathBuf,
        /// The revision that was asked for.
        revision: String,
        /// Whether the clone lacks a part of the history.
        shallow: bool,
    },
    /// The tree has changes, and shall have none.
    #[error(
        "the tree `{}` has changes that are not committed ({changed}), and `,clean` refuses them: \
         commit or stash them, or leave `,clean` out", plain::line(&path.display().to_string())
    )]
    Dirty {
        /// The tree.
        path: PathBuf,
        /// The first changed file, and how many there are.
        changed: String,
    },
    /// A tree without a repository is never known to be clean.
    #[error(
        "the tree `{}` is in no git repository, so nothing can say that it is clean: leave `,clean` \
         out", plain::line(&path.display().to_string())
    )]
    NeverClean {
        /// The tree.
        path: PathBuf,
    },
    /// A file of the tree cannot be read.
    #[error("`{}` cannot be read: {error}", plain::line(&path.display().to_string()))]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The tree was written to meanwhile.
    #[error("`{0}` changed while it was copied; run the command again")]
    Changing(String),
    /// The source cannot be a kernel's.
    #[error("the source is refused: {0}")]
    Refused(&'static str),
    /// git cannot be started.
    #[error("`git` cannot be run ({0}); install Debian's package git")]
    NoGit(io::Error),
    /// git failed.
    #[error("git failed: {0}")]
    Git(String),
    /// git was ended from outside.
    #[error("interrupted while a kernel's source was read")]
    Interrupted,
    /// The store cannot be written to.
    #[error(transparent)]
    Store(#[from] StoreError),
}
