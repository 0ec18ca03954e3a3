//! Kernel parameters that nothing but the kernel's command line shows.

use std::collections::BTreeSet;

use preemptlab_experiment::{Manifest, is_shown_by_cmdline_alone};

/// Names the parameters of executed cells whose only proof is /proc/cmdline.
pub fn notes(manifest: &Manifest) -> Vec<String> {
    let executed = manifest.plan.cells.iter().filter(|cell| cell.inputs().is_some());
    let levels: BTreeSet<_> = executed.map(|cell| &cell.factors.settings).collect();
    let mut words: Vec<String> = levels
        .into_iter()
        .flat_map(|level| level.iter())
        .filter(|setting| is_shown_by_cmdline_alone(setting))
        .map(ToString::to_string)
        .collect();
    words.sort();
    words.dedup();
    if words.is_empty() {
        return Vec::new();
    }
    let what = if words.len() == 1 { "this parameter acts on" } else { "these parameters act on" };
    vec![format!(
        "the proof of {} is in /proc/cmdline only: it is not known here what {what}, and a machine \
         without that shows no difference",
        words.join(", ")
    )]
}
