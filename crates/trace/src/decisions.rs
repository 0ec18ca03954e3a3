//! The scheduler's decisions while a woken task waits: which other task may keep the CPU, and why.

use crate::{
    cause::Cause,
    cpu::{Cpu, Frame, Machine},
    decode::{Event, Task},
    kernel::{FairServer, Kernel},
    point::Point,
    wakeup::Wakeup,
};

/// Number of priorities of real-time tasks (`MAX_RT_PRIO`, include/linux/sched/prio.h); below 0 are deadline
/// tasks, from it on fair ones.
const RT_PRIORITIES: i32 = 100;

/// First part of the name of the threads that stop a CPU (kernel/stop_machine.c).
const STOP_TASK: &str = "migration/";

/// Decisions of the scheduler since a task was woken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Decisions {
    /// The task is in the CPU's queue.
    is_queued: bool,
    /// The scheduler has chosen a task since.
    has_chosen: bool,
    /// The current task has been told to give way later, and continues in the kernel meanwhile.
    is_told_lazily: bool,
    /// The task has had the CPU and left it again, before it was in user space.
    has_slept: bool,
}

/// Scheduling class of a task, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Deadline,
    RealTime,
    Fair,
    /// Nothing: the CPU is idle.
    Idle,
}

impl Class {
    /// A task with a boost has the class of the task that waits for it, as for the scheduler.
    fn of(task: &Task) -> Self {
        match task.prio {
            _ if task.pid == 0 => Self::Idle,
            ..0 => Self::Deadline,
            0..RT_PRIORITIES => Self::RealTime,
            _ => Self::Fair,
        }
    }
}

impl Decisions {
    /// Returns the decisions about a task that has just got into the queue: none.
    pub fn of_queued() -> Self {
        Self { is_queued: true, ..Self::default() }
    }

    /// Looks at an event of the CPU that the wakeup waits for, behind the timer's expiry.
    pub fn follow(&mut self, point: Point, event: &Event, wakeup: &Wakeup) {
        let is_woken = |index: usize| event.values().get(index) == Some(&wakeup.task.address);
        match point {
            Point::Waking if is_woken(0) => *self = Self::of_queued(),
            Point::NeedResched { is_lazy: true } => self.is_told_lazily = self.is_queued,
            Point::Schedule => {
                self.has_chosen = self.is_queued;
                self.is_told_lazily = false;
            }
            // It may sleep again before it is in user space, for a lock.
            Point::Switch if is_woken(0) => *self = Self { has_slept: true, ..Self::default() },
            _ => {}
        }
    }

    /// Returns why the current task need not give way to the woken one; `None` where it has to.
    pub fn leaves_alone(
        &self,
        kernel: &Kernel,
        machine: &Machine,
        cpu: &Cpu,
        woken: &Task,
    ) -> Option<Cause> {
        // The task of a wakeup that did not happen is more urgent than all others.
        if woken.address == 0 {
            return None;
        }
        let current = machine.task(cpu.task)?;
        if machine.is_changing(cpu.task) || machine.is_changing(woken.address) {
            return (current.pid != 0 && !cpu.need_resched).then_some(Cause::OtherTask);
        }
        // It may have got another priority since it was woken.
        let woken = machine.task(woken.address).unwrap_or(woken);
        if Class::of(current) < Class::Idle && is_stop_task(current, cpu) {
            return Some(Cause::StopTask);
        }
        match (Class::of(current), Class::of(woken)) {
            (Class::Deadline, _) => Some(Cause::DeadlineTask),
            (Class::RealTime, Class::Fair | Class::Idle) => Some(Cause::MoreUrgentTask),
            (Class::RealTime, Class::RealTime) if current.prio < woken.prio => {
                Some(Cause::MoreUrgentTask)
            }
            (Class::RealTime, Class::RealTime) if current.prio == woken.prio => {
                // No task of its priority takes the CPU from it, but one that has this priority from it.
                Some(if self.has_slept { Cause::LockHolder } else { Cause::EqualTask })
            }
            (Class::Fair, Class::Fair) => {
                let is_told = cpu.need_resched || self.is_told_lazily;
                (!is_told).then_some(Cause::FairShare)
            }
            // A fair task may be in the queue of another CPU, from which this one takes it later.
            (Class::Idle, Class::Fair) if !machine.has_one_cpu() => None,
            _ if self.has_chosen && !cpu.need_resched => Some(passed_over(kernel, cpu, current)),
            _ => None,
        }
    }
}

/// Returns why the scheduler has chosen a task although a more urgent one was in the queue.
fn passed_over(kernel: &Kernel, cpu: &Cpu, chosen: &Task) -> Cause {
    let is_served = match kernel.fair_server() {
        FairServer::Recorded => cpu.is_served,
        FairServer::Unrecorded => Class::of(chosen) == Class::Fair,
        FairServer::Missing => false,
    };
    if is_served { Cause::FairServer } else { Cause::Throttled }
}

/// Returns whether a task is the one of the stop class, whose priority is that of `SCHED_FIFO` 99.
fn is_stop_task(task: &Task, cpu: &Cpu) -> bool {
    let is_kernel_thread = cpu.frames.first() == Some(&Frame::Thread);
    task.prio == 0 && is_kernel_thread && task.comm.starts_with(STOP_TASK)
}
