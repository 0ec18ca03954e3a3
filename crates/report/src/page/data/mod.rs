//! The data of the pages, as their scripts read them.

mod atlas;
mod cells;
mod histogram;
mod provenance;

use std::collections::BTreeMap;

use preemptlab_stats::Comparison;
use serde::Serialize;
use ts_rs::TS;

pub use atlas::{AtlasCause, AtlasClass, AtlasColumn, AtlasData, AtlasDetails, AtlasFunction};
pub use cells::CellRow;
pub use histogram::Histogram;
pub use provenance::{ImageUsed, KernelUsed, QemuUsed};

/// Everything that the page shows: a comparison as `compare --format json` prints it, and evidence.
/// Every text in it may be hostile, except [`Timeline::svg`] and [`Instants::svg`].
#[derive(Clone, Debug, PartialEq, Serialize, TS)]
pub struct PageData {
    /// Comparison, whose fields stand among those of the page.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// Title of the comparison, for the heading and the window.
    pub title: String,
    /// Program that made the page, such as `preemptlab 0.1.0`.
    pub generator: String,
    /// Meaning of virtual time, which the page states once.
    pub caption: String,
    /// Result of the comparison, in one sentence.
    pub headline: String,
    /// Grounds of the result and further notes; a sentence each.
    pub points: Vec<String>,
    /// Latencies at every instant, of each group in which they are known.
    pub instants: Vec<Instants>,
    /// Evidence, one per configuration of each group, in their order.
    pub evidence: Vec<Evidence>,
    /// The kernels, of each recording.
    pub kernels: Vec<KernelUsed>,
    /// The builds of QEMU, of each recording.
    pub qemu: Vec<QemuUsed>,
    /// The guest images, of each recording.
    pub images: Vec<ImageUsed>,
    /// The kernels' distinct command lines; [`CellRow::command_line`] is an index into them.
    pub command_lines: Vec<String>,
    /// Every cell of the plan, in its order.
    pub cells: Vec<CellRow>,
}

/// Evidence of a configuration's numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct Evidence {
    /// The index of its group.
    pub group: usize,
    /// The index of the configuration in the group.
    pub configuration: usize,
    /// Histograms, one per probe, merged over the replicates.
    pub histograms: Vec<Histogram>,
    /// The worst wakeups, where they were explained.
    pub timelines: Vec<Timeline>,
    /// Further notes by the name of their metric: the fit of its maxima, or the reason why there is
    /// none.
    pub notes: BTreeMap<String, String>,
}

/// Latencies of a group's configurations at every instant, as a picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct Instants {
    /// The index of the group.
    pub group: usize,
    /// Complete SVG with a `viewBox`, that preemptlab drew, with all texts escaped.
    pub svg: String,
}

/// Timeline of one late wakeup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct Timeline {
    /// Name of the cell and of its wakeup.
    pub caption: String,
    /// Cause of the latency, in a sentence.
    pub sentence: String,
    /// Complete SVG with a `viewBox`. It becomes a part of the page, so it must be one that
    /// preemptlab drew, with the guest's texts escaped.
    pub svg: String,
}
