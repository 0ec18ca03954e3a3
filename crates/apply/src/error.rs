use std::{io, path::PathBuf};

/// Why nothing was done, or what is left to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This system's boot configuration is not preemptlab's to change.
    #[error("{reason}; {instead}")]
    Unsupported {
        /// Why.
        reason: String,
        /// What to do instead.
        instead: String,
    },
    /// Only root may.
    #[error("only root may change the settings of a machine; try `sudo preemptlab {verb}`")]
    NotRoot {
        /// The verb.
        verb: &'static str,
    },
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// Somebody else is at it.
    #[error("{holder} is changing the settings of this machine; wait until it has ended")]
    Busy {
        /// Who, with the process's number where it is known.
        holder: String,
    },
    /// A program of the system failed.
    #[error("{program} failed, and nothing was changed: {said}")]
    Program {
        /// Which.
        program: &'static str,
        /// The end of what it said.
        said: String,
    },
    /// What was generated does not do what it should.
    #[error("nothing was changed: {0}")]
    NotTaken(String),
    /// A file that was written here was changed by somebody else.
    #[error(
        "{path} was changed since it was applied; keep what you need of it, then \
         `preemptlab revert --force` discards the change:\n{diff}"
    )]
    Changed {
        /// Which.
        path: String,
        /// What was changed.
        diff: String,
    },
    /// The kernel to boot is not there.
    #[error("the kernel {release} is not installed here; {next}")]
    NoKernel {
        /// Its release.
        release: String,
        /// How to install it.
        next: String,
    },
    /// A setting cannot be set at run time.
    #[error("{setting} cannot be set: {reason}")]
    RunTime {
        /// Which.
        setting: String,
        /// Why.
        reason: String,
    },
    /// The journal cannot be used.
    #[error("the journal {path} cannot be used: {reason}")]
    Journal {
        /// Which.
        path: String,
        /// Why.
        reason: String,
    },
    /// It failed, and what was changed before could not be put back either.
    #[error(
        "{failure}; and putting back what was there failed, too: {again}. When there is space, \
         `preemptlab revert` completes it"
    )]
    Unfinished {
        /// What failed first.
        failure: Box<Self>,
        /// What failed then.
        again: Box<Self>,
    },
}

/// How everything here ends.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::File { path: path.into(), error }
    }
}
