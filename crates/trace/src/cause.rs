//! The causes for which a task that was due did not run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cause for which a task that was due did not run yet.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The timer had not fired: it may be late by its slack, and by the instruction at work.
    TimerPending,
    /// A hypervisor, the firmware or a device had the CPU, and the kernel was not told.
    Stolen,
    /// Interrupts were off.
    IrqsOff,
    /// An interrupt of the CPU itself was handled: its timer's, another CPU's.
    HardIrq,
    /// The handler of a device's interrupt ran.
    DeviceIrq,
    /// Softirqs were served.
    Softirq,
    /// Preemption was off.
    PreemptOff,
    /// The kernel was at work for a task and does not give way there under this model.
    NotPreemptible,
    /// The CPU spun until other CPUs had answered an interrupt.
    IpiWait,
    /// The CPU spun until another one had released a lock.
    SpinWait,
    /// Another CPU had woken the task, and the CPU had not been told yet.
    RemoteWakeup,
    /// The scheduler was at work.
    Scheduling,
    /// A deadline task was running, which precedes every priority.
    DeadlineTask,
    /// A task of a higher priority was running.
    MoreUrgentTask,
    /// A real-time task of the same priority was running.
    EqualTask,
    /// The task slept again, for a lock, and the lock's holder was running with its priority.
    LockHolder,
    /// The CPU's own thread for stopping it was running (`migration/0`), which precedes every task.
    StopTask,
    /// Another fair task had its share.
    FairShare,
    /// A fair task had the CPU before a real-time one by the fair server, since Linux 6.12.
    FairServer,
    /// The scheduler had passed over the task: its runtime was used up.
    Throttled,
    /// Another task was running, and the trace does not tell why.
    OtherTask,
    /// The task itself was on its way back to user space.
    Return,
}

impl Cause {
    /// Every cause, in order.
    pub const ALL: [Self; 22] = [
        Self::TimerPending,
        Self::Stolen,
        Self::IrqsOff,
        Self::HardIrq,
        Self::DeviceIrq,
        Self::Softirq,
        Self::PreemptOff,
        Self::NotPreemptible,
        Self::IpiWait,
        Self::SpinWait,
        Self::RemoteWakeup,
        Self::Scheduling,
        Self::DeadlineTask,
        Self::MoreUrgentTask,
        Self::EqualTask,
        Self::LockHolder,
        Self::StopTask,
        Self::FairShare,
        Self::FairServer,
        Self::Throttled,
        Self::OtherTask,
        Self::Return,
    ];

    /// Returns whether the CPU had another task, or none, by the scheduler's own decision.
    pub fn is_decision(self) -> bool {
        matches!(
            self,
            Self::DeadlineTask
                | Self::MoreUrgentTask
                | Self::EqualTask
                | Self::LockHolder
                | Self::StopTask
                | Self::FairShare
                | Self::FairServer
                | Self::Throttled
                | Self::OtherTask
        )
    }

    /// Returns whether nothing can be switched to another task as long as the cause lasts.
    pub fn is_closed(self) -> bool {
        matches!(
            self,
            Self::Stolen
                | Self::IrqsOff
                | Self::HardIrq
                | Self::DeviceIrq
                | Self::Softirq
                | Self::PreemptOff
                | Self::NotPreemptible
                | Self::IpiWait
                | Self::SpinWait
        )
    }

    /// Returns the cause in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TimerPending => "timer pending",
            Self::Stolen => "stolen time",
            Self::IrqsOff => "interrupts off",
            Self::HardIrq => "hard interrupt",
            Self::DeviceIrq => "device interrupt",
            Self::Softirq => "softirq",
            Self::PreemptOff => "preemption off",
            Self::NotPreemptible => "not preemptible",
            Self::IpiWait => "IPI wait",
            Self::SpinWait => "spinlock wait",
            Self::RemoteWakeup => "remote wakeup",
            Self::Scheduling => "scheduling",
            Self::DeadlineTask => "deadline task",
            Self::MoreUrgentTask => "more urgent task",
            Self::EqualTask => "equally urgent task",
            Self::LockHolder => "lock holder",
            Self::StopTask => "stop task",
            Self::FairShare => "fair share",
            Self::FairServer => "fair server",
            Self::Throttled => "throttled",
            Self::OtherTask => "other task",
            Self::Return => "return to user",
        }
    }
}
