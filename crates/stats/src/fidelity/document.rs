use preemptlab_model::PreemptMode;
use schemars::JsonSchema;
use serde::Serialize;

/// The version of [`Fidelity`] as others read it. Fields may be added within a version.
pub const FIDELITY_FORMAT: u32 = 1;

/// Machines, and how well virtual time and other machines predict each of them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Fidelity {
    /// See [`FIDELITY_FORMAT`].
    pub format: u32,
    /// Name of the experiment.
    pub experiment: String,
    /// The predictions and then the machines, each in the order in which they were named.
    pub sources: Vec<FidelitySource>,
    /// Each machine by each source but itself.
    pub relations: Vec<FidelityRelation>,
}

/// A machine, or virtual time, with its results.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FidelitySource {
    /// Name of the machine, or of the prices: `amd-epyc with caches`, `instructions` for one price.
    pub name: String,
    /// Facts about the machine; absent for virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<FidelityMachine>,
    /// Its workloads, in the order of the experiment.
    pub workloads: Vec<FidelityWorkload>,
}

/// Facts about a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FidelityMachine {
    /// Description of it by its profile.
    pub description: String,
    /// Number of CPUs that are online.
    pub cpus: u32,
    /// Release of its kernel.
    pub release: String,
    /// Ticks of its kernel in a second; absent where nothing tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hz: Option<u32>,
    /// Preemption mode.
    pub preempt: PreemptMode,
    /// Whether the machine is itself a guest.
    pub hypervisor: bool,
    /// Number of replicates.
    pub replicates: u32,
}

/// A workload by its replicates.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FidelityWorkload {
    /// Name of the workload.
    pub workload: String,
    /// Throughput of the replicate with the most, per second: machines may share their hardware.
    pub throughput_per_s: f64,
    /// Latencies of the real-time probe beside it in microseconds, medians of the replicates; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wakeup_fifo_us: Option<FidelityWakeups>,
}

/// Latencies of a real-time probe, or their ratios to those of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FidelityWakeups {
    /// The median.
    pub p50: f64,
    /// The latency that one in a hundred exceeds.
    pub p99: f64,
    /// The largest latency.
    pub max: f64,
}

/// A machine by one source. An error is the larger of prediction and machine over the smaller; means are
/// geometric.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FidelityRelation {
    /// Index of the machine in `sources`.
    pub machine: usize,
    /// Index in `sources` of that which predicts it.
    pub by: usize,
    /// Ratio of prediction to machine, of each workload that both have.
    pub ratios: Vec<FidelityRatio>,
    /// Error of the ratio of two workloads, over all pairs.
    pub pairs: FidelityError,
    /// Error of each workload.
    pub workloads: FidelityError,
    /// The best constant factor: the geometric mean of machine over prediction.
    pub factor: f64,
    /// Error of each workload that is left after a multiplication by `factor`.
    pub with_factor: FidelityError,
}

/// Ratio of a prediction to a machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FidelityRatio {
    /// Name of the workload.
    pub workload: String,
    /// That of the throughput.
    pub throughput: f64,
    /// Those of the real-time probe's latencies; absent unless both have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wakeup_fifo: Option<FidelityWakeups>,
}

/// Errors of several predictions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FidelityError {
    /// Their mean.
    pub mean: f64,
    /// The largest.
    pub max: f64,
    /// Number of those up to 1.20.
    pub within_20_percent: usize,
    /// Number of those up to 1.25.
    pub within_25_percent: usize,
}
