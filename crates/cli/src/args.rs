//! The command line. Completions and the man page are made from these definitions; each verb's are
//! beside what it does.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use preemptlab_analysis::advice::question;
use preemptlab_stats::{Margin, Question, Requirement};

use crate::commands::{
    apply::Apply, compare::Compare, doctor::Doctor, explain::Explain, export::ExportArgs,
    kernels::Kernels, plan::Plan, recommend::Recommend, report::Report, revert::Revert, run::Run,
    scenario::Scenario, verify::Verify,
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
  1    the answer is no: digests differ, or something is missing
  2    the command line, an experiment or a recording cannot be used
  3    some cells failed, or none could be executed; the others are there
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
    Recommend(Recommend),
    Apply(Apply),
    Revert(Revert),
    Report(Report),
    Export(ExportArgs),
    Explain(Explain),
    Verify(Verify),
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

/// Where packages come from.
#[derive(Args, Debug)]
pub struct Packages {
    /// The Debian mirror [default: that of this machine's apt configuration]
    #[arg(long, value_name = "URL")]
    pub mirror: Option<String>,
    /// Accept a mirror's package lists after their validity date
    #[arg(long)]
    pub allow_expired: bool,
    /// Ask the mirror for new package lists even if those at hand are younger than a day
    #[arg(long)]
    pub refresh: bool,
}

/// How virtual machines run.
#[derive(Args, Debug)]
pub struct Machines {
    /// Another qemu-system-x86_64 than the one of Debian 13 [10.0 or later, with plugins]
    #[arg(long, value_name = "PATH")]
    pub qemu: Option<PathBuf>,
    /// Virtual machines at a time [default: the number of CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Let the Makefiles of a kernel `file:...,modules=FOLDER` run, where preemptlab's own modules are
    /// built for it: they can run any command
    #[arg(long)]
    pub allow_build_scripts: bool,
}

/// What is wanted of a configuration.
#[derive(Args, Debug)]
pub struct QuestionArgs {
    /// What must be satisfied: METRIC (<=, <, >= or >) NUMBER UNIT, such as 'wakeup.max<=100us';
    /// may be repeated
    #[arg(long = "require", value_name = "REQUIREMENT")]
    pub requirements: Vec<Requirement>,
    /// The metric to make as large as possible [default: throughput]
    #[arg(long, value_name = "METRIC", conflicts_with = "minimize")]
    pub maximize: Option<String>,
    /// The metric to make as small as possible
    #[arg(long, value_name = "METRIC")]
    pub minimize: Option<String>,
}

impl QuestionArgs {
    /// What is asked for.
    pub fn question(&self) -> Question {
        let Self { requirements, maximize, minimize } = self;
        question(requirements, maximize.as_deref(), minimize.as_deref())
    }

    /// Whether anything is.
    pub fn is_asked(&self) -> bool {
        let Self { requirements, maximize, minimize } = self;
        !requirements.is_empty() || maximize.is_some() || minimize.is_some()
    }
}

/// How configurations are compared.
#[derive(Args, Debug)]
pub struct RuleArgs {
    /// The configuration that ratios refer to, KERNEL/MODE [default: the first of each workload]
    #[arg(long, value_name = "CONFIGURATION")]
    pub baseline: Option<String>,
    /// How much may differ and still be called the same [default: 5%, or that of `run --until`]
    #[arg(long, value_name = "PERCENT")]
    pub margin: Option<Margin>,
}

impl RuleArgs {
    /// Whether anything is said.
    pub fn is_given(&self) -> bool {
        self.baseline.is_some() || self.margin.is_some()
    }
}

/// How the settings of a machine are changed.
#[derive(Args, Debug)]
pub struct ChangeArgs {
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
    /// The root folder of another system, such as an image that is being built
    #[arg(long, value_name = "FOLDER", default_value = "/")]
    pub root: PathBuf,
}

/// How to print a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal
    Table,
    /// One document
    Json,
    /// For a spreadsheet
    Csv,
    /// For a pull request or a mailing list
    Markdown,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
