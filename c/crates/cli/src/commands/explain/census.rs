//! `preemptlab explain RUN census`: the use of each call site of `cond_resched()`.

use std::process::ExitCode;

use clap::Args;
use preemptlab_analysis::explain::Census;
use preemptlab_experiment::Recording;
use preemptlab_report::{census_markdown, census_table, census_terminal};

use crate::{
    args::{Format, formats},
    exit,
    output::Output,
};

/// Count the calls of cond_resched(): which stretches each call site ends, and what its removal would cost
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab explain runs/census census
  preemptlab explain runs/census census --cell 'debian:6.12 voluntary' --format markdown

It reads traces and executes nothing: record them with `preemptlab run EXPERIMENT --trace`.")]
pub struct CensusArgs {
    /// Look at these cells: words of their names such as 'debian:6.12 none' [default: all with a trace]
    #[arg(long, value_name = "CELLS")]
    pub cell: Option<String>,
    /// How to print it
    #[arg(long, default_value = "table", value_parser = formats(Format::TABLES))]
    pub format: Format,
}

/// Shows the census of a recording's calls.
pub fn execute(
    args: &CensusArgs,
    recording: &Recording,
    output: &Output,
) -> exit::Result<ExitCode> {
    let census = Census::new(recording, args.cell.as_deref())?;
    match args.format {
        Format::Table => output.data(&census_terminal(&census, output.terminal())),
        Format::Markdown => output.data(&census_markdown(&census)),
        format => output.print(&census_table(&census), format, &census),
    }
}
