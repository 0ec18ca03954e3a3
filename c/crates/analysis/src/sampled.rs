//! Cells whose latency is known from samples alone.

use std::collections::BTreeMap;

use preemptlab_experiment::Recording;
use preemptlab_model::counted;
use preemptlab_recording::RecordingError;

use crate::Cells;

/// Reason of a cell that tells none.
const OLDER: &str = "an earlier preemptlab executed them, and `run --trace` does it again";

/// Says of each kernel whose cells in virtual time were not measured at every instant that its latency is
/// that of samples, and why: once for each reason.
///
/// # Errors
///
/// When the reason why a cell has no findings cannot be read.
pub fn notes(recording: &Recording, cells: &Cells) -> Result<Vec<String>, RecordingError> {
    let manifest = recording.manifest();
    if !manifest.backend.is_vm() {
        return Ok(Vec::new());
    }
    let traces = recording.traces();
    let mut found: BTreeMap<(String, String), usize> = BTreeMap::new();
    for cell in cells.all().iter().filter(|cell| cell.is_completed()) {
        if let Some(id) = cell.id.filter(|id| !traces.has_findings(*id)) {
            let reason = traces.unmeasured(id)?.unwrap_or_else(|| OLDER.to_owned());
            *found.entry((cell.factors.kernel.to_string(), reason)).or_default() += 1;
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
