//! `preemptlab explain RUN atlas`: the longest sections of all cells.

use std::process::ExitCode;

use clap::Args;
use preemptlab_analysis::Atlas;
use preemptlab_experiment::Recording;
use preemptlab_report::{atlas_markdown, atlas_table, atlas_terminal};

use crate::{
    args::{Format, formats},
    exit,
    output::Output,
};

/// List the longest sections of all cells, by function: which load reaches them, and which models end them
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab explain runs/atlas atlas
  preemptlab explain runs/atlas atlas --cell 'debian:6.12 full'
  preemptlab explain runs/atlas atlas --format csv > atlas.csv

It needs no probe and no trace: each cell in virtual time keeps its sections. It executes nothing.")]
pub struct AtlasArgs {
    /// Look at these cells: words of their names such as 'debian:6.12 none' [default: all]
    #[arg(long, value_name = "CELLS")]
    pub cell: Option<String>,
    /// How to print it
    #[arg(long, default_value = "table", value_parser = formats(Format::TABLES))]
    pub format: Format,
}

/// Shows the atlas of a recording.
pub fn execute(args: &AtlasArgs, recording: &Recording, output: &Output) -> exit::Result<ExitCode> {
    let atlas = Atlas::new(&[recording], args.cell.as_deref())?;
    match args.format {
        Format::Table => output.data(&atlas_terminal(&atlas, output.terminal())),
        Format::Markdown => output.data(&atlas_markdown(&atlas)),
        format => output.print(&atlas_table(&atlas), format, &atlas),
    }
}
