//! Exit codes and the errors that lead to them.

use std::process::ExitCode;

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
    /// What to print.
    pub report: miette::Report,
}

/// How a command ends.
pub type Result<T = ExitCode> = std::result::Result<T, Failure>;

/// Puts a code on an error.
pub trait OrExit<T> {
    /// The value, or a failure with that code.
    fn or_exit(self, code: u8) -> Result<T>;
}

impl<T, E: std::error::Error + Send + Sync + 'static> OrExit<T> for std::result::Result<T, E> {
    fn or_exit(self, code: u8) -> Result<T> {
        self.map_err(|error| Failure { code, report: miette::Report::from_err(error) })
    }
}

/// A failure from words alone.
pub fn failure(code: u8, message: impl std::fmt::Display) -> Failure {
    Failure { code, report: miette::miette!("{message}") }
}
