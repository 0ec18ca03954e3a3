//! Lanes as values: what threads and CPUs did, and what a bounded lane leaves out.

use serde::{Deserialize, Serialize};

use crate::cpu::SectionKind;

/// The version of [`Lanes`].
pub const LANES_FORMAT: u32 = 1;

/// What happened in a window. Times are virtual, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lanes {
    /// See [`LANES_FORMAT`].
    pub format: u32,
    /// Where the window begins.
    pub start_ns: u64,
    /// Where it ends, or the trace if it ends before.
    pub end_ns: u64,
    /// The threads that ran, were woken or waited for a CPU, by their numbers; among them the idle
    /// tasks, which are number 0.
    pub threads: Vec<ThreadLane>,
    /// The CPUs, by their numbers.
    pub cpus: Vec<CpuLane>,
    /// Threads that have no lane because there were too many of them.
    pub threads_left_out: u64,
}

/// What a thread did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadLane {
    /// Its number.
    pub pid: u32,
    /// Its name, the last that it had.
    pub comm: String,
    /// The kernel's priority when it was met first: below 100 real-time, the lower the more urgent.
    pub prio: i32,
    /// What it did, without gaps, from the window's start or its first appearance to the end.
    pub stretches: Vec<Stretch>,
    /// When it had the CPU and could not be preempted or interrupted, in order.
    pub sections: Vec<Section>,
    /// What happened to it, in order.
    pub instants: Vec<Instant>,
    /// How often it gave its CPU up to wait for something (`nvcsw`); not counted for idle tasks.
    pub switches_voluntary: u64,
    /// How often its CPU was given to another (`nivcsw`).
    pub switches_involuntary: u64,
    /// What is missing.
    pub left_out: LeftOut,
}

/// What a CPU did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuLane {
    /// Its number.
    pub cpu: u32,
    /// What it did, without gaps.
    pub stretches: Vec<Stretch>,
    /// Stretches that were joined with others.
    pub stretches_left_out: u64,
    /// How often it went from one thread to another.
    pub switches_between_threads: u64,
    /// How often it went from a thread to idling or back.
    pub switches_with_idle: u64,
    /// How often its scheduler was called (`__schedule`), whether it switched or not.
    pub schedules: u64,
}

/// A stretch of time in which one thing is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    /// Where it begins.
    pub start_ns: u64,
    /// Where it ends, which is later.
    pub end_ns: u64,
    /// What is done.
    pub state: LaneState,
    /// The CPU of it; for a thread that does not run the one on which it ran last, if that is known.
    pub cpu: Option<u32>,
    /// The system call or exception that the kernel is at work for or in which the thread sleeps,
    /// the function that waits for a lock, the interrupt, the softirq; or why the thread waits for
    /// the CPU: `woken`, `preempted` or `yielded`.
    pub what: Option<String>,
}

/// What a thread or a CPU does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
    /// Whether a thread has the CPU.
    pub fn is_on_cpu(self) -> bool {
        matches!(self, Self::User | Self::Kernel | Self::Interrupted | Self::Idle)
    }
}

/// A stretch in which a thread has the CPU and cannot be preempted or interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Where it begins.
    pub start_ns: u64,
    /// Where it ends, which is later.
    pub end_ns: u64,
    /// What is off.
    pub kind: SectionKind,
}

/// Something that happens to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instant {
    /// When.
    pub ns: u64,
    /// What.
    pub kind: InstantKind,
}

/// What happens to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstantKind {
    /// It is woken; by this thread, or by an interrupt or softirq where none is named.
    Woken {
        /// The thread's number.
        by: Option<u32>,
    },
    /// The scheduler asks for the CPU while the thread has it. Whether it is this CPU or another one
    /// that is asked for is not recorded.
    ReschedAsked {
        /// Whether that has time until the thread leaves the kernel, or the next tick.
        is_lazy: bool,
    },
}

/// What a bounded lane does not show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// Stretches that were joined with others of their state nearby: how long the thread was in each
    /// state stays true, and the order of short stretches does not.
    pub stretches: u64,
    /// Sections, the shortest.
    pub sections: u64,
    /// Instants.
    pub instants: u64,
}
