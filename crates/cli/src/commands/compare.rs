use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use preemptlab_analysis::{Compared, Keep};
use preemptlab_report::{
    LatencyCurves, View, curves_svg, curves_terminal, file_names, page::latency_curves,
};
use preemptlab_stats::Comparison;

use crate::{
    args::{Format, RuleArgs, written_path},
    exit::{self, OrExit},
    output::Output,
    writable,
};

/// Compare the configurations of recordings
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab compare runs/quick
  preemptlab compare runs/quick --baseline debian:6.18/full
  preemptlab compare runs/quick --metric wakeup.fifo --metric throughput
  preemptlab compare runs/quick --picture --svg pictures
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
    /// Draw the latencies at every instant below the tables, those of all modes in one picture
    #[arg(long, conflicts_with = "format")]
    pub picture: bool,
    /// Draw them into this folder, too, as an SVG of each workload
    #[arg(long, value_name = "FOLDER", value_parser = written_path())]
    pub svg: Option<PathBuf>,
    /// How to print it
    #[arg(long, default_value = "table")]
    pub format: Format,
}

/// Compares recordings.
pub fn execute(args: &Compare, output: &Output) -> exit::Result<ExitCode> {
    let is_pictured = args.picture || args.svg.is_some();
    let keep = if is_pictured { Keep::Distributions } else { Keep::Metrics };
    let compared = open(&args.recordings, keep, &args.rule, output)?;
    let (mut comparison, pictures) = match is_pictured {
        true => pictured(&compared)?,
        false => (compared.comparison()?, Vec::new()),
    };
    if let Some(folder) = &args.svg {
        let names = file_names(pictures.iter().map(|(workload, _)| &**workload));
        let drawn = pictures.iter().map(|(_, curves)| curves_svg(curves));
        let files = names.into_iter().map(|name| format!("{name}.svg"));
        writable::write_pictures(folder, files.zip(drawn), output)?;
    }
    if !args.metrics.is_empty() {
        comparison = comparison.only(&args.metrics).or_exit(exit::UNUSABLE)?;
    }
    let view = if args.all { View::Details } else { View::Overview };
    let code = output.comparison(&comparison, args.format, view)?;
    if args.picture {
        let drawn =
            pictures.iter().map(|(_, curves)| curves_terminal(curves, output.terminal().width));
        return output.data(&format!("\n{}", drawn.collect::<Vec<_>>().join("\n")));
    }
    Ok(code)
}

/// Returns the comparison, and the latencies of each workload at every instant.
fn pictured(compared: &Compared) -> exit::Result<(Comparison, Vec<(String, LatencyCurves)>)> {
    compared.check_recordings("a picture of every instant")?;
    let comparison = compared.comparison()?;
    let curves = latency_curves(compared.cells(), &comparison).into_iter();
    let pictures: Vec<(String, LatencyCurves)> =
        curves.map(|(at, curves)| (comparison.groups[at].workload.clone(), curves)).collect();
    match pictures.is_empty() {
        false => Ok((comparison, pictures)),
        true => Err(exit::unusable(
            "no cell was measured at every instant: that takes virtual time, and a kernel with type \
             information (BTF)",
        )),
    }
}

/// Reads recordings, and prints everything that makes them less comparable.
pub fn open(
    paths: &[PathBuf],
    keep: Keep,
    args: &RuleArgs,
    output: &Output,
) -> exit::Result<Compared> {
    let (compared, notices) = Compared::open(paths, keep, args.baseline.as_deref(), &args.margins)?;
    output.notices(notices);
    Ok(compared)
}
