//! Disturbances of recordings in the machine's own time.

use std::collections::BTreeMap;

use preemptlab_experiment::Recording;
use preemptlab_model::{BackendKind, counted};
use preemptlab_recording::RecordingError;

/// Counts by disturbance the cells of each recording that were disturbed; none in virtual time.
///
/// # Errors
///
/// When a cell cannot be read.
pub fn notes(recordings: &[&Recording]) -> Result<Vec<String>, RecordingError> {
    let mut notes = Vec::new();
    for recording in recordings.iter().filter(|each| !each.manifest().backend.is_vm()) {
        let mut counts = BTreeMap::<String, usize>::new();
        let (mut cells, mut guests) = (0_usize, 0_usize);
        for cell in recording.cells() {
            let Some(conditions) = cell?.1.and_then(|record| record.conditions) else { continue };
            cells += 1;
            guests += usize::from(conditions.hypervisor);
            for disturbance in conditions.disturbances() {
                *counts.entry(disturbance).or_default() += 1;
            }
        }
        let path = recording.path().display();
        if guests > 0 && recording.manifest().backend == BackendKind::Host {
            notes.push(format!(
                "{path} was measured on a virtual machine, whose hypervisor is part of its latencies"
            ));
        }
        notes.extend(counts.iter().map(|(what, count)| {
            format!("{path}: in {count} of {} {what}", counted(cells, "cell"))
        }));
    }
    Ok(notes)
}
