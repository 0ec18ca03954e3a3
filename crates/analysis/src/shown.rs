//! Kernel parameters that nothing but the kernel's command line shows.

use preemptlab_experiment::{Experiment, is_shown_by_cmdline_alone};

/// Names the parameters of an experiment whose only proof is /proc/cmdline.
pub fn notes(experiment: &Experiment) -> Vec<String> {
    let mut words: Vec<String> = experiment
        .factors
        .settings
        .iter()
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
