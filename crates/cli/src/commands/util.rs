//! `preemptlab util`: files for packages and shells.

mod completions;
mod man;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Command, Subcommand};
use clap_complete::Shell;

use crate::{exit, output::Output};

/// Write completions and man pages
#[derive(Debug, Args)]
pub struct Util {
    /// Command
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs for packages and shells.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the man pages
    Man {
        /// The folder to write to
        folder: PathBuf,
    },
}

/// Executes the verb for this command line.
pub fn execute(args: &Util, line: &mut Command, output: &Output) -> exit::Result<ExitCode> {
    match &args.verb {
        Verb::Completions { shell } => completions::execute(*shell, line, output),
        Verb::Man { folder } => man::execute(folder, line, output),
    }
}
