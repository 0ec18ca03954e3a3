//! The one error of this crate, which says whose fault it is.

use std::{fmt, ops::Range, path::PathBuf};

use preemptlab_analysis::meant::no_recording;
use preemptlab_calibrate::CalibrateError;
use preemptlab_cluster::engine::{EngineError, RoundError};
use preemptlab_provision::{StoreError, TreeError};
use preemptlab_recording::RecordingError;
use preemptlab_runner::RunError;

use crate::{PrepareError, bisect::BisectError};

/// Says whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The answer is no: digests differ, or something is missing.
    No,
    /// The user's: the command line, an experiment or a recording cannot be used.
    User,
    /// The cells': some failed, or none could be executed.
    Cells,
    /// The machine's or a mirror's.
    Machine,
    /// Nothing is at fault: the user ended the action.
    Interrupted,
}

/// Reason why an action ended early, and whose fault it is.
#[derive(Debug)]
pub struct Error {
    blame: Blame,
    cause: Box<dyn std::error::Error + Send + Sync>,
}

/// Result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error from its cause, which may be words alone.
    pub fn new(blame: Blame, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { blame, cause: cause.into() }
    }

    /// Creates an error of the user's from words.
    pub fn user(words: impl fmt::Display) -> Self {
        Self::new(Blame::User, words.to_string())
    }

    /// Creates an error of the machine's from words.
    pub fn machine(words: impl fmt::Display) -> Self {
        Self::new(Blame::Machine, words.to_string())
    }

    /// Returns whose fault it is.
    pub fn blame(&self) -> Blame {
        self.blame
    }

    /// Returns the place of the mistake, if the error is one in a file of the user's.
    pub fn mistake(&self) -> Option<&Mistake> {
        self.cause.downcast_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.source()
    }
}

/// Mistake in a file that the user wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Mistake {
    /// The file.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// The mistake, in words.
    pub message: String,
    /// A remedy.
    pub help: Option<String>,
    /// Where in the text it is.
    pub span: Range<usize>,
}

impl From<Mistake> for Error {
    fn from(mistake: Mistake) -> Self {
        Self::new(Blame::User, mistake)
    }
}

impl From<preemptlab_analysis::Error> for Error {
    fn from(error: preemptlab_analysis::Error) -> Self {
        use preemptlab_analysis::Error::{Machine, No, Recording, Unmeasured};
        let blame = match error {
            Recording(error) => return error.into(),
            No(_) => Blame::No,
            Unmeasured(_) => Blame::Cells,
            Machine(_) => Blame::Machine,
            _ => Blame::User,
        };
        Self::new(blame, error)
    }
}

/// A full disk is the machine's fault, a folder of something else the user's.
impl From<RecordingError> for Error {
    fn from(error: RecordingError) -> Self {
        if let RecordingError::Absent(path) = &error {
            return Self::user(no_recording(path));
        }
        let blame = match error {
            RecordingError::Io { .. } | RecordingError::Busy { .. } => Blame::Machine,
            _ => Blame::User,
        };
        Self::new(blame, error)
    }
}

impl From<PrepareError> for Error {
    fn from(error: PrepareError) -> Self {
        let blame = match error {
            PrepareError::Recording(error) => return error.into(),
            PrepareError::NotOfExperiment(_) => Blame::User,
            _ if error.is_interrupted() => Blame::Interrupted,
            _ if error.is_of_other_inputs() || error.is_refused() => Blame::User,
            _ => Blame::Machine,
        };
        Self::new(blame, error)
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        let blame = match error {
            RunError::Recording(error) => return error.into(),
            RunError::NotOfExperiment(_) => Blame::User,
            RunError::Cancelled => Blame::Interrupted,
            RunError::Host(_) | RunError::Different(_) | RunError::Other(_) => Blame::Machine,
        };
        Self::new(blame, error)
    }
}

impl From<RoundError> for Error {
    fn from(error: RoundError) -> Self {
        use EngineError::{Away, Refused, Unusable};
        let blame = match error {
            RoundError::Recording(error) => return error.into(),
            RoundError::Interrupted(_) | RoundError::NotCancelled { .. } => Blame::Interrupted,
            RoundError::Engine(Unusable(_)) | RoundError::Jobs(_) | RoundError::Damaged { .. } => {
                Blame::User
            }
            RoundError::Engine(Away(_) | Refused(_)) | RoundError::Io { .. } => Blame::Machine,
        };
        Self::new(blame, error)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let blame = match error {
            StoreError::NoParent { .. } | StoreError::Path(_) => Blame::User,
            _ => Blame::Machine,
        };
        Self::new(blame, error)
    }
}

impl From<CalibrateError> for Error {
    fn from(error: CalibrateError) -> Self {
        let blame = match error {
            CalibrateError::Interrupted => Blame::Interrupted,
            _ => Blame::Machine,
        };
        Self::new(blame, error)
    }
}

/// A repository is the user's, the folder of the search this machine's.
impl From<BisectError> for Error {
    fn from(error: BisectError) -> Self {
        let blame = match error {
            BisectError::Tree(TreeError::Interrupted) => Blame::Interrupted,
            BisectError::Tree(TreeError::NoGit(_) | TreeError::Store(_))
            | BisectError::Busy { .. }
            | BisectError::Git(_)
            | BisectError::Write { .. } => Blame::Machine,
            _ => Blame::User,
        };
        Self::new(blame, error)
    }
}

/// Says whose fault an error of another library is.
pub trait OrBlame<T> {
    /// Returns the value, or an error with this blame.
    ///
    /// # Errors
    ///
    /// When there is no value.
    fn or_blame(self, blame: Blame) -> Result<T>;
}

impl<T, E: std::error::Error + Send + Sync + 'static> OrBlame<T> for std::result::Result<T, E> {
    fn or_blame(self, blame: Blame) -> Result<T> {
        self.map_err(|error| Error::new(blame, error))
    }
}
