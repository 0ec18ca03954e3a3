//! Compares the cost and the benefit of two models, counted as in Rowand's slides: "added 2
//! schedule with context switch, + shorter wakeup latency".

use std::fmt;

use preemptlab_model::VirtualDuration;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Model, Outcome};

/// The counts of a trace of the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// Calls of `schedule` that switched to another task.
    pub switches: u64,
    /// All calls of it.
    pub schedule_calls: u64,
}

/// A scenario played under one model.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// Model of the outcome.
    pub model: Model,
    /// Outcome of playing the scenario.
    pub outcome: &'a Outcome,
    /// The counts of its trace; `None` without a trace.
    pub counts: Option<Counts>,
}

/// The difference between a model and a reference model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Score {
    /// Model that is scored.
    pub model: Model,
    /// Model that it is compared with.
    pub reference: Model,
    /// Number of context switches that the model adds; negative if it saves some. `None` unless
    /// both were counted.
    pub added_switches: Option<i64>,
    /// Number of calls of `schedule` that the model adds, in the same form.
    pub added_schedule_calls: Option<i64>,
    /// Every wait of both that has a latency under both.
    pub waits: Vec<WaitScore>,
}

/// A wait under two models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WaitScore {
    /// Name of the thread.
    pub thread: String,
    /// Index of its wait, counting from 1.
    pub wait: usize,
    /// Latency of the wait under the model.
    pub latency_ns: u64,
    /// Latency of the wait under the reference.
    pub reference_latency_ns: u64,
}

/// Scores every model against the first.
pub fn score(columns: &[Column<'_>]) -> Vec<Score> {
    let Some((reference, others)) = columns.split_first() else { return Vec::new() };
    others.iter().map(|column| against(column, reference)).collect()
}

fn against(column: &Column<'_>, reference: &Column<'_>) -> Score {
    let added = |count: fn(Counts) -> u64| {
        let (here, there) = (count(column.counts?), count(reference.counts?));
        i64::try_from(i128::from(here) - i128::from(there)).ok()
    };
    let mut waits = Vec::new();
    for (here, there) in column.outcome.threads.iter().zip(&reference.outcome.threads) {
        for (number, (wait, other)) in here.waits.iter().zip(&there.waits).enumerate() {
            let (Some(latency_ns), Some(reference_latency_ns)) =
                (wait.latency_ns, other.latency_ns)
            else {
                continue;
            };
            let (thread, wait) = (here.name.clone(), number + 1);
            waits.push(WaitScore { thread, wait, latency_ns, reference_latency_ns });
        }
    }
    Score {
        model: column.model,
        reference: reference.model,
        added_switches: added(|counts| counts.switches),
        added_schedule_calls: added(|counts| counts.schedule_calls),
        waits,
    }
}

impl WaitScore {
    /// Returns whether the latencies differ by more than the noise: 1 % of the longer, and 50 us at
    /// least.
    pub fn differs(&self) -> bool {
        let longer = self.latency_ns.max(self.reference_latency_ns);
        self.latency_ns.abs_diff(self.reference_latency_ns) > (longer / 100).max(50_000)
    }
}

impl fmt::Display for Score {
    /// Writes the lines of a slide: `+` marks a better value, `-` a worse one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(added) = self.added_switches.filter(|added| *added != 0) {
            let verb = if added < 0 { "saved" } else { "added" };
            writeln!(f, "  {verb} {} schedule with context switch", added.unsigned_abs())?;
        }
        for wait in self.waits.iter().filter(|wait| wait.differs()) {
            let (sign, word) = match wait.latency_ns < wait.reference_latency_ns {
                true => ("+", "shorter"),
                false => ("-", "longer"),
            };
            let of = match wait.wait {
                1 => wait.thread.clone(),
                number => format!("{} (wait {number})", wait.thread),
            };
            let time = VirtualDuration::from_ns;
            writeln!(
                f,
                "{sign} {word} wakeup latency of {of}: {}, not {}",
                time(wait.latency_ns),
                time(wait.reference_latency_ns)
            )?;
        }
        Ok(())
    }
}
