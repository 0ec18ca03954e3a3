//! Lanes as values: the states of threads and CPUs, and the number of entries that a bounded lane
//! leaves out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cpu::SectionKind;

/// The version of [`Lanes`].
pub const LANES_FORMAT: u32 = 1;

/// Lanes of a window. Times are virtual, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lanes {
    /// See [`LANES_FORMAT`].
    pub format: u32,
    /// Start of the window.
    pub start_ns: u64,
    /// End of the window, or of the trace if it ends before.
    pub end_ns: u64,
    /// The threads that ran, were woken or waited for a CPU, by their numbers; among them the idle
    /// tasks, which are number 0.
    pub threads: Vec<ThreadLane>,
    /// The CPUs, by their numbers.
    pub cpus: Vec<CpuLane>,
    /// Threads that have no lane because there were too many of them.
    pub threads_left_out: u64,
}

/// Lane of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadLane {
    /// Number of the thread.
    pub pid: u32,
    /// Last name of the thread.
    pub comm: String,
    /// The kernel's priority when it was met first: below 100 real-time, the lower the more urgent.
    pub prio: i32,
    /// States of the thread, without gaps, from the window's start or its first appearance to the
    /// end.
    pub stretches: Vec<Stretch>,
    /// Sections in which the thread had the CPU and could not be preempted or interrupted, in
    /// order.
    pub sections: Vec<Section>,
    /// Events of the thread, in order.
    pub instants: Vec<Instant>,
    /// Number of times that the thread gave its CPU up to wait for something (`nvcsw`); not counted
    /// for idle tasks.
    pub switches_voluntary: u64,
    /// Number of times that the thread's CPU was given to another (`nivcsw`).
    pub switches_involuntary: u64,
    /// Number of entries that the lane leaves out.
    pub left_out: LeftOut,
}

/// Lane of a CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CpuLane {
    /// Index of the CPU.
    pub cpu: u32,
    /// States of the CPU, without gaps.
    pub stretches: Vec<Stretch>,
    /// Stretches that were joined with others.
    pub stretches_left_out: u64,
    /// Number of switches from one thread to another.
    pub switches_between_threads: u64,
    /// Number of switches from a thread to idling or back.
    pub switches_with_idle: u64,
    /// Number of calls of the scheduler (`__schedule`), whether it switched or not.
    pub schedules: u64,
}

/// A stretch of time in which one thing is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    /// Start of the stretch.
    pub start_ns: u64,
    /// End of the stretch, which is later.
    pub end_ns: u64,
    /// State of the thread or the CPU.
    pub state: LaneState,
    /// The CPU of it; for a thread that does not run the one on which it ran last, if that is known.
    pub cpu: Option<u32>,
    /// The system call or exception that the kernel is at work for or in which the thread sleeps,
    /// the function that waits for a lock, the interrupt, the softirq; or why the thread waits for
    /// the CPU: `woken`, `preempted` or `yielded`.
    pub what: Option<String>,
}

/// State of a thread or a CPU.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LaneState {
    /// The thread runs in user space.
    User,
    /// The kernel works for the thread, on its CPU.
    Kernel,
    /// The thread has the CPU, but an interrupt or softirq uses it.
    Interrupted,
    /// The thread could run, and waits for the CPU.
    Runnable,
    /// The thread sleeps.
    Sleeping,
    /// The thread waits for a lock.
    Blocked,
    /// The thread has ended.
    Gone,
    /// The CPU works for a thread.
    Thread,
    /// The CPU handles an interrupt.
    Hardirq,
    /// The CPU serves a softirq.
    Softirq,
    /// The CPU has nothing to do.
    Idle,
}

impl LaneState {
    /// Returns whether a thread in this state has the CPU.
    pub fn is_on_cpu(self) -> bool {
        matches!(self, Self::User | Self::Kernel | Self::Interrupted | Self::Idle)
    }
}

/// A stretch in which a thread has the CPU and cannot be preempted or interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Start of the section.
    pub start_ns: u64,
    /// End of the section, which is later.
    pub end_ns: u64,
    /// Kind of the section.
    pub kind: SectionKind,
}

/// Something that happens to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Instant {
    /// Time of the event.
    pub ns: u64,
    /// Kind of the event.
    pub kind: InstantKind,
}

/// Event of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstantKind {
    /// The thread is woken: by another thread, or by an interrupt or softirq where none is named.
    Woken {
        /// Number of the thread that wakes it.
        by: Option<u32>,
    },
    /// The scheduler asks for the CPU while the thread has it. Whether it is this CPU or another one
    /// that is asked for is not recorded.
    ReschedAsked {
        /// Whether the request has time until the thread leaves the kernel, or until the next tick.
        is_lazy: bool,
    },
}

/// Number of entries that a bounded lane leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// Stretches that were joined with others of their state nearby: how long the thread was in each
    /// state stays true, and the order of short stretches does not.
    pub stretches: u64,
    /// Number of sections, the shortest of all.
    pub sections: u64,
    /// Number of instants.
    pub instants: u64,
}
