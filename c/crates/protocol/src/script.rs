//! What the player in the guest is to play, and what it says of it: JSON, both ways.
//!
//! The player (`guest/player`) gets a [`Script`] as its one argument and prints a [`Played`]. Times
//! of a script count from its start; times of what was played are those of `CLOCK_MONOTONIC`. A
//! **step** happens in user space; a step that is a system call consists of **operations**, which
//! the module `preemptlab_scenario` (`kmod/scenario`) carries out.

use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// The version of [`Script`] and [`Played`].
pub const FORMAT: u32 = 1;

/// The most threads of a script.
pub const THREADS_MAX: usize = 32;
/// The most steps of a thread.
pub const STEPS_MAX: usize = 512;
/// The most operations of a system call.
pub const OPERATIONS_MAX: usize = 64;
/// The most interrupt lines of a script.
pub const INTERRUPTS_MAX: usize = 8;
/// The most events of an interrupt line.
pub const EVENTS_MAX: usize = 64;
/// The most locks of each kind, and the most futexes.
pub const LOCKS_MAX: u8 = 16;
/// The longest time that may be named, in nanoseconds.
pub const NS_MAX: u64 = 1_000_000_000_000;
/// The longest name of a thread or an interrupt line, in bytes (`TASK_COMM_LEN` without the NUL).
pub const NAME_BYTES_MAX: usize = 15;

/// What is to be played.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// See [`FORMAT`].
    pub format: u32,
    /// When it ends at the latest: who has not finished by then is reported as it is.
    pub end_ns: u64,
    /// Every thread.
    pub threads: Vec<Thread>,
    /// Every interrupt line.
    pub interrupts: Vec<Interrupt>,
    /// By the number of a futex, whether its waiters lend their priority to its owner
    /// (`FUTEX_LOCK_PI`).
    pub futex_is_pi: Vec<bool>,
    /// Priorities of the kernel's own threads.
    pub kernel_threads: Vec<KernelThread>,
}

/// A thread, which the player makes a process of: to the scheduler there is no difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// Its name, as `comm` has it.
    pub name: String,
    /// Its scheduling policy.
    pub policy: Policy,
    /// The CPUs that it may run on.
    pub cpus: Vec<u32>,
    /// What it does from the start on.
    pub steps: Vec<Step>,
}

/// A scheduling policy, named as sched(7) does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// `SCHED_OTHER` with this nice value, -20 to 19.
    Other(i8),
    /// `SCHED_BATCH`, likewise.
    Batch(i8),
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_FIFO` at this priority, 1 to 98.
    Fifo(u8),
    /// `SCHED_RR`, likewise.
    Rr(u8),
}

/// What a thread does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Sleeps until a time (clock_nanosleep(2), `TIMER_ABSTIME`).
    SleepUntil(u64),
    /// Sleeps for so many nanoseconds.
    SleepFor(u64),
    /// Needs the CPU for so many nanoseconds of its own, in user space.
    Busy(u64),
    /// sched_yield(2)
    Yield,
    /// Takes a futex, by its number.
    FutexLock(u8),
    /// Gives it back.
    FutexUnlock(u8),
    /// One system call of several operations.
    Call(Vec<Operation>),
}

/// What happens in a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Needs the CPU for so many nanoseconds of its own.
    Busy(u64),
    /// `cond_resched()`
    CondResched,
    /// `might_resched()`
    MightResched,
    /// `schedule_timeout` and its kin: sleeps for so many nanoseconds.
    SleepFor(u64),
    /// `preempt_disable()`
    PreemptDisable,
    /// `preempt_enable()`
    PreemptEnable,
    /// `local_irq_disable()`
    IrqsDisable,
    /// `local_irq_enable()`
    IrqsEnable,
    /// `local_bh_disable()`
    BhDisable,
    /// `local_bh_enable()`
    BhEnable,
    /// Takes a lock.
    Lock(LockKind, u8),
    /// Gives it back.
    Unlock(LockKind, u8),
    /// Waits for the next event of an interrupt line, by its number, whose work is done: the last
    /// part of it wakes whoever waits.
    WaitInterrupt(u8),
    /// Clears so many pages.
    ZeroPages(u32),
}

/// The kernel's locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockKind {
    /// `spinlock_t`
    Spin,
    /// `raw_spinlock_t`
    RawSpin,
    /// `struct mutex`
    Mutex,
    /// `struct rt_mutex`
    RtMutex,
    /// `rwlock_t` for reading.
    Read,
    /// `rwlock_t` for writing; readers and writers of one number share a lock.
    Write,
}

/// An interrupt line, whose events a timer brings about in hard interrupt context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interrupt {
    /// Its name; its thread is `irq/NUMBER-NAME`.
    pub name: String,
    /// When it comes, in order.
    pub at_ns: Vec<u64>,
    /// The work of its handler. A kernel that threads interrupts does it in the thread.
    pub hard_ns: u64,
    /// The work of its thread; `None` when it has no thread of its own.
    pub threaded_ns: Option<u64>,
    /// The work of a tasklet that the handler schedules.
    pub softirq_ns: Option<u64>,
    /// The work of a work item that the handler queues.
    pub work_ns: Option<u64>,
    /// `SCHED_FIFO` priority of its thread, where it has one; `None` leaves the kernel's 50.
    pub priority: Option<u8>,
}

/// A priority of threads that the kernel made itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelThread {
    /// What their names begin with, such as `ksoftirqd/`.
    pub prefix: String,
    /// Their policy from then on.
    pub policy: Policy,
}

/// What was played.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Played {
    /// See [`FORMAT`].
    pub format: u32,
    /// When it started: time 0 of the script.
    pub start_ns: u64,
    /// When the last thread had finished, or the end of the script.
    pub end_ns: u64,
    /// In the order of the script.
    pub threads: Vec<PlayedThread>,
    /// In the order of the script, each with its events.
    pub interrupts: Vec<Vec<PlayedEvent>>,
}

/// What a thread did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayedThread {
    /// Its thread's number in the guest.
    pub pid: i32,
    /// The steps that were begun, in order; those of the script that are missing here were not.
    pub steps: Vec<PlayedStep>,
}

/// When a step happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayedStep {
    /// When it was begun.
    pub begin_ns: u64,
    /// When the thread was back from it; `None` when it was not by the end.
    pub end_ns: Option<u64>,
    /// The operations that were begun, of a system call.
    pub operations: Vec<Span>,
}

/// When an event's parts happened; `None` for a part that the line has not got, or that was not
/// done by the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayedEvent {
    /// When the timer fired.
    pub fired_ns: u64,
    /// The handler.
    pub hard: Option<Span>,
    /// The thread.
    pub threaded: Option<Span>,
    /// The tasklet.
    pub softirq: Option<Span>,
    /// The work item.
    pub work: Option<Span>,
}

/// A stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// Where it begins.
    pub begin_ns: u64,
    /// Where it ends; `None` when it had not ended by the end.
    pub end_ns: Option<u64>,
}
