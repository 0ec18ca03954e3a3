use preemptlab_analysis::cells::Reading;
use preemptlab_model::{MeasuredCell, Section};
use preemptlab_trace::Curve;

use super::Probe;

/// Cell of a recording with everything that the tables have rows of.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedCell {
    /// The cell; its `run` names the recording.
    pub cell: MeasuredCell,
    /// Distributions that its probes measured.
    pub probes: Vec<Probe>,
    /// Instants that are later than each latency; empty where they were not measured.
    pub curve: Curve,
}

impl ExportedCell {
    /// Names the recording of a cell that was read.
    pub(crate) fn new(reading: Reading, run: &str) -> Self {
        let Reading { cell, latencies, curve, .. } = reading;
        // Workloads count latencies in whole microseconds.
        let probes = latencies.into_iter().map(|latency| Probe {
            of: latency.of,
            histogram: latency.histogram,
            unit: "us",
        });
        let probes = probes.collect();
        Self { cell: MeasuredCell { run: Some(run.to_owned()), ..cell }, probes, curve }
    }

    /// Returns the rows of the curve, ascending by latency.
    pub(crate) fn instants(&self) -> impl Iterator<Item = LaterInstants> {
        let window_ns = self.curve.window_ns;
        let later = self.curve.later.iter();
        later.map(move |&(latency_ns, later_ns)| LaterInstants { latency_ns, later_ns, window_ns })
    }

    /// Returns the sections of a cell that was measured, the longest first.
    pub(crate) fn sections(&self) -> impl Iterator<Item = &Section> {
        self.cell.sections.iter().filter(|_| self.cell.result.is_ok()).flatten()
    }
}

/// A row of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaterInstants {
    pub latency_ns: u64,
    pub later_ns: u64,
    pub window_ns: u64,
}
