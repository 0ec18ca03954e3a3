//! `run --until`: replicates are added where they are needed.

use std::time::{Duration, Instant};

use preemptlab_analysis::looks::{Look, check_metrics};
use preemptlab_experiment::{RecordingWriter, add_replicates};
use preemptlab_model::RECORDING_FORMAT;
use preemptlab_recording::Until;
use preemptlab_report::human;
use preemptlab_runner::Summary;
use preemptlab_stats::{Baseline, Margin};

use crate::{exit, output::Output, session::Execute};

/// When to add no more.
pub struct UntilArgs<'a> {
    /// How much may differ and still be called the same.
    pub margin: Margin,
    /// The metrics that are to be decided; without any, the most telling ones.
    pub metrics: &'a [String],
    /// The configuration that ratios refer to.
    pub baseline: Option<&'a Baseline>,
    /// The time that all of it may take.
    pub budget: Option<Duration>,
}

/// Executes the planned cells, looks at the results, plans more where they do not decide, and so
/// on, until all is decided or there is no time for the next cells. `execute` executes the planned
/// cells.
pub fn execute(
    args: &UntilArgs<'_>,
    writer: &mut RecordingWriter,
    jobs: usize,
    output: &Output,
    execute: &mut Execute<'_>,
) -> exit::Result<Summary> {
    let UntilArgs { margin, metrics, baseline, budget } = *args;
    let until = Until {
        format: RECORDING_FORMAT,
        margin: margin.share(),
        metrics: metrics.to_vec(),
        baseline: baseline.map(ToString::to_string),
    };
    if writer.recording().until().is_some() {
        // Before anything is executed in vain.
        writer.begin_until(&until)?;
    }
    let started = Instant::now();
    let mut executed = execute(writer)?;
    // A name that nothing has must not become a part of the recording.
    let first = preemptlab_analysis::comparison(&[writer.recording()], baseline, margin)?;
    check_metrics(metrics, &first)?;
    writer.begin_until(&until)?;
    loop {
        let (summary, cell_wall) = executed;
        let comparison = preemptlab_analysis::comparison(&[writer.recording()], baseline, margin)?;
        let look = Look::at(&comparison, metrics);
        if look.needed.is_empty() {
            output.note(look.conclusion());
            return Ok(summary);
        }
        let (cells, undecided) = (look.cells(), look.undecided);
        let wall = cell_wall * cells.div_ceil(u32::try_from(jobs).unwrap_or(1));
        let what = format!(
            "look {}: {undecided} comparisons are undecided; {cells} more cells, about {}",
            comparison.looks,
            human(wall)
        );
        if budget.is_some_and(|budget| started.elapsed() + wall > budget) {
            output.note(format!("{what}, are more than the budget allows"));
            return Ok(summary);
        }
        output.note(format!("{what}: {}", look.added()));
        let wanted: Vec<_> =
            look.needed.into_iter().map(|needed| (needed.factors, needed.replicates)).collect();
        if add_replicates(writer, &wanted)? == 0 {
            output.note(format!("{undecided} comparisons stay undecided: no more can be added"));
            return Ok(summary);
        }
        executed = execute(writer)?;
    }
}
