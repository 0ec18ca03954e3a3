//! `run --until`: replicates are added where they are needed.

use std::time::Instant;

use preemptlab_experiment::{RecordingWriter, add_replicates};
use preemptlab_model::{Factors, RECORDING_FORMAT};
use preemptlab_recording::Until;
use preemptlab_report::is_headline;
use preemptlab_runner::Summary;
use preemptlab_stats::{Baseline, Comparison, Margin, Needed, needed};

use crate::{
    args::Run,
    commands::compare,
    exit,
    output::Output,
    progress::human,
    session::{Execute, recording_failure},
};

/// Executes what is planned, looks at the results, plans more where they do not decide, and so on,
/// until all is decided or there is no time for what would come next. `execute` executes what is
/// planned.
pub fn execute(
    margin: Margin,
    args: &Run,
    writer: &mut RecordingWriter,
    jobs: usize,
    output: &Output,
    execute: &mut Execute<'_>,
) -> exit::Result<Summary> {
    let until = Until {
        format: RECORDING_FORMAT,
        margin: margin.share(),
        metrics: args.metrics.clone(),
        baseline: args.baseline.as_ref().map(ToString::to_string),
    };
    if writer.recording().until().is_some() {
        // Before anything is executed in vain.
        writer.begin_until(&until).map_err(recording_failure)?;
    }
    let started = Instant::now();
    let mut executed = execute(writer)?;
    // A name that nothing has must not become a part of the recording.
    let first = compare::comparison(&[writer.recording()], args.baseline.as_ref(), margin)?;
    check(&args.metrics, &first)?;
    writer.begin_until(&until).map_err(recording_failure)?;
    loop {
        let (summary, cell_wall) = executed;
        let comparison =
            compare::comparison(&[writer.recording()], args.baseline.as_ref(), margin)?;
        let needed = needed(&comparison, |metric| decides(&args.metrics, metric));
        let undecided = undecided(&args.metrics, &comparison);
        if needed.is_empty() {
            output.note(conclusion(undecided));
            return Ok(summary);
        }
        let cells: u32 = needed.iter().map(|needed| needed.more).sum();
        let rounds = cells.div_ceil(u32::try_from(jobs).unwrap_or(1));
        let wall = cell_wall * rounds;
        let what = format!(
            "look {}: {undecided} comparisons are undecided; {cells} more cells, about {}",
            comparison.looks,
            human(wall)
        );
        if args.budget.is_some_and(|budget| started.elapsed() + wall > budget) {
            output.note(format!("{what}, are more than the budget allows"));
            return Ok(summary);
        }
        output.note(format!("{what}: {}", in_words(&needed)));
        let wanted: Vec<_> =
            needed.into_iter().map(|needed| (needed.factors, needed.replicates)).collect();
        if add_replicates(writer, &wanted).map_err(recording_failure)? == 0 {
            output.note(format!("{undecided} comparisons stay undecided: no more can be added"));
            return Ok(summary);
        }
        executed = execute(writer)?;
    }
}

/// Whether a metric is to be decided.
fn decides(metrics: &[String], metric: &str) -> bool {
    if metrics.is_empty() { is_headline(metric) } else { metrics.iter().any(|each| each == metric) }
}

fn undecided(metrics: &[String], comparison: &Comparison) -> usize {
    let configurations = comparison.groups.iter().flat_map(|group| &group.configurations);
    configurations
        .flat_map(|configuration| &configuration.summaries)
        .filter(|summary| decides(metrics, &summary.name))
        .filter(|summary| summary.effect.is_some_and(|effect| !effect.verdict.is_decided()))
        .count()
}

/// Refuses a metric that nothing has.
fn check(metrics: &[String], comparison: &Comparison) -> exit::Result<()> {
    let known: Vec<&str> = comparison.groups.iter().flat_map(|group| group.metrics()).collect();
    for metric in metrics {
        if !known.is_empty() && !known.contains(&metric.as_str()) {
            let hint = preemptlab_model::nearest(metric, known.iter().copied())
                .map(|nearest| format!("; did you mean `{nearest}`?"))
                .unwrap_or_default();
            let message = format!("no workload has the metric `{}`{hint}", metric.escape_debug());
            return Err(exit::failure(exit::UNUSABLE, message));
        }
    }
    Ok(())
}

fn conclusion(undecided: usize) -> String {
    match undecided {
        0 => "every comparison is decided".to_owned(),
        _ => format!("{undecided} comparisons stay undecided: more replicates would not help"),
    }
}

/// What is added, by configuration: `debian:6.12/none +3`.
fn in_words(needed: &[Needed]) -> String {
    let words = needed.iter().map(|Needed { factors, more, .. }| {
        let Factors { workload, kernel, preempt, settings, .. } = factors.clone();
        format!("{} {workload} +{more}", Baseline { kernel, preempt, settings })
    });
    words.collect::<Vec<_>>().join(", ")
}
