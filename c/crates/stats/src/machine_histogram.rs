use preemptlab_model::{Histogram, Ranked};
use schemars::JsonSchema;
use serde::Serialize;
use ts_rs::TS;

/// Histogram that a tool wrote on a machine, which has a kind of time of its own: a clock, a processor and
/// a load that no recording has. It is one run, so it has no spread, and nothing is decided from it.
#[derive(Clone, Debug, PartialEq, Serialize, TS, JsonSchema)]
pub struct MachineHistogram {
    /// Path of its file, as it was named.
    pub file: String,
    /// Tool that wrote it: `cyclictest`, `rtla timerlat`, `rtla osnoise`, `oslat`.
    pub tool: String,
    /// Unit of the latencies.
    pub unit: String,
    /// Latencies of all threads or CPUs together, by context, and then of each.
    pub latencies: Vec<MachineLatency>,
}

/// Latencies of a machine in one context.
#[derive(Clone, Debug, PartialEq, Serialize, TS, JsonSchema)]
pub struct MachineLatency {
    /// Latency that was measured, such as `wakeup` or `timer interrupt`.
    pub of: String,
    /// The thread or CPU, such as `CPU 3`; absent where it is all of them together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub only: Option<String>,
    /// Whether it is the latency of a wakeup from a timer, as `wakeup.fifo` and `wakeup.other` are.
    pub is_wakeup: bool,
    /// Number of samples.
    #[ts(type = "number")]
    pub samples: u64,
    /// Least sample.
    pub min: MachineValue,
    /// Mean of the samples.
    pub avg: f64,
    /// The median.
    pub p50: MachineValue,
    /// The value that one sample in a hundred exceeds.
    pub p99: MachineValue,
    /// The value that one sample in a thousand exceeds.
    #[serde(rename = "p99.9")]
    pub p99_9: MachineValue,
    /// Largest sample.
    pub max: MachineValue,
}

/// Latency, as far as a file tells it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, TS, JsonSchema)]
pub struct MachineValue {
    /// The latency, or a bound from below.
    #[ts(type = "number")]
    pub value: u64,
    /// Whether the latency is above `value`, since its sample is in no bucket.
    pub is_above: bool,
}

impl MachineLatency {
    /// Returns the statistics of a histogram whose buckets end with one of `bucket_last`; `None` without
    /// samples.
    pub fn new(
        of: String,
        is_wakeup: bool,
        histogram: &Histogram,
        bucket_last: u64,
        min: u64,
        avg: f64,
    ) -> Option<Self> {
        let ranked = |parts| histogram.ranked(parts, bucket_last).map(MachineValue::from);
        Some(Self {
            of,
            only: None,
            is_wakeup,
            samples: histogram.count(),
            min: MachineValue { value: min, is_above: false },
            avg,
            p50: ranked(50_000)?,
            p99: ranked(99_000)?,
            p99_9: ranked(99_900)?,
            max: ranked(100_000)?,
        })
    }
}

impl From<Ranked> for MachineValue {
    fn from(ranked: Ranked) -> Self {
        match ranked {
            Ranked::Value(value) => Self { value, is_above: false },
            Ranked::Above(value) => Self { value, is_above: true },
        }
    }
}
