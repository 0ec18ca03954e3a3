use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use preemptlab_analysis::{Compared, Notice};
use preemptlab_report::View;

use crate::{
    args::{Format, RuleArgs},
    exit::{self, OrExit},
    output::Output,
};

/// Compare the configurations of recordings
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab compare runs/quick
  preemptlab compare runs/quick --baseline debian:6.12/full
  preemptlab compare runs/quick --metric wakeup.fifo --metric throughput
  preemptlab compare runs/quick --format markdown")]
pub struct Compare {
    /// The recordings, and beside them histograms that cyclictest, rtla or oslat wrote on a machine
    #[arg(required = true, value_name = "RUN")]
    pub recordings: Vec<PathBuf>,
    #[command(flatten)]
    pub rule: RuleArgs,
    /// Show every metric with its spread, not only the most telling ones
    #[arg(long)]
    pub all: bool,
    /// Show this metric only, or all of a class such as `wakeup`; may be repeated
    #[arg(long = "metric", value_name = "METRIC")]
    pub metrics: Vec<String>,
    /// How to print it
    #[arg(long, default_value = "table")]
    pub format: Format,
}

/// Compares recordings.
pub fn execute(args: &Compare, output: &Output) -> exit::Result<ExitCode> {
    let mut comparison = open(&args.recordings, &args.rule, output)?.comparison()?;
    if !args.metrics.is_empty() {
        comparison = comparison.only(&args.metrics).or_exit(exit::UNUSABLE)?;
    }
    let view = if args.all { View::Details } else { View::Overview };
    output.comparison(&comparison, args.format, view)
}

/// Opens recordings, and prints everything that makes them less comparable.
pub fn open(paths: &[PathBuf], args: &RuleArgs, output: &Output) -> exit::Result<Compared> {
    let (compared, notices) = Compared::open(paths, args.baseline.as_deref(), args.margin)?;
    for notice in notices {
        match notice {
            Notice::Warning(text) => output.warning(text),
            Notice::Note(text) => output.note(text),
        }
    }
    Ok(compared)
}
