//! The latencies of configurations at every instant, for pictures.

use preemptlab_analysis::Cells;
use preemptlab_stats::Comparison;

use crate::{LatencyCurve, LatencyCurves, label};

/// Returns the curves of each group of a comparison in which every instant was measured, with the group's
/// index.
pub fn latency_curves(cells: &Cells, comparison: &Comparison) -> Vec<(usize, LatencyCurves)> {
    let groups = comparison.groups.iter().enumerate().map(|(at, group)| {
        let curves = group.configurations.iter().filter_map(|configuration| {
            let spread = cells.spread(group, configuration)?;
            if spread.curve.later.is_empty() {
                return None;
            }
            Some(LatencyCurve {
                kernel: label::kernel(configuration),
                preempt: configuration.preempt,
                later: spread.curve.shares().collect(),
                worst_us: spread.worst_ns as f64 / 1e3,
            })
        });
        (at, LatencyCurves { title: label::group(group), curves: curves.collect() })
    });
    groups.filter(|(_, group)| !group.curves.is_empty()).collect()
}
