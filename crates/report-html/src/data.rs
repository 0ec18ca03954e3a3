use serde::{Deserialize, Serialize};

use crate::{CellRow, Histogram, ImageUsed, KernelUsed, MetricInfo, MetricValues, QemuUsed};

/// The version of [`PageData`]. Fields may be added within a version.
pub const FORMAT: u32 = 1;

/// Everything that the page shows. Every text in it may be hostile, except [`Timeline::svg`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageData {
    /// See [`FORMAT`].
    pub format: u32,
    /// What was compared, for the heading and the window.
    pub title: String,
    /// What made the page, such as `preemptlab 0.1.0`.
    pub generator: String,
    /// What virtual time means; the page says it once.
    pub caption: String,
    /// Two configurations whose ratio is within this of 1 are the same; `0.05` is 5 %.
    pub margin: f64,
    /// What the comparison says, in words.
    pub verdict: Verdict,
    /// One per workload and number of CPUs, in the order of the plan.
    pub groups: Vec<Group>,
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

/// What the comparison says, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// One sentence.
    pub headline: String,
    /// What it rests on, and what else is to be known; a sentence each.
    pub points: Vec<String>,
}

/// What can be compared with each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The workload's name in the experiment.
    pub workload: String,
    /// Virtual CPUs.
    pub cpus: u32,
    /// Planned replicates.
    pub replicates: usize,
    /// The index in `configurations` of the one that ratios refer to.
    pub baseline: Option<usize>,
    /// The metrics that any configuration has, in the order in which they are shown.
    pub metrics: Vec<MetricInfo>,
    /// In the order of the plan.
    pub configurations: Vec<Configuration>,
}

/// Cells that differ in nothing but the replicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// The recording, when several are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The kernel's name in the experiment, such as `debian:6.12-rt`.
    pub kernel: String,
    /// Whether the kernel is built with `PREEMPT_RT`, where that is known.
    pub rt: Option<bool>,
    /// The requested mode, such as `full`.
    pub mode: String,
    /// The modes that the guest observed.
    pub observed: Vec<String>,
    /// Planned replicates.
    pub replicates: usize,
    /// Why there can be no measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
    /// The replicates that failed.
    pub failures: Vec<Failure>,
    /// How many of its cells were not executed yet.
    pub missing: usize,
    /// The metrics; none if no replicate was measured.
    pub metrics: Vec<MetricValues>,
    /// One per probe, merged over the replicates.
    pub histograms: Vec<Histogram>,
    /// The worst wakeups, where they were explained.
    pub timelines: Vec<Timeline>,
}

/// A replicate that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Counts from 1.
    pub replicate: u32,
    /// Why.
    pub reason: String,
}

/// What happened around one late wakeup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// Which wakeup of which cell.
    pub caption: String,
    /// Why it was late.
    pub sentence: String,
    /// A complete SVG with a `viewBox`. It becomes a part of the page, so it has to be one that
    /// preemptlab drew, with what the guest said escaped.
    pub svg: String,
}
