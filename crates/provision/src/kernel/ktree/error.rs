use std::{io, path::PathBuf};

use preemptlab_model::plain;

use super::{stranger::Stranger, watched::StopReason};
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
    /// The source is of a kernel that guests of this architecture cannot boot.
    #[error(
        "the guest is of {guest}, and the kernel source `{}` has no {lacks}{}",
        plain::line(&path.display().to_string()), match others.as_slice() {
            [] => "; name another folder or revision".to_owned(),
            others => format!(": run it with `--arch {}`, or name another folder or revision", others.join("` or `--arch ")),
        }
    )]
    NotOfGuest {
        /// The folder.
        path: PathBuf,
        /// The architecture of guests.
        guest: &'static str,
        /// A file of every kernel for it.
        lacks: String,
        /// Other architectures of guests that the source has.
        others: Vec<&'static str>,
    },
    /// A configuration of the user's own is for another architecture than the guest's.
    #[error(
        "the configuration `{}` is of {of}, and the guest is of {guest}: run it with `--arch {of}`, or name a \
         configuration of {guest}, such as `,config=lab`", plain::line(&path.display().to_string())
    )]
    OtherConfig {
        /// The file.
        path: PathBuf,
        /// The architecture that it is for.
        of: &'static str,
        /// The architecture of guests.
        guest: &'static str,
    },
    /// The folder is in no repository.
    #[error(
        "`{}` is no git repository, and is in none; name a clone, or build a working tree with \
         `tree:`", plain::line(&path.display().to_string())
    )]
    NotARepository {
        /// The folder.
        path: PathBuf,
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
        "the tree `{}` has changes that are not committed ({}), and `,clean` refuses them: commit or \
         stash them, or leave `,clean` out", plain::line(&path.display().to_string()),
        plain::line(changed)
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
    /// Others can write to the source, and its scripts are not allowed.
    #[error(
        "{stranger}: `{}` would be built by the Makefile of this source, which can run any command; \
         look at it, and allow it with --allow-build-scripts",
        plain::line(name)
    )]
    Foreign {
        /// Name of the kernel.
        name: String,
        /// The file, and the users who can write to it.
        stranger: Stranger,
    },
    /// The source cannot be a kernel's.
    #[error("the source is refused: {0}")]
    Refused(&'static str),
    /// git cannot be started.
    #[error("`git` cannot be run ({0}); install Debian's package git")]
    NoGit(io::Error),
    /// git failed.
    #[error("git failed: {}", plain::line(_0))]
    Git(String),
    /// git was stopped.
    #[error("git was stopped while it read `{}`: {}", plain::line(&path.display().to_string()), match reason {
        StopReason::Waits => "it waited for something that does not come. Look for a pipe, a socket \
            or a device in the place of a file: `find . -type p,s,c,b` in that folder lists them"
            .to_owned(),
        StopReason::Slow => "it took more than 10 minutes; name a smaller repository, such as a \
            shallow clone".to_owned(),
        StopReason::Cpu(seconds) => format!(
            "it computed for more than {seconds} s. Patterns without bound in a .gitignore do that: \
             look at these files"
        ),
        StopReason::Memory(mib) => format!(
            "it needed more than {mib} MiB of memory. An object that unfolds without bound does that: \
             clone the repository again from where it comes"
        ),
        StopReason::Output(mib) => format!(
            "it said more than {mib} MiB. A kernel's source has fewer files: look at the folder"
        ),
    })]
    Stopped {
        /// The tree or the repository.
        path: PathBuf,
        /// Reason for the stop.
        reason: StopReason,
    },
    /// An object does not have the hash of its name.
    #[error(
        "the repository does not hold what the name {0} stands for: it is damaged or forged; clone it \
         again from where it comes"
    )]
    Forged(String),
    /// An object is missing.
    #[error("the repository lacks the object {id}{}", match is_partial {
        true => "; it is a partial clone, and `git fetch --refetch --no-filter` brings the rest",
        false => ": it is damaged; clone it again from where it comes",
    })]
    Missing {
        /// The object.
        id: String,
        /// Whether the clone lacks objects on purpose.
        is_partial: bool,
    },
    /// A file or an object is larger than any of a kernel's.
    #[error(
        "{} is larger than {mib} MiB, and no file of a kernel's is; take it away",
        plain::line(what)
    )]
    TooLarge {
        /// The file or object.
        what: String,
        /// The most, in MiB.
        mib: u64,
    },
    /// git was ended from outside.
    #[error("interrupted while a kernel's source was read")]
    Interrupted,
    /// The store cannot be written to.
    #[error(transparent)]
    Store(#[from] StoreError),
}
