//! Distributions of a configuration, over all of its cells together.

use preemptlab_model::{CellCost, Distribution, Factors, Histogram, MeasuredCell, PricesOf};
use preemptlab_stats::{Configuration, Group};
use preemptlab_trace::Curve;

use super::Reading;

/// A configuration: the recording, when there are several, where its prices are from, and the factors
/// without the replicate and without the machine, which the prices say.
pub type Key = (Option<String>, Option<PricesOf>, Factors);

/// Distributions of a configuration.
#[derive(Default)]
pub struct Spread {
    /// Histograms by probe.
    pub histograms: Vec<(Distribution, Histogram)>,
    /// Instants that are later than each latency; empty where they were not measured.
    pub curve: Curve,
    /// The worst instant, in nanoseconds.
    pub worst_ns: u64,
}

impl Spread {
    pub(super) fn add(&mut self, reading: &Reading) {
        for latency in &reading.latencies {
            match self.histograms.iter_mut().find(|(name, _)| *name == latency.of) {
                Some((_, histogram)) => histogram.merge(&latency.histogram),
                None => self.histograms.push((latency.of.clone(), latency.histogram.clone())),
            }
        }
        if let Some(instants) = &reading.cell.instants
            && !reading.curve.later.is_empty()
        {
            self.curve.merge(&reading.curve);
            self.worst_ns = self.worst_ns.max(instants.worst_ns);
        }
    }
}

/// Returns the key of a cell's configuration.
pub fn key_of_cell(cell: &MeasuredCell) -> Key {
    let prices = cell.cost.as_ref().and_then(CellCost::prices_of).cloned();
    let factors = cell.factors.clone();
    (cell.run.clone(), prices, Factors { replicate: 0, machine: None, ..factors })
}

/// Returns the key of a comparison's configuration.
pub fn key_of(group: &Group, configuration: &Configuration) -> Key {
    let factors = Factors {
        machine: None,
        workload: group.workload.clone(),
        kernel: configuration.kernel.clone(),
        preempt: configuration.preempt,
        cpus: group.cpus,
        settings: configuration.settings.clone(),
        replicate: 0,
    };
    (configuration.run.clone(), group.profile.clone(), factors)
}
