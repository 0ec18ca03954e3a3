use std::path::PathBuf;

use preemptlab_recording::RecordingError;

/// Reason why an engine did not execute a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The engine does not answer for now, and may have executed the request.
    #[error("{0}")]
    Away(String),
    /// The user's arguments are unusable.
    #[error("{0}")]
    Unusable(String),
    /// The engine is unavailable here, or refuses for a reason of its own, such as a quota.
    #[error("{0}")]
    Refused(String),
}

/// Reason why a round ended early. Every cell that was finished is in its part.
#[derive(Debug, thiserror::Error)]
pub enum RoundError {
    /// The user ended the round, and its jobs are cancelled.
    #[error("interrupted{}; the same command resumes from here", cancelled(.0))]
    Interrupted(Vec<String>),
    /// The user ended the round, and its jobs could not be cancelled.
    #[error("interrupted, and {jobs} could not be cancelled: {error}")]
    NotCancelled {
        /// The jobs, in words.
        jobs: String,
        /// Reason, in words.
        error: EngineError,
    },
    /// The engine said no.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The jobs of the recording are another user's or another cluster's, or none are there.
    #[error("{0}")]
    Jobs(String),
    /// The file of the jobs is damaged.
    #[error("{} cannot be read: {reason}; remove it and run the same command again, which may execute \
        cells that a job is executing now", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Damage, in words.
        reason: String,
    },
    /// A part or the recording cannot be read or written to.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The operating system says no.
    #[error("cannot {action} {}: {error}", path.display())]
    Io {
        /// Action that failed, as a verb.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        error: std::io::Error,
    },
}

impl RoundError {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |error| Self::Io { action, path, error }
    }
}

fn cancelled(jobs: &[String]) -> String {
    match jobs {
        [] => String::new(),
        [job] => format!(", job {job} is cancelled"),
        jobs => format!(", jobs {} are cancelled", jobs.join(", ")),
    }
}
