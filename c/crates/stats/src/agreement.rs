use preemptlab_model::{BackendKind, KernelRef, MetricName, PreemptMode, PricesOf, Settings};
use schemars::JsonSchema;
use serde::Serialize;
use ts_rs::TS;

use crate::{Baseline, Effect};

/// Two kinds of time, in which the same configurations were measured.
#[derive(Clone, Debug, PartialEq, Serialize, TS, JsonSchema)]
pub struct Agreement {
    /// The workload's name in the experiment.
    pub workload: String,
    /// Number of CPUs.
    pub cpus: u32,
    /// The kinds of time.
    pub backends: [BackendKind; 2],
    /// Profiles that instructions have their prices from; two of one backend differ in them.
    #[serde(skip_serializing_if = "are_none")]
    #[ts(as = "Option<[Option<String>; 2]>", optional)]
    pub profiles: [Option<PricesOf>; 2],
    /// Baseline of the ratios, under the name that the first group has for it.
    #[ts(as = "String")]
    #[schemars(with = "String")]
    pub baseline: Baseline,
    /// Ratios that both have, in the order of the first.
    pub shared: Vec<Shared>,
}

fn are_none(profiles: &[Option<PricesOf>; 2]) -> bool {
    profiles.iter().all(Option::is_none)
}

/// A metric of a configuration that two kinds of time have.
#[derive(Clone, Debug, PartialEq, Serialize, TS, JsonSchema)]
pub struct Shared {
    /// The kernel in each.
    #[ts(as = "[String; 2]")]
    pub kernels: [KernelRef; 2],
    /// Preemption mode.
    pub preempt: PreemptMode,
    /// Settings besides the mode.
    #[ts(as = "String")]
    pub settings: Settings,
    /// Name of the metric.
    #[ts(as = "String")]
    pub metric: MetricName,
    /// Relation to the baseline in each kind of time.
    pub effects: [Effect; 2],
    /// Agreement of the two kinds of time.
    pub accord: Accord,
}

/// Whether two kinds of time agree on a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, TS, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Accord {
    /// The ratio lies on the same side of 1 in both, or both call it the same.
    Agree,
    /// The two kinds of time disagree.
    Disagree,
    /// One of them is undecided.
    Open,
}

impl Accord {
    /// Returns `agree`, `disagree` or `open`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agree => "agree",
            Self::Disagree => "disagree",
            Self::Open => "open",
        }
    }
}
