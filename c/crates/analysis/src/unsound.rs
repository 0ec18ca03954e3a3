//! Cells in whose trace the bound is below an observed latency.

use preemptlab_experiment::Recording;
use preemptlab_model::Instants;

use crate::Cells;

/// Reason why the bound does not hold where a wakeup was later.
pub const UNSOUND: &str = "a wakeup waited for more than the longest stretch and a switch";

/// Counts the traced cells of each recording whose bound is only the observed maximum; names no
/// recording where every bound is sound.
pub fn notes(recordings: &[&Recording], cells: &Cells) -> Vec<String> {
    let mut notes = Vec::new();
    for (recording, cells) in recordings.iter().zip(cells.by_recording()) {
        let traced: Vec<&Instants> =
            cells.iter().filter_map(|cell| cell.instants.as_ref()).collect();
        let unsound = traced.iter().filter(|instants| !instants.is_sound()).count();
        if unsound > 0 {
            notes.push(format!(
                "{}: in {unsound} of {} cells latency.worst is what was observed and \
                 bounds nothing: {UNSOUND}",
                recording.path().display(),
                traced.len()
            ));
        }
    }
    notes
}
