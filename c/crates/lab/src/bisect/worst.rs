use std::path::Path;

use preemptlab_analysis::{
    bisection::WorstWakeups,
    explain::{Explanation, choose},
};
use preemptlab_experiment::Recording;
use preemptlab_model::MetricName;

use crate::gate::LABELS;

/// Explains the worst wakeups of a gate's recording. Without a trace, a real-time probe or one mode
/// there is nothing to explain, and the search has its result without it.
pub fn worst(path: &Path) -> Option<WorstWakeups> {
    let recording = Recording::open(path).ok()?;
    let latency = MetricName::latest(false);
    let [before, after] = LABELS.map(|label| choose(&recording, Some(label), &latency).ok());
    let (before, after) = (before?, after?);
    let explanation = |cell| Explanation::new(&recording, cell, false, 1).ok();
    let (before, after) = (explanation(&before)?, explanation(&after)?);
    Some(WorstWakeups { before: before.sentence(), after: after.sentence() })
}
