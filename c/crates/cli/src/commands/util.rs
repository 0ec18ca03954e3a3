//! `preemptlab util`: the configuration, capsules, and files for packages and shells.

mod completions;
mod man;
mod pack;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Command, Subcommand};
use clap_complete::Shell;
use preemptlab_lab::Config;

use crate::{exit, output::Output};

/// Show the configuration, pack recordings, and write completions and man pages
#[derive(Debug, Args)]
pub struct Util {
    /// Command
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs beside those that measure.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Print every setting and the file that sets it, as the text of such a file
    #[command(after_help = AFTER_CONFIG)]
    Config,
    Pack(pack::Pack),
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

const AFTER_CONFIG: &str = "\
The first of these that sets a key holds: --set and --store; preemptlab.toml, in this folder or in one above
it, which may set jobs and margins; $XDG_CONFIG_HOME/preemptlab/config.toml or ~/.config/preemptlab/config.toml.

Examples:
  preemptlab util config
  preemptlab util config --set jobs=1";

/// Executes the verb for this command line. The configuration is read where a verb needs it.
pub fn execute(
    args: &Util,
    config: impl FnOnce() -> exit::Result<Config>,
    line: &mut Command,
    output: &Output,
) -> exit::Result<ExitCode> {
    match &args.verb {
        Verb::Config => output.data(&config()?.to_toml()),
        Verb::Pack(args) => pack::execute(args, &config()?, output),
        Verb::Completions { shell } => completions::execute(*shell, line, output),
        Verb::Man { folder } => man::execute(folder, line, output),
    }
}
