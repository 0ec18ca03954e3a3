//! The command line, of which completions and the man pages are made. Each verb's arguments are beside what
//! it does.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::{
    args::Color,
    commands::{
        apply::Apply, bisect::BisectArgs, calibrate::Calibrate, census::CensusArgs,
        compare::Compare, doctor::Doctor, explain::Explain, export::ExportArgs,
        gate::options::GateArgs, history::HistoryArgs, kernels::Kernels, merge::Merge, plan::Plan,
        recommend::Recommend, report::Report, revert::Revert, run::Run, scenario::Scenario,
        search::Search, verify::Verify,
    },
};

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
    #[arg(long, global = true, value_name = "FOLDER", env = "PREEMPTLAB_STORE", hide_env = true)]
    pub store: Option<PathBuf>,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0    everything was done
  1    the answer is no: digests differ, a kernel is worse, or something is missing
  2    the command line, an experiment or a recording cannot be used
  3    some cells failed, or none could be executed; the others are there; a gate is not decided
  4    this machine or a package mirror got in the way
  130  interrupted; the same command goes on from there
  141  the reader of the output has gone before all was written";

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    Run(Run),
    Scenario(Scenario),
    Plan(Plan),
    Kernels(Kernels),
    Compare(Compare),
    Gate(GateArgs),
    History(HistoryArgs),
    Bisect(BisectArgs),
    Recommend(Recommend),
    Apply(Apply),
    Revert(Revert),
    Report(Report),
    Export(ExportArgs),
    Explain(Explain),
    Search(Search),
    Census(CensusArgs),
    Verify(Verify),
    Merge(Merge),
    Calibrate(Calibrate),
    Doctor(Doctor),
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
