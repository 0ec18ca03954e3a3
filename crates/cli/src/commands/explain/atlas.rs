//! `preemptlab explain RUN atlas`: the longest sections of all cells.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use preemptlab_analysis::Atlas;
use preemptlab_experiment::Recording;
use preemptlab_report::{
    atlas_markdown, atlas_table, atlas_terminal,
    page::{atlas_data, atlas_html},
};

use crate::{
    args::{Format, formats, written_path},
    exit,
    output::Output,
    writable::{self, GENERATOR},
};

/// List the longest sections of all cells, by function: which load reaches them, and which models end them
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab explain runs/atlas atlas
  preemptlab explain runs/atlas atlas --cell 'debian:6.12 full'
  preemptlab explain runs/atlas atlas --format csv > atlas.csv
  preemptlab explain runs/atlas atlas -o atlas.html

It needs no probe and no trace: each cell in virtual time keeps its sections. It executes nothing.")]
pub struct AtlasArgs {
    /// Look at these cells: words of their names such as 'debian:6.12 none', or an identity [default: all]
    #[arg(long, value_name = "CELLS")]
    pub cell: Option<String>,
    /// How to print it
    #[arg(long, default_value = "table", value_parser = formats(Format::TABLES))]
    pub format: Format,
    /// Write the explorer into this file: an HTML page with a map of all cells, which needs no network
    #[arg(long, short, value_name = "FILE", conflicts_with = "format", value_parser = written_path())]
    pub out: Option<PathBuf>,
}

/// Shows the atlas of a recording.
pub fn execute(args: &AtlasArgs, recording: &Recording, output: &Output) -> exit::Result<ExitCode> {
    if let Some(out) = &args.out {
        check(out)?;
    }
    let atlas = Atlas::new(&[recording], args.cell.as_deref())?;
    if let Some(out) = &args.out {
        let run = recording.path().display().to_string();
        let (data, details) = atlas_data(&atlas, &run, &[], GENERATOR);
        writable::write(out, atlas_html(&data, &details).as_bytes(), output)?;
        return Ok(ExitCode::from(exit::OK));
    }
    match args.format {
        Format::Table => output.data(&atlas_terminal(&atlas, output.terminal())),
        Format::Markdown => output.data(&atlas_markdown(&atlas)),
        format => output.print(&atlas_table(&atlas), format, &atlas),
    }
}

/// Refuses a file that is no page, or that cannot be written, before anything is read.
fn check(out: &Path) -> exit::Result<()> {
    if out.extension().is_none_or(|ending| ending != "html") {
        return Err(exit::unusable(format!(
            "{} does not end in .html: the explorer is a page; --format prints tables",
            out.display()
        )));
    }
    writable::check(out)
}
