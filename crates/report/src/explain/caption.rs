//! How to read the times of a cell.

use preemptlab_analysis::explain::Chosen;
use preemptlab_model::{Pricing, Profile};

/// Writes the caption of a cell's numbers, which states once how to read them.
pub fn time_caption(cell: &Chosen) -> String {
    let machine = &cell.inputs.snapshot.machine;
    let time = match machine.prices.as_deref() {
        None => "instructions, not a promise about hardware".to_owned(),
        Some(Pricing { of: Profile { name, machine, caches, .. }, .. }) => {
            let caches = caches.as_ref().map_or("", |_| " and what they miss in its caches");
            format!(
                "those of {machine} (profile {name}), by the prices of its instructions{caches}"
            )
        }
    };
    format!(
        "Times are virtual: {time}. The traced execution is the same to the byte as the one without a \
         trace."
    )
}
