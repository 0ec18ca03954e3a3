use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use preemptlab_analysis::{histograms, mixed};
use preemptlab_model::plain;
use preemptlab_report::export::{Format as TableFormat, Tables, export_tables};

use crate::{
    args::{Format, formats, written_path},
    exit,
    output::Output,
};

/// Write every cell into tables for pandas, R, DuckDB or a spreadsheet
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab export runs/quick
  preemptlab export runs/quick --format parquet -o tables

docs/export.md describes every column.")]
pub struct ExportArgs {
    /// The recordings
    #[arg(required = true, value_name = "RUN")]
    pub recordings: Vec<PathBuf>,
    /// How to write the tables
    #[arg(long, default_value = "csv", value_parser = formats([Format::Csv, Format::Parquet]))]
    pub format: Format,
    /// The folder to write them to, new or empty [default: RUN-export, here]
    #[arg(long, short, value_name = "FOLDER", value_parser = written_path())]
    pub out: Option<PathBuf>,
}

/// Writes tables of every cell of recordings, and names them.
pub fn execute(args: &ExportArgs, output: &Output) -> exit::Result<ExitCode> {
    histograms::refuse(&args.recordings, "tables are of cells")?;
    let (recordings, warnings) = mixed::open(&args.recordings)?;
    for warning in warnings {
        output.warning(warning);
    }
    let format = match args.format {
        Format::Csv => TableFormat::Csv,
        Format::Parquet => TableFormat::Parquet,
        other => return Err(other.is_not_written()),
    };
    let Tables { files, statuses } = export_tables(&recordings, format, args.out.as_deref())?;
    let statuses = statuses.iter().map(|(status, count)| format!("{count} {status}"));
    output.note(format!("cells: {}", statuses.collect::<Vec<_>>().join(", ")));
    let files: Vec<String> =
        files.iter().map(|file| plain::line(&file.display().to_string()).into_owned()).collect();
    output.data(&files.join("\n"))
}
