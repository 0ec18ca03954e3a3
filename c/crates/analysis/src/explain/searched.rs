//! The result of a search for the worst wakeups.

use preemptlab_trace::Timeline;
use schemars::JsonSchema;
use serde::Serialize;

use super::hunt::{Hunt, Step};
use crate::wakeup::cause_in_words;

/// The worst wakeups of a recording's configurations.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Searched {
    /// Version of the document.
    pub format: u32,
    /// The configurations, in the order of their searches.
    pub configurations: Vec<SearchedConfiguration>,
    #[serde(skip)]
    hunts: Vec<Hunt>,
}

/// The worst wakeup of a configuration.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchedConfiguration {
    /// Name of the configuration.
    pub configuration: String,
    /// Number of cells whose stretches were searched.
    pub seeds: usize,
    /// The largest latency in the recording, in nanoseconds.
    pub recorded_ns: u64,
    /// The largest latency that was executed, in nanoseconds.
    pub worst_ns: u64,
    /// The replicate whose cell has it.
    pub replicate: u32,
    /// The cause that took most of it; `None` where it is not known.
    pub cause: Option<String>,
    /// The time that the longest stretch makes a wakeup take by calculation, in nanoseconds.
    pub bound_ns: u64,
    /// Number of executions.
    pub executions: usize,
    /// Whether no stretch is left that could make a wakeup later.
    pub exhausted: bool,
    /// How the worst grew, from the recorded one on.
    pub growth: Vec<Step>,
}

impl Searched {
    /// Returns the results of searches, in their order.
    pub fn new(hunts: Vec<Hunt>) -> Self {
        let configurations = hunts.iter().map(|hunt| {
            let worst = hunt.worst();
            SearchedConfiguration {
                configuration: hunt.name().to_owned(),
                seeds: hunt.seeds(),
                recorded_ns: hunt.recorded_ns(),
                worst_ns: worst.latency_ns,
                replicate: worst.replicate,
                cause: worst.timeline.as_ref().map(cause_in_words),
                bound_ns: hunt.bound_ns(),
                executions: hunt.executions(),
                exhausted: hunt.is_exhausted(),
                growth: hunt.growth().to_vec(),
            }
        });
        Self { format: 1, configurations: configurations.collect(), hunts }
    }

    /// Returns the timeline of the worst wakeup of all; `None` where the trace does not show it.
    pub fn worst(&self) -> Option<&Timeline> {
        let worst = self.hunts.iter().map(Hunt::worst).max_by_key(|worst| worst.latency_ns);
        worst.and_then(|worst| worst.timeline.as_ref())
    }
}
