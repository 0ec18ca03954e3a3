use std::collections::BTreeMap;

use crate::Model;

/// An expectation of a thread, or of the whole scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The line it is in, counting from 1.
    pub line: usize,
    /// The expected value by model; missing models are not checked.
    pub expected: Expected,
    /// How far a time may be off, in nanoseconds; `None`: 1 % of it, and 50 us at least.
    pub within_ns: Option<u64>,
    /// The series of kernels, such as `6.1`, that it is limited to; empty: every series for which
    /// no other expectation of the same is limited to it.
    pub kernels: Vec<String>,
    /// Why these kernels differ.
    pub because: Option<String>,
}

/// An expected value by model. Threads are numbers, as in the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// When the thread is back in user space from a wait, in nanoseconds of the script.
    Wakes {
        /// The thread.
        thread: usize,
        /// Which of its waits, counting from 1.
        wait: usize,
        /// By model.
        at_ns: BTreeMap<Model, u64>,
    },
    /// How long after a wait was over the thread is back in user space, in nanoseconds.
    Latency {
        /// The thread.
        thread: usize,
        /// Which of its waits, counting from 1.
        wait: usize,
        /// By model.
        latency_ns: BTreeMap<Model, u64>,
    },
    /// When the thread's last step ends, in nanoseconds of the script.
    Finishes {
        /// The thread.
        thread: usize,
        /// By model.
        at_ns: BTreeMap<Model, u64>,
    },
    /// That the thread's last step ends before that of another.
    FinishesBefore {
        /// The thread.
        thread: usize,
        /// By model, the other.
        other: BTreeMap<Model, usize>,
    },
    /// Whether some thread never finishes.
    Deadlock {
        /// By model.
        expected: BTreeMap<Model, bool>,
    },
}

impl Expected {
    /// Returns its subject, which is independent of the value: two expectations with one subject
    /// are about the same thing.
    pub(crate) fn subject(&self) -> (u8, usize, usize) {
        match self {
            Self::Wakes { thread, wait, .. } => (0, *thread, *wait),
            Self::Latency { thread, wait, .. } => (1, *thread, *wait),
            Self::Finishes { thread, .. } => (2, *thread, 0),
            Self::FinishesBefore { thread, .. } => (3, *thread, 0),
            Self::Deadlock { .. } => (4, 0, 0),
        }
    }

    /// Whether it says anything of a model.
    pub(crate) fn covers(&self, model: Model) -> bool {
        match self {
            Self::Wakes { at_ns, .. } | Self::Finishes { at_ns, .. } => at_ns.contains_key(&model),
            Self::Latency { latency_ns, .. } => latency_ns.contains_key(&model),
            Self::FinishesBefore { other, .. } => other.contains_key(&model),
            Self::Deadlock { expected } => expected.contains_key(&model),
        }
    }
}
