//! Disturbances of recordings in the machine's own time.

/// The load average, in hundredths, from which on a machine was busy when a run began on it: one other task
/// ran or waited all of the time.
const BUSY_CENTI: u32 = 100;

use std::collections::BTreeMap;

use preemptlab_experiment::Recording;
use preemptlab_model::{BackendKind, counted};

use crate::Cells;

/// Counts by disturbance the cells of each recording that were disturbed; none in virtual time.
pub fn notes(recordings: &[&Recording], cells: &Cells) -> Vec<String> {
    let mut notes = Vec::new();
    let parts = recordings.iter().zip(cells.by_recording());
    for (recording, measured) in parts.filter(|(each, _)| !each.manifest().backend.is_vm()) {
        let mut counts = BTreeMap::<String, usize>::new();
        let (mut cells, mut guests) = (0_usize, 0_usize);
        let mut busiest_centi = 0;
        for conditions in measured.iter().filter_map(|cell| cell.conditions.as_ref()) {
            cells += 1;
            guests += usize::from(conditions.hypervisor);
            // Later ones have the load of the cells before them in it.
            if conditions.order == 0 {
                busiest_centi = busiest_centi.max(conditions.load_average_centi.unwrap_or(0));
            }
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
        if busiest_centi >= BUSY_CENTI {
            notes.push(format!(
                "{path}: the machine was busy with other work when its cells began (a load average of \
                 {}.{:02}), which spoils what they measured: measure again on an idle machine",
                busiest_centi / 100,
                busiest_centi % 100
            ));
        }
        notes.extend(counts.iter().map(|(what, count)| {
            format!("{path}: in {count} of {} {what}", counted(cells, "cell"))
        }));
    }
    notes
}
