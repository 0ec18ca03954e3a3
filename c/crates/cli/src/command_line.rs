//! The command line, of which completions and the man pages are made. Each verb's arguments are beside what
//! it does.

use std::{ffi::OsString, path::PathBuf};

use clap::{
    ArgMatches, Command as Line, CommandFactory, Error, FromArgMatches, Parser, error::ErrorKind,
    parser::ValueSource,
};
use preemptlab_lab::Assignment;

use crate::{args::Color, commands::Command};

/// Measure Linux preemption models: real kernels, real benchmarks, deterministic virtual time.
///
/// Boots distribution kernels in QEMU without root, runs latency probes beside a load under every
/// preemption model, and compares latency and throughput. The same inputs give the same bytes on
/// any machine.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, after_long_help = EXIT_CODES)]
pub struct Cli {
    /// Where packages, kernels, snapshots and finished cells are kept
    /// [default: $XDG_CACHE_HOME/preemptlab or ~/.cache/preemptlab]
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        env = "PREEMPTLAB_STORE",
        hide_env = true,
        help_heading = FOR_ALL
    )]
    pub store: Option<PathBuf>,
    /// Set a key of the configuration, such as qemu=PATH or mirror=URL, for this command; may be repeated.
    /// `preemptlab util config` shows every key
    #[arg(long, global = true, value_name = "KEY=VALUE", help_heading = FOR_ALL)]
    pub set: Vec<Assignment>,
    /// When to use colour
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = FOR_ALL
    )]
    pub color: Color,
    /// Command
    #[command(subcommand)]
    pub command: Command,
}

/// Heading of the options that every command has.
const FOR_ALL: &str = "For every command";

const EXIT_CODES: &str = "\
Exit codes:
  0    everything was done
  1    the answer is no: digests differ, a kernel is worse, or something is missing
  2    the command line, an experiment or a recording cannot be used
  3    some cells failed, or none could be executed; the others are there; a gate is not decided
  4    this machine or a package mirror got in the way
  130  interrupted; the same command resumes from there
  141  the reader of the output has gone before all was written";

impl Cli {
    /// Reads a command line, or returns the mistake in it.
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, Error> {
        let mut line = Self::command();
        let matches = line.try_get_matches_from_mut(arguments)?;
        match misplaced(&mut line, &matches) {
            Some(mistake) => Err(mistake),
            None => Self::from_arg_matches(&matches).map_err(|error| error.format(&mut line)),
        }
    }
}

/// Returns the mistake of an option that stands before a verb's own verb, which clap would drop.
fn misplaced(line: &mut Line, matches: &ArgMatches) -> Option<Error> {
    let (verb, matches) = matches.subcommand()?;
    let (what, _) = matches.subcommand()?;
    let line = line.find_subcommand_mut(verb)?;
    let is_given = |id: &str| {
        matches.value_source(id).is_some_and(|source| source == ValueSource::CommandLine)
    };
    let before = line.get_arguments().find(|argument| {
        !argument.is_positional()
            && !argument.is_global_set()
            && is_given(argument.get_id().as_str())
    })?;
    let option = before.get_long().unwrap_or_default();
    let message = format!("--{option} stands before `{what}`, whose own options stand behind it");
    Some(line.error(ErrorKind::ArgumentConflict, message))
}
