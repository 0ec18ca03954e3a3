use serde::{Deserialize, Serialize};

/// Meaning of a probe's event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// `__switch_to`: values are the `task_struct`s of the previous and the next task.
    Switch,
    /// `try_to_wake_up`: the task.
    Waking,
    /// `__schedule`: the scheduler has been called.
    Schedule,
    /// `resched_curr` and its kin: the current task must give way, lazily if the flag is the lazy
    /// one.
    NeedResched {
        /// Whether the flag is the lazy one.
        is_lazy: bool,
    },
    /// `__cond_resched`: a voluntary preemption point; the address to which it returns, which older traces
    /// lack.
    CondResched,
    /// A system call begins: its number.
    Syscall,
    /// The entry of an interrupt: the interrupted instruction's address, and its code segment or mode.
    Interrupt,
    /// The entry of an exception, with the same values.
    Exception,
    /// The handler of a CPU's own interrupt, by which is known which one it is where all have the same entry.
    IrqHandler,
    /// `handle_irq_event`: the handlers of a device's interrupt are about to run.
    DeviceIrq,
    /// The function of a softirq.
    Softirq,
    /// `hrtimer_start_range_ns`: the timer, its time, its slack, its mode, its queue.
    TimerStart,
    /// `hrtimer_wakeup`: the timer, its `_softexpires`, the task that it wakes, and the clock:
    /// `base`, `cycle_last`, `mult`, `shift` and `xtime_nsec` of the timekeeper.
    TimerExpire,
    /// `dl_task_timer`: the next period of a deadline task begins, for which it waits. The values are those of
    /// [`Point::TimerExpire`], with the timer in the place of the task whose part it is.
    PeriodExpire {
        /// Offset of the timer in `struct task_struct`.
        timer_offset: u64,
    },
    /// A task is new or has changed, or is about to.
    TaskChange,
    /// The scheduler chooses a fair task for the fair server, before real-time tasks.
    ServerPick,
    /// A task is about to wait for a lock: the lock's address.
    LockWait,
    /// A CPU is about to interrupt others, and may wait for their answers.
    IpiWait,
}
