//! Exit codes, and which one each error of a library leads to.

use std::{fmt::Display, process::ExitCode};

use preemptlab_cluster::engine::RoundError;
use preemptlab_lab::{Blame, Mistake, PrepareError};
use preemptlab_model::plain;
use preemptlab_recording::RecordingError;
use preemptlab_runner::RunError;
use preemptlab_system::apply::Error as ApplyError;

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

/// The reader of standard output has gone before all was written, as in `| head`: the code that a
/// shell reports of a program that SIGPIPE ends.
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

/// Returns the failure of the user's input.
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

/// Returns the code that follows from whose fault an error is.
pub fn code(blame: Blame) -> u8 {
    match blame {
        Blame::No => NO,
        Blame::User => UNUSABLE,
        Blame::Cells => CELLS_FAILED,
        Blame::Machine => HOST,
        Blame::Interrupted => INTERRUPTED,
    }
}

impl From<preemptlab_lab::Error> for Failure {
    fn from(error: preemptlab_lab::Error) -> Self {
        let code = code(error.blame());
        match error.mistake() {
            Some(mistake) => Self { code, report: in_its_place(mistake) },
            None => Self::new(code, error),
        }
    }
}

/// Shows a mistake in a file in its place.
fn in_its_place(mistake: &Mistake) -> miette::Report {
    let Mistake { path, text, message, help, span } = mistake;
    // Places in the text stay places.
    let shown = |text: &str| plain::lines(text).into_owned();
    let label = miette::LabeledSpan::at(span.clone(), "here");
    let mut diagnostic = miette::MietteDiagnostic::new(shown(message)).with_label(label);
    if let Some(help) = help {
        diagnostic = diagnostic.with_help(shown(help));
    }
    let source =
        miette::NamedSource::new(shown(&path.display().to_string()), plain::lines_in_place(text));
    miette::Report::new(diagnostic).with_source_code(source)
}

/// Makes failures of errors whose blame the lab knows.
macro_rules! of_lab {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                preemptlab_lab::Error::from(error).into()
            }
        })*
    };
}

of_lab!(preemptlab_analysis::Error, RecordingError, PrepareError, RunError, RoundError);

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
