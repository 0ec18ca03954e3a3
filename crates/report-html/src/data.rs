use std::collections::BTreeMap;

use preemptlab_stats::Comparison;
use serde::Serialize;
use ts_rs::TS;

use crate::{CellRow, Histogram, ImageUsed, KernelUsed, QemuUsed};

/// Everything that the page shows: a comparison as `compare --format json` prints it, and evidence.
/// Every text in it may be hostile, except [`Timeline::svg`].
#[derive(Clone, Debug, PartialEq, Serialize, TS)]
pub struct PageData {
    /// What is compared; its fields stand among those of the page.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// What was compared, for the heading and the window.
    pub title: String,
    /// What made the page, such as `preemptlab 0.1.0`.
    pub generator: String,
    /// What virtual time means; the page says it once.
    pub caption: String,
    /// What the comparison says, in one sentence.
    pub headline: String,
    /// What that rests on, and what else is to be known; a sentence each.
    pub points: Vec<String>,
    /// One per configuration of each group, in their order.
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

/// What the numbers of a configuration rest on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct Evidence {
    /// The index of its group.
    pub group: usize,
    /// The index of the configuration in the group.
    pub configuration: usize,
    /// One per probe, merged over the replicates.
    pub histograms: Vec<Histogram>,
    /// The worst wakeups, where they were explained.
    pub timelines: Vec<Timeline>,
    /// What else is to be known of a metric, by its name: the fit of its maxima, or why there is none.
    pub notes: BTreeMap<String, String>,
}

/// What happened around one late wakeup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct Timeline {
    /// Which wakeup of which cell.
    pub caption: String,
    /// Why it was late.
    pub sentence: String,
    /// A complete SVG with a `viewBox`. It becomes a part of the page, so it has to be one that
    /// preemptlab drew, with what the guest said escaped.
    pub svg: String,
}
