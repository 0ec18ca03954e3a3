//! `run --until`: replicates are added where they are needed.

use std::time::{Duration, Instant};

use preemptlab_analysis::{
    Cells, Keep,
    looks::{Look, check_metrics},
};
use preemptlab_experiment::{RecordingWriter, add_replicates};
use preemptlab_model::RECORDING_FORMAT;
use preemptlab_recording::Until;
use preemptlab_report::human;
use preemptlab_runner::Summary;
use preemptlab_stats::{Baseline, Comparison, Margin};

use crate::{exit, output::Output, session::Execute};

/// The rule by which replicates are added.
pub struct UntilArgs<'a> {
    /// Difference up to which two configurations are called the same.
    pub margin: Margin,
    /// The metrics that are to be decided; without any, the most telling ones.
    pub metrics: &'a [String],
    /// The configuration that ratios refer to.
    pub baseline: Option<&'a Baseline>,
    /// The time that all of it may take.
    pub budget: Option<Duration>,
}

/// The planned cells after their execution.
struct Executed {
    summary: Summary,
    /// Host time that a cell takes.
    cell_wall: Duration,
    cells: Cells,
    comparison: Comparison,
}

/// Executes the planned cells, looks at the results, plans more where they do not decide, and so
/// on, until all is decided or there is no time for the next cells. `execute` executes the planned
/// cells. Returns the cells of the last look with the summary.
pub fn execute(
    args: &UntilArgs<'_>,
    writer: &mut RecordingWriter,
    jobs: usize,
    output: &Output,
    execute: &mut Execute<'_>,
) -> exit::Result<(Summary, Cells)> {
    let UntilArgs { margin, baseline, .. } = *args;
    add_looks(args, writer, jobs, output, &mut |writer| {
        let (summary, cell_wall) = execute(writer)?;
        let recordings = [writer.recording()];
        let cells = Cells::read(&recordings, Keep::Metrics)?;
        let comparison = preemptlab_analysis::comparison(&recordings, &cells, baseline, margin)?;
        Ok(Executed { summary, cell_wall, cells, comparison })
    })
}

/// Adds look after look. `execute` executes the planned cells and compares them: all cells are read
/// once for each look.
fn add_looks(
    args: &UntilArgs<'_>,
    writer: &mut RecordingWriter,
    jobs: usize,
    output: &Output,
    execute: &mut dyn FnMut(&RecordingWriter) -> exit::Result<Executed>,
) -> exit::Result<(Summary, Cells)> {
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
    check_metrics(metrics, &executed.comparison)?;
    writer.begin_until(&until)?;
    loop {
        let Executed { summary, cell_wall, cells, comparison } = executed;
        let look = Look::at(&comparison, metrics);
        if look.needed.is_empty() {
            output.note(look.conclusion());
            return Ok((summary, cells));
        }
        let wall = cell_wall * look.cells().div_ceil(u32::try_from(jobs).unwrap_or(1));
        let what = format!("look {}: {}, about {}", comparison.looks, look.wanted(), human(wall));
        if budget.is_some_and(|budget| started.elapsed() + wall > budget) {
            output.note(format!("{what}: more than the budget allows"));
            return Ok((summary, cells));
        }
        output.note(format!("{what}: {}", look.added()));
        let open = look.open();
        let wanted: Vec<_> =
            look.needed.into_iter().map(|needed| (needed.factors, needed.replicates)).collect();
        if add_replicates(writer, &wanted)? == 0 {
            output.note(format!("{open}: no more can be added"));
            return Ok((summary, cells));
        }
        executed = execute(writer)?;
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use preemptlab_experiment::Recording;
    use preemptlab_recording::Claim;

    use super::*;
    use crate::args::Color;

    #[test]
    fn a_look_reads_every_cell_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("check");
        let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/check");
        let recording = Recording::open(&committed).unwrap();
        let mut writer = Claim::new(&preemptlab_durable::OutFolder::named(&path))
            .unwrap()
            .open(recording.manifest())
            .unwrap();
        let files = path.join("cells");
        for file in fs::read_dir(committed.join("cells")).unwrap().flatten() {
            fs::copy(file.path(), files.join(file.file_name())).unwrap();
        }

        let margin = Margin::default();
        let rule = UntilArgs { margin, metrics: &[], baseline: None, budget: None };
        let output = Output::new(Color::Never);
        let summary = Summary { completed: 1, ..Summary::default() };
        let result = add_looks(&rule, &mut writer, 1, &output, &mut |writer| {
            let cells = Cells::read(&[writer.recording()], Keep::Metrics)?;
            let recordings = [writer.recording()];
            let comparison = preemptlab_analysis::comparison(&recordings, &cells, None, margin)?;
            // To read a cell again is an error from here on.
            for file in fs::read_dir(&files).unwrap().flatten() {
                fs::write(file.path(), "damaged").unwrap();
            }
            Ok(Executed { summary, cell_wall: Duration::ZERO, cells, comparison })
        });
        let (done, _) = result.map_err(|failure| format!("{failure:?}")).unwrap();
        assert_eq!(done, summary);
        let again = Cells::read(&[writer.recording()], Keep::Metrics);
        assert!(again.is_err(), "the cells are damaged");
    }
}
