use preemptlab_model::Distribution;
use serde::Serialize;
use ts_rs::TS;

/// Samples of one probe of one configuration, in all replicates together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct Histogram {
    /// Distribution of the samples, such as `wakeup.fifo`.
    #[ts(as = "String")]
    pub of: Distribution,
    /// Name of the distribution for people: `FIFO wakeup`.
    pub title: String,
    /// The unit of the values, such as `us`.
    pub unit: String,
    /// Values and how often each was seen, by ascending value.
    #[ts(type = "[number, number][]")]
    pub counts: Vec<(u64, u64)>,
    /// Number of samples above the largest value that the probe counts.
    #[ts(as = "u32")]
    pub overflow: u64,
    /// The largest of those, where it is known.
    #[ts(as = "Option<u32>")]
    pub overflow_max: Option<u64>,
}
