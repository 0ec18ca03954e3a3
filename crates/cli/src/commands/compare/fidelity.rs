//! `preemptlab compare` with the results of machines, and the results that a recording predicts.

use std::{path::Path, process::ExitCode};

use preemptlab_analysis::results::predictions;
use preemptlab_experiment::Recording;
use preemptlab_model::Results;
use preemptlab_report::{View, fidelity_markdown, fidelity_terminal};
use preemptlab_stats::fidelity;

use super::options::{By, Compare};
use crate::{
    args::{Format, refuse},
    exit::{self, OrExit},
    output::{self, Output},
    writable,
};

/// Shows how well machines are predicted.
pub fn execute(args: &Compare, results: &[Results], output: &Output) -> exit::Result<ExitCode> {
    let given = [
        (args.by == By::Kernel, "--by kernel"),
        (args.rule.baseline.is_some(), "--baseline"),
        (!args.rule.margins.is_empty(), "--margin"),
        (!args.metrics.is_empty(), "--metric"),
        (args.picture, "--picture"),
        (args.svg.is_some(), "--svg"),
        (args.out.is_some(), "--out"),
        (args.template.is_some(), "--template"),
        (args.question.is_asked(), "--require and the like"),
        (args.format == Some(Format::Csv), "--format csv"),
    ];
    refuse(&given, "a comparison with machines has --all, and --format markdown or json")?;
    let fidelity = fidelity(results).or_exit(exit::UNUSABLE)?;
    let view = if args.all { View::Details } else { View::Overview };
    output.data(&match args.format() {
        Format::Table => fidelity_terminal(&fidelity, view, output.terminal()),
        Format::Markdown => fidelity_markdown(&fidelity, view),
        Format::Json => output::json(&fidelity)?,
        other => return Err(other.is_not_written()),
    })
}

/// Writes the results that the only recording predicts into a file.
pub fn write(args: &Compare, out: &Path, output: &Output) -> exit::Result<ExitCode> {
    args.check_file("results are of the whole recording")?;
    let [recording] = &args.recordings[..] else {
        return Err(exit::unusable("a file of results is of one recording: name one"));
    };
    writable::check(out)?;
    match &predictions(&Recording::open(recording)?)?[..] {
        [results] => writable::write_results(out, results, output)?,
        several => {
            return Err(exit::unusable(format!(
                "{} is of {} machines, and a file of results is of one: record each by itself, with --machine",
                recording.display(),
                several.len()
            )));
        }
    }
    Ok(ExitCode::from(exit::OK))
}
