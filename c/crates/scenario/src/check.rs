//! Compares outcomes with expectations.

use std::fmt;

use preemptlab_model::VirtualDuration;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Expectation, Expected, Model, Outcome, Scenario};

/// The least that a time may be off.
const WITHIN_NS_MIN: u64 = 50_000;

/// An expectation that applies to a model and a kernel, with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Checked {
    /// Line in the scenario's file, counting from 1.
    pub line: usize,
    /// The thread; `None` when it is of the whole.
    pub thread: Option<String>,
    /// `wakes`, `latency`, `latency_max`, `blocked`, `blocked_max`, `finishes`, `finishes_before` or
    /// `deadlock`.
    pub subject: &'static str,
    /// Index of the thread's wait, counting from 1, for an expectation of a wait.
    pub wait: Option<usize>,
    /// Expected value.
    pub expected: Value,
    /// Tolerance of a time, in nanoseconds.
    pub within_ns: Option<u64>,
    /// The observed value; `None` when the event never happened.
    pub found: Option<Value>,
    /// Whether the expectation is met.
    pub met: bool,
    /// Reason why this kernel is expected to differ.
    pub because: Option<String>,
}

/// An expected or observed value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// A time from the scenario's start, or a latency, in nanoseconds.
    Ns(u64),
    /// A limit of a time, in nanoseconds.
    NsMax(u64),
    /// The thread that finishes first of two.
    First(String),
    /// Whether some thread never finishes.
    Deadlock(bool),
}

/// Checks the expectations of a scenario that apply to a model on a kernel of a series, such as
/// `6.12`. The list holds no others.
pub fn check(scenario: &Scenario, outcome: &Outcome, model: Model, series: &str) -> Vec<Checked> {
    let limited = |expectation: &&Expectation| {
        expectation.kernels.iter().any(|kernel| kernel == series)
            && expectation.expected.covers(model)
    };
    let own: Vec<_> = scenario
        .expectations()
        .iter()
        .filter(limited)
        .map(|expectation| expectation.expected.subject())
        .collect();
    scenario
        .expectations()
        .iter()
        .filter(|expectation| match expectation.kernels.is_empty() {
            true => !own.contains(&expectation.expected.subject()),
            false => limited(expectation),
        })
        .filter_map(|expectation| checked(scenario, outcome, model, expectation))
        .collect()
}

fn checked(
    scenario: &Scenario,
    outcome: &Outcome,
    model: Model,
    expectation: &Expectation,
) -> Option<Checked> {
    let threads = &outcome.threads;
    let name = |thread: usize| scenario.script().threads[thread].name.clone();
    let wait_of = |thread: usize, wait: usize| threads.get(thread)?.waits.get(wait - 1);
    let (subject, thread, wait, expected, found) = match &expectation.expected {
        Expected::Wakes { thread, wait, at_ns } => {
            let found = wait_of(*thread, *wait).and_then(|wait| wait.back_ns).map(Value::Ns);
            ("wakes", Some(*thread), Some(*wait), Value::Ns(*at_ns.get(&model)?), found)
        }
        Expected::Latency { thread, wait, latency_ns, is_max } => {
            let found = wait_of(*thread, *wait).and_then(|wait| wait.latency_ns).map(Value::Ns);
            let subject = if *is_max { "latency_max" } else { "latency" };
            let expected = time(*latency_ns.get(&model)?, *is_max);
            (subject, Some(*thread), Some(*wait), expected, found)
        }
        Expected::Blocked { thread, blocked_ns, is_max } => {
            let found = threads.get(*thread).map(|thread| Value::Ns(thread.blocked_ns()));
            let subject = if *is_max { "blocked_max" } else { "blocked" };
            let expected = time(*blocked_ns.get(&model)?, *is_max);
            (subject, Some(*thread), None, expected, found)
        }
        Expected::Finishes { thread, at_ns } => {
            let found = threads.get(*thread).and_then(|thread| thread.finished_ns).map(Value::Ns);
            ("finishes", Some(*thread), None, Value::Ns(*at_ns.get(&model)?), found)
        }
        Expected::FinishesBefore { thread, other } => {
            let other = *other.get(&model)?;
            // A thread that never finishes comes last; of two at the same time, none is the first.
            let end = |thread: usize| {
                threads.get(thread).and_then(|thread| thread.finished_ns).unwrap_or(u64::MAX)
            };
            let found = match end(*thread).cmp(&end(other)) {
                std::cmp::Ordering::Less => Some(Value::First(name(*thread))),
                std::cmp::Ordering::Greater => Some(Value::First(name(other))),
                std::cmp::Ordering::Equal => None,
            };
            ("finishes_before", Some(*thread), None, Value::First(name(*thread)), found)
        }
        Expected::Deadlock { expected } => {
            let found = Value::Deadlock(!outcome.is_finished());
            ("deadlock", None, None, Value::Deadlock(*expected.get(&model)?), Some(found))
        }
    };
    let within_ns = match &expected {
        Value::Ns(ns) => Some(expectation.within_ns.unwrap_or((ns / 100).max(WITHIN_NS_MIN))),
        _ => None,
    };
    let met = match (&expected, &found, within_ns) {
        (Value::Ns(expected), Some(Value::Ns(found)), Some(within_ns)) => {
            expected.abs_diff(*found) <= within_ns
        }
        (Value::NsMax(limit), Some(Value::Ns(found)), _) => found <= limit,
        (expected, found, _) => found.as_ref() == Some(expected),
    };
    Some(Checked {
        line: expectation.line,
        thread: thread.map(name),
        subject,
        wait,
        expected,
        within_ns,
        found,
        met,
        because: expectation.because.clone(),
    })
}

fn time(ns: u64, is_max: bool) -> Value {
    if is_max { Value::NsMax(ns) } else { Value::Ns(ns) }
}

impl fmt::Display for Checked {
    /// Writes a line such as `hi wakes: expected 3 s, found 3.00002 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(thread) = &self.thread {
            write!(f, "{thread} ")?;
        }
        f.write_str(self.subject.trim_end_matches("_max"))?;
        if let Some(wait) = self.wait.filter(|wait| *wait > 1) {
            write!(f, " (wait {wait})")?;
        }
        write!(f, ": expected {}, ", self.expected)?;
        match &self.found {
            Some(found) => write!(f, "found {found}"),
            None => f.write_str("found none"),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ns(ns) => VirtualDuration::from_ns(*ns).fmt(f),
            Self::NsMax(ns) => write!(f, "at most {}", VirtualDuration::from_ns(*ns)),
            Self::First(thread) => write!(f, "{thread} first"),
            Self::Deadlock(true) => f.write_str("that some thread never finishes"),
            Self::Deadlock(false) => f.write_str("that all threads finish"),
        }
    }
}
