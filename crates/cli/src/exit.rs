//! Exit codes, and which one each error of a library leads to.

use std::{fmt::Display, process::ExitCode};

use preemptlab_analysis::{Error, meant::no_recording};
use preemptlab_apply::Error as ApplyError;
use preemptlab_calibrate::CalibrateError;
use preemptlab_lab::PrepareError;
use preemptlab_lab::bisect::BisectError;
use preemptlab_provision::{StoreError, TreeError};
use preemptlab_recording::RecordingError;
use preemptlab_runner::RunError;

/// Everything was done.
pub const OK: u8 = 0;
/// The answer is no: digests differ, or something is missing.
pub const NO: u8 = 1;
/// The command line, an experiment or a recording cannot be used.
pub const UNUSABLE: u8 = 2;
/// Some cells failed, or none could be executed; the others are there.
pub const CELLS_FAILED: u8 = 3;
/// The machine or a mirror got in the way.
pub const HOST: u8 = 4;
/// A bug of preemptlab, as the standard library has it.
pub const PANICKED: u8 = 101;
/// Interrupted.
pub const INTERRUPTED: u8 = 130;

/// The reader of standard output has gone before all was written, as in `| head`: what a shell reports
/// of a program that SIGPIPE ends.
pub const CUT_OFF: u8 = 141;

/// An error with the code that the process exits with.
#[derive(Debug)]
pub struct Failure {
    /// One of the constants above.
    pub code: u8,
    /// The message.
    pub report: miette::Report,
}

/// Result of a command.
pub type Result<T = ExitCode> = std::result::Result<T, Failure>;

impl Failure {
    fn new(code: u8, error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { code, report: miette::Report::from_err(error) }
    }
}

/// Returns the failure of what the user gave.
pub fn unusable(message: impl Display) -> Failure {
    failure(UNUSABLE, message)
}

/// Returns the failure of this machine.
pub fn host(message: impl Display) -> Failure {
    failure(HOST, message)
}

/// Returns a failure from words alone.
pub fn failure(code: u8, message: impl Display) -> Failure {
    Failure { code, report: miette::miette!("{message}") }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::Recording(error) => return error.into(),
            Error::No(_) => NO,
            Error::Unmeasured(_) => CELLS_FAILED,
            Error::Machine(_) => HOST,
            _ => UNUSABLE,
        };
        Self::new(code, error)
    }
}

/// A disk that is full is the machine's fault, a folder of something else the user's.
impl From<RecordingError> for Failure {
    fn from(error: RecordingError) -> Self {
        if let RecordingError::Absent(path) = &error {
            return unusable(no_recording(path));
        }
        let code = match error {
            RecordingError::Io { .. } | RecordingError::Busy { .. } => HOST,
            _ => UNUSABLE,
        };
        Self::new(code, error)
    }
}

/// A repository is the user's, the folder of the search this machine's.
impl From<BisectError> for Failure {
    fn from(error: BisectError) -> Self {
        let code = match error {
            BisectError::Tree(TreeError::Interrupted) => INTERRUPTED,
            BisectError::Tree(TreeError::NoGit(_) | TreeError::Store(_))
            | BisectError::Busy { .. }
            | BisectError::Git(_)
            | BisectError::Write { .. } => HOST,
            _ => UNUSABLE,
        };
        Self::new(code, error)
    }
}

impl From<PrepareError> for Failure {
    fn from(error: PrepareError) -> Self {
        let code = match error {
            PrepareError::Recording(error) => return error.into(),
            PrepareError::NotOfExperiment(_) => UNUSABLE,
            _ if error.is_interrupted() => INTERRUPTED,
            _ if error.is_of_other_inputs() || error.is_refused() => UNUSABLE,
            _ => HOST,
        };
        Self::new(code, error)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let code = match error {
            RunError::Recording(error) => return error.into(),
            RunError::NotOfExperiment(_) => UNUSABLE,
            RunError::Cancelled => INTERRUPTED,
            RunError::Host(_) | RunError::Different(_) | RunError::Other(_) => HOST,
        };
        Self::new(code, error)
    }
}

impl From<CalibrateError> for Failure {
    fn from(error: CalibrateError) -> Self {
        let code = if matches!(error, CalibrateError::Interrupted) { INTERRUPTED } else { HOST };
        Self::new(code, error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let code = match error {
            StoreError::NoParent { .. } | StoreError::Path(_) => UNUSABLE,
            _ => HOST,
        };
        Self::new(code, error)
    }
}

impl From<ApplyError> for Failure {
    fn from(error: ApplyError) -> Self {
        let code = match error {
            ApplyError::Changed { .. } => NO,
            ApplyError::NotTaken(_) | ApplyError::RunTime { .. } => UNUSABLE,
            _ => HOST,
        };
        failure(code, error)
    }
}

/// Puts a code on an error of no library of this workspace.
pub trait OrExit<T> {
    /// Returns the value, or a failure with that code.
    fn or_exit(self, code: u8) -> Result<T>;
}

impl<T, E: std::error::Error + Send + Sync + 'static> OrExit<T> for std::result::Result<T, E> {
    fn or_exit(self, code: u8) -> Result<T> {
        self.map_err(|error| Failure::new(code, error))
    }
}
