//! `preemptlab explain RUN search`: the worst wakeup that a configuration can have.

use std::process::ExitCode;

use clap::Args;
use preemptlab_analysis::explain::Searched;
use preemptlab_experiment::Recording;
use preemptlab_lab::{Budget, Config};
use preemptlab_report::{searched_table, searched_terminal};

use crate::{
    args::{Format, Machines, formats},
    exit, lab,
    output::Output,
    progress::Shown,
};

/// Search for the worst wakeup: move the real-time probe's timer into long stretches, and execute
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab explain runs/quick search
  preemptlab explain runs/quick search --cell 'debian:6.18 full' --budget 40
  preemptlab explain runs/quick search --budget 10m

It takes the longest stretches of all replicates in which no task can be switched in. More of them: record
with more replicates. The same recording and number of executions give the same answer on any machine.")]
pub struct SearchArgs {
    /// Search in these cells: words of their names such as 'debian:6.12 none' [default: all that have a
    /// real-time probe]
    #[arg(long, value_name = "CELLS")]
    pub cell: Option<String>,
    /// Stop after this number of executions of each configuration, or after a time such as 10m
    #[arg(long, value_name = "COUNT|TIME", default_value = "12")]
    pub budget: Budget,
    /// How to print it
    #[arg(long, default_value = "table", value_parser = formats(Format::TABLES))]
    pub format: Format,
    #[command(flatten)]
    pub machines: Machines,
}

/// Searches for the worst wakeups of a recording's configurations.
pub fn execute(
    args: &SearchArgs,
    recording: &Recording,
    config: &Config,
    output: &Output,
) -> exit::Result<ExitCode> {
    let shown = Shown::new(output);
    let lab = lab::here(config, Some(&args.machines), &shown);
    let cells = args.cell.as_deref();
    let searched = Searched::new(preemptlab_lab::search(&lab, recording, cells, args.budget)?);
    match args.format {
        Format::Table => output.data(&searched_terminal(&searched, output.terminal())),
        format => output.print(&searched_table(&searched), format, &searched),
    }
}
