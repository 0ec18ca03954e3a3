//! From recordings to what their cells measured.

use preemptlab_model::{CellRecord, ModeFile, Outcome, Planned, PlannedCell, PreemptMode};
use preemptlab_recording::{Manifest, Recording, RecordingError};
use preemptlab_stats::{Direction, MeasuredCell, Metric, NoResult};

/// The measured cells of recordings, in the order of their plans.
pub fn cells(recordings: &[&Recording]) -> Result<Vec<MeasuredCell>, RecordingError> {
    let mut measured = Vec::new();
    for recording in recordings {
        let run = (recordings.len() > 1).then(|| recording.path().display().to_string());
        let manifest = recording.manifest();
        for cell in recording.cells() {
            let (planned, record) = cell?;
            let bound = match &record {
                Some(record) => bound(recording, record)?,
                None => Vec::new(),
            };
            measured.push(MeasuredCell {
                run: run.clone(),
                factors: planned.factors.clone(),
                rt: manifest.kernel(&planned.factors.kernel).and_then(|kernel| kernel.rt),
                observed: record.as_ref().and_then(observed),
                look: 0,
                result: result(manifest, planned, record)
                    .map(|metrics| metrics.into_iter().chain(bound).collect()),
            });
        }
    }
    Ok(measured)
}

/// What a cell's trace says of the wakeups that did not happen.
fn bound(recording: &Recording, record: &CellRecord) -> Result<Vec<Metric>, RecordingError> {
    let findings = recording.traces().findings(record.id)?;
    let Some(bound) = findings.and_then(|findings| findings.bound) else {
        return Ok(Vec::new());
    };
    let metric = |name: &str, ns: u64| Metric {
        name: name.to_owned(),
        value: ns as f64 / 1e3,
        unit: "us",
        direction: Direction::Lower,
    };
    Ok(vec![metric("wakeup.bound.p99.9", bound.p99_9_ns), metric("wakeup.bound", bound.max_ns)])
}

fn result(
    manifest: &Manifest,
    planned: &PlannedCell,
    record: Option<CellRecord>,
) -> Result<Vec<Metric>, NoResult> {
    if let Planned::Unavailable { reason } = &planned.planned {
        return Err(NoResult::Unavailable(reason.clone()));
    }
    let Some(CellRecord { inputs, outcome, .. }) = record else {
        return Err(NoResult::Failed("not executed yet".to_owned()));
    };
    match outcome {
        Outcome::Unavailable { reason, .. } => Err(NoResult::Unavailable(reason)),
        Outcome::Failed { reason, .. } => Err(NoResult::Failed(reason)),
        Outcome::Completed { report, .. } => manifest
            .experiment
            .workload
            .get(&planned.factors.workload)
            .ok_or_else(|| "its workload is not in the experiment".to_owned())
            .and_then(|workload| {
                workload.measure(&inputs, &report).map_err(|error| error.to_string())
            })
            .map(|measurements| measurements.metrics())
            .map_err(NoResult::Failed),
    }
}

fn observed(record: &CellRecord) -> Option<PreemptMode> {
    let Outcome::Completed { report, .. } = &record.outcome else { return None };
    ModeFile::parse(report.system.preempt.as_deref()?).active
}
