use std::process::ExitCode;

use preemptlab_recording::Recording;
use preemptlab_report::View;
use preemptlab_stats::{Baseline, Comparison};

use crate::{
    args::{Compare, Format},
    commands::run::recording_failure,
    exit::{self, OrExit},
    measured,
    output::Output,
};

/// Compares recordings.
pub fn execute(args: &Compare, output: &Output) -> exit::Result<ExitCode> {
    let baseline = args.baseline.as_deref().map(str::parse).transpose().or_exit(exit::UNUSABLE)?;
    let recordings = args
        .recordings
        .iter()
        .map(|path| Recording::open(path))
        .collect::<Result<Vec<_>, _>>()
        .map_err(recording_failure)?;
    let recordings: Vec<&Recording> = recordings.iter().collect();
    let comparison = comparison(&recordings, baseline.as_ref())?;
    let view = if args.all { View::Details } else { View::Overview };
    output.data(&match args.format {
        Format::Table => preemptlab_report::terminal(&comparison, view, output.terminal()),
        Format::Json => preemptlab_report::json(&comparison),
        Format::Csv => preemptlab_report::csv(&comparison),
        Format::Markdown => preemptlab_report::markdown(&comparison, view),
    })
}

/// The comparison of recordings, finished or not.
pub fn comparison(
    recordings: &[&Recording],
    baseline: Option<&Baseline>,
) -> exit::Result<Comparison> {
    let cells = measured::cells(recordings).map_err(recording_failure)?;
    preemptlab_stats::compare(&cells, baseline).or_exit(exit::UNUSABLE)
}
