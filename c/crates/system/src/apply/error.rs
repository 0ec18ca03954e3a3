use std::{io, path::PathBuf};

use preemptlab_model::plain::{BREAK, broken};

/// Reason why nothing was changed, or why a change is unfinished.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The boot configuration of this system is another program's to change.
    #[error("{reason}; {instead}")]
    Unsupported {
        /// Reason, in words.
        reason: String,
        /// Way to do it on this system.
        instead: String,
    },
    /// The user is not root.
    #[error("only root may change the settings of a machine; try `sudo preemptlab system {verb}`")]
    NotRoot {
        /// Name of the command.
        verb: &'static str,
    },
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        #[source]
        error: io::Error,
    },
    /// Another process changes the settings.
    #[error("{holder} is changing the settings of this machine; wait until it has ended")]
    Busy {
        /// Process that holds the lock, with its number where it is known.
        holder: String,
    },
    /// A program of the system failed.
    #[error("{program} failed, and nothing was changed: {said}")]
    Program {
        /// Name of the program.
        program: &'static str,
        /// Last output of the program.
        said: String,
    },
    /// The generated boot configuration does not have the settings.
    #[error("nothing was changed: {0}")]
    NotTaken(String),
    /// A file that was written here was changed by another user or program.
    #[error(
        "{path} was changed since it was applied; keep what you need of it, then \
         `preemptlab system revert --force` discards the change:{}{}",
        BREAK,
        broken(diff)
    )]
    Changed {
        /// Path of the file.
        path: String,
        /// Difference between the applied content and the present one.
        diff: String,
    },
    /// The kernel to boot is not there.
    #[error("the kernel {release} is not installed here; {next}")]
    NoKernel {
        /// Release of the kernel.
        release: String,
        /// Next step, which installs it.
        next: String,
    },
    /// A setting cannot be set at run time.
    #[error("{setting} cannot be set: {reason}")]
    RunTime {
        /// Setting that cannot be set.
        setting: String,
        /// Reason, in words.
        reason: String,
    },
    /// The journal cannot be used.
    #[error("the journal {path} cannot be used: {reason}")]
    Journal {
        /// Path of the file.
        path: String,
        /// Reason, in words.
        reason: String,
    },
    /// A change failed, and the files that were changed before could not be put back either.
    #[error(
        "{failure}; and putting back what was there failed, too: {again}. When there is space, \
         `preemptlab system revert` completes it"
    )]
    Unfinished {
        /// Error of the change.
        failure: Box<Self>,
        /// Error of putting the files back.
        again: Box<Self>,
    },
}

/// Result of the functions of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::File { path: path.into(), error }
    }
}
