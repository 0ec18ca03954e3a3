use serde::{Deserialize, Serialize};

/// Which way a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// As latencies are.
    Lower,
    /// As throughput is.
    Higher,
}

/// What a metric is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricInfo {
    /// Such as `wakeup.fifo.p99`.
    pub name: String,
    /// Such as `us`, `messages/s` or `periods`.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// Whether it is shown before anybody asks for all metrics.
    pub headline: bool,
}

/// One metric of one configuration over its replicates, in the unit of its [`MetricInfo`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricValues {
    /// The name of its [`MetricInfo`].
    pub name: String,
    /// One per replicate that was measured.
    pub values: Vec<ReplicateValue>,
    /// The median of `values`.
    pub median: f64,
    /// The least of `values`.
    pub min: f64,
    /// The largest of `values`.
    pub max: f64,
    /// A 95 % interval of the median, where there are enough replicates for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// The median divided by the baseline's, where that is possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// A 95 % interval of the ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_interval: Option<[f64; 2]>,
    /// What the comparison with the baseline says; absent for the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<Word>,
    /// About how many more replicates would decide what is undecided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<u32>,
    /// What else is to be known, such as a fit of the extremes, or why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What one replicate measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplicateValue {
    /// Counts from 1.
    pub replicate: u32,
    /// In the unit of the metric.
    pub value: f64,
}

/// A metric compared with the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// Better than the baseline.
    Better,
    /// Worse than the baseline.
    Worse,
    /// Within the margin.
    Same,
    /// The replicates do not tell.
    Undecided,
}
