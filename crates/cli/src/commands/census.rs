//! `preemptlab census`: what each call site of `cond_resched()` is good for.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use preemptlab_analysis::explain::Census;
use preemptlab_experiment::Recording;
use preemptlab_report::{census_markdown, census_table, census_terminal};

use crate::{args::Format, exit, output::Output};

/// Count the calls of cond_resched(): which stretches each call site ends, and what its removal would cost
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab census runs/census
  preemptlab census runs/census --cell 'debian:6.12 voluntary' --format markdown

It reads traces and executes nothing: record them with `preemptlab run EXPERIMENT --trace`.")]
pub struct CensusArgs {
    /// The recording
    #[arg(value_name = "RUN")]
    pub recording: PathBuf,
    /// Look at these cells: words of their names such as 'debian:6.12 none' [default: all with a trace]
    #[arg(long, value_name = "CELLS")]
    pub cell: Option<String>,
    /// How to print it
    #[arg(long, default_value = "table")]
    pub format: Format,
}

/// Shows the census of a recording's calls.
pub fn execute(args: &CensusArgs, output: &Output) -> exit::Result<ExitCode> {
    let recording = Recording::open(&args.recording)?;
    let census = Census::new(&recording, args.cell.as_deref())?;
    match args.format {
        Format::Table => output.data(&census_terminal(&census, output.terminal())),
        Format::Markdown => output.data(&census_markdown(&census)),
        format => output.print(&census_table(&census), format, &census),
    }
}
