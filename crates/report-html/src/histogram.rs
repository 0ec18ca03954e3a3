use serde::{Deserialize, Serialize};

/// What one probe of one configuration saw, in all replicates together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// Such as `fifo`.
    pub probe: String,
    /// What the names of its metrics begin with, such as `wakeup.fifo`.
    pub metric_prefix: String,
    /// The unit of the values, such as `us`.
    pub unit: String,
    /// Values and how often each was seen, by ascending value.
    pub counts: Vec<(u64, u64)>,
    /// How many were above the largest value that the probe counts.
    pub overflow: u64,
    /// The largest of those, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overflow_max: Option<u64>,
}
