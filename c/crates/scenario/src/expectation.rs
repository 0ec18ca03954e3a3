use std::collections::BTreeMap;

use crate::Model;

/// An expectation of a thread, or of the whole scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The line it is in, counting from 1.
    pub line: usize,
    /// The expected value by model; missing models are not checked.
    pub expected: Expected,
    /// Tolerance of a time, in nanoseconds; `None`: 1 % of it, and 50 us at least.
    pub within_ns: Option<u64>,
    /// The series of kernels, such as `6.1`, that it is limited to; empty: every series for which
    /// no other expectation of the same is limited to it.
    pub kernels: Vec<String>,
    /// Reason why these kernels differ.
    pub because: Option<String>,
}

/// An expected value by model. Threads are numbers, as in the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The time at which the thread is back in user space from a wait, in nanoseconds of the
    /// script.
    Wakes {
        /// Index of the thread.
        thread: usize,
        /// Index of its wait, counting from 1.
        wait: usize,
        /// Expected time, by model.
        at_ns: BTreeMap<Model, u64>,
    },
    /// The time from the end of a wait until the thread is back in user space, in nanoseconds, or a
    /// limit of it.
    Latency {
        /// Index of the thread.
        thread: usize,
        /// Index of its wait, counting from 1.
        wait: usize,
        /// Expected latency, by model.
        latency_ns: BTreeMap<Model, u64>,
        /// Whether the latency may also be shorter.
        is_max: bool,
    },
    /// The time for which others held futexes and locks that the thread waited for, in nanoseconds,
    /// or a limit of it.
    Blocked {
        /// Index of the thread.
        thread: usize,
        /// Expected time, by model.
        blocked_ns: BTreeMap<Model, u64>,
        /// Whether the time may also be shorter.
        is_max: bool,
    },
    /// The end of the thread's last step, in nanoseconds of the script.
    Finishes {
        /// Index of the thread.
        thread: usize,
        /// Expected time, by model.
        at_ns: BTreeMap<Model, u64>,
    },
    /// The thread's last step ends before that of another.
    FinishesBefore {
        /// Index of the thread.
        thread: usize,
        /// By model, the other.
        other: BTreeMap<Model, usize>,
    },
    /// Whether some thread never finishes.
    Deadlock {
        /// Expected answer, by model.
        expected: BTreeMap<Model, bool>,
    },
}

impl Expected {
    /// Returns its subject, which is independent of the value: two expectations with one subject
    /// are about the same thing.
    pub(crate) fn subject(&self) -> (u8, usize, usize) {
        match self {
            Self::Wakes { thread, wait, .. } => (0, *thread, *wait),
            Self::Latency { thread, wait, is_max: false, .. } => (1, *thread, *wait),
            Self::Latency { thread, wait, is_max: true, .. } => (5, *thread, *wait),
            Self::Blocked { thread, is_max: false, .. } => (6, *thread, 0),
            Self::Blocked { thread, is_max: true, .. } => (7, *thread, 0),
            Self::Finishes { thread, .. } => (2, *thread, 0),
            Self::FinishesBefore { thread, .. } => (3, *thread, 0),
            Self::Deadlock { .. } => (4, 0, 0),
        }
    }

    /// Returns whether the expectation holds for a model.
    pub(crate) fn covers(&self, model: Model) -> bool {
        match self {
            Self::Wakes { at_ns, .. } | Self::Finishes { at_ns, .. } => at_ns.contains_key(&model),
            Self::Latency { latency_ns, .. } => latency_ns.contains_key(&model),
            Self::Blocked { blocked_ns, .. } => blocked_ns.contains_key(&model),
            Self::FinishesBefore { other, .. } => other.contains_key(&model),
            Self::Deadlock { expected } => expected.contains_key(&model),
        }
    }
}
