//! Cells whose latency is known from samples alone.

use std::collections::BTreeMap;

use preemptlab_experiment::Recording;
use preemptlab_model::{Outcome, counted};
use preemptlab_recording::RecordingError;

/// Reason of a cell that tells none.
const OLDER: &str = "an earlier preemptlab executed them, and `run --trace` does it again";

/// Says of each kernel whose cells in virtual time were not measured at every instant that its latency is
/// that of samples, and why: once for each reason.
///
/// # Errors
///
/// When a cell, or the reason why it has no findings, cannot be read.
pub fn notes(recording: &Recording) -> Result<Vec<String>, RecordingError> {
    let manifest = recording.manifest();
    if !manifest.backend.is_vm() {
        return Ok(Vec::new());
    }
    let traces = recording.traces();
    let mut found: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (_, planned) in recording.planned() {
        let Some(inputs) = planned.inputs() else { continue };
        let id = inputs.id();
        if traces.has_findings(id) {
            continue;
        }
        let is_completed = |outcome: &Outcome| matches!(outcome, Outcome::Completed { .. });
        if recording.cell(id)?.is_some_and(|cell| is_completed(&cell.outcome)) {
            let reason = traces.unmeasured(id)?.unwrap_or_else(|| OLDER.to_owned());
            *found.entry((planned.factors.kernel.to_string(), reason)).or_default() += 1;
        }
    }
    let note = |((kernel, reason), cells)| {
        let cells = counted(cells, "cell");
        format!(
            "{kernel}: latency is what the probes sampled, in {cells} without a measurement at every \
             instant: {reason}"
        )
    };
    Ok(found.into_iter().map(note).collect())
}
