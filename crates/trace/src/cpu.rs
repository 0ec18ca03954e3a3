//! The state of each CPU, followed from event to event.

use std::collections::{BTreeMap, HashMap, HashSet};

use preemptlab_protocol::trace::stream::SiteKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    decode::{Event, Task, TraceError},
    kernel::Kernel,
    point::Point,
};

/// `PREEMPT_NEED_RESCHED` in `preempt_count`, which is not a part of the count.
const NEED_RESCHED: u32 = 1 << 31;

/// Value of one level of `softirq` in `preempt_count` (`SOFTIRQ_OFFSET`, include/linux/preempt.h)
/// while softirqs are served. Disabling them adds twice as much.
const SOFTIRQ_OFFSET: i32 = 0x100;

/// Number of nested levels that are followed. No kernel reaches it: a system call, faults in it (a fault's
/// handler faults once at most), a round of softirqs, an interrupt before and one in them, and an NMI with its
/// fault are eight levels, because handlers of interrupts run with interrupts off. Of waits there are no more
/// than of levels. Only bytes that no plugin wrote come to it; of these the outermost levels are forgotten.
const FRAMES_MAX: usize = 32;

/// Number of tasks that are remembered, by address. A `task_struct` takes two pages at least, so that more
/// of them take two gigabytes of the guest's memory. A trace that describes more is refused.
pub(crate) const TASKS_MAX: usize = 1 << 18;

/// Level of nesting in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A kernel thread, or a new task on its way to user space.
    Thread,
    /// A system call, by its number.
    Syscall(u32),
    /// An interrupt or exception, by its probe.
    Entry {
        /// Number of the probe: of the entry, or of the handler that tells which interrupt it is.
        probe: u32,
        /// The instruction that it came before.
        address: u64,
        /// Whether the entry came out of user space.
        from_user: bool,
        /// Whether the entry is an exception, which is the work of the task itself.
        is_exception: bool,
        /// Whether the scheduler was at work.
        was_scheduling: bool,
        /// Since when interrupts had been off; nothing when they were on.
        irqs_off: Option<Since>,
    },
    /// Softirqs on the way out of an interrupt or of `local_bh_enable`; the probe of the one at
    /// work, once one is.
    Softirq(Option<u32>),
}

/// Instant and place at which a state began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since {
    /// Virtual time, in nanoseconds.
    pub ns: u64,
    /// Address of the instruction.
    pub address: u64,
    /// Time that was stolen from the CPU before, in nanoseconds.
    pub stolen_ns: u64,
}

/// A CPU's wait for another one, in which it spins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Instant of the call of the function that spins, and that function's address.
    pub since: Since,
    /// Whether the CPU waits for the answer to an interrupt, and not for a lock.
    pub is_for_answer: bool,
    /// Number of levels that the kernel was in; with more of them the CPU does something else.
    depth: usize,
}

/// State of a CPU.
#[derive(Clone, Debug, Default)]
pub struct Cpu {
    /// The address of the current task; 0 until the first switch.
    pub task: u64,
    /// Whether the current task is not the idle one, by its description.
    pub(crate) is_busy: bool,
    /// Levels that the kernel is in, from the outermost to the innermost; empty in user space.
    pub frames: Vec<Frame>,
    /// `preempt_count`, without the flag.
    pub preempt_count: u32,
    /// Since when `preempt_count` is not zero.
    pub preempt_off: Option<Since>,
    /// Interrupts and softirqs that came meanwhile.
    nested: Nested,
    /// Since when interrupts are off.
    pub irqs_off: Option<Since>,
    /// Between the call of the scheduler and its end.
    pub is_scheduling: bool,
    /// Whether the current task has been told to give way.
    pub need_resched: bool,
    /// Whether the scheduler has chosen the current task for the fair server, which has fair tasks run
    /// before real-time ones.
    pub is_served: bool,
    /// Number of levels that the kernel was in when the handlers of a device's interrupt were called.
    device_depth: Option<usize>,
    /// Waits for other CPUs, the innermost last; none in a trace that does not tell when they end.
    pub waits: Vec<Wait>,
    /// Whether the CPU halts until the next interrupt.
    pub is_halted: bool,
    /// Time that was stolen from the CPU, in nanoseconds.
    pub stolen_ns: u64,
    /// Whether `preempt_count` is known.
    is_synchronized: bool,
    softirq_since: Option<Since>,
}

/// A section that has just ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Kind of the section.
    pub kind: SectionKind,
    /// Instant and place of the section's start.
    pub since: Since,
    /// End of the section, in nanoseconds.
    pub end_ns: u64,
    /// The probe of the softirq.
    pub softirq: Option<u32>,
    /// Time that interrupts and softirqs took that came while preemption was off, in nanoseconds.
    pub nested_ns: u64,
    /// Time that was stolen from the CPU meanwhile, in nanoseconds.
    pub stolen_ns: u64,
}

/// Interrupts and softirqs that come while preemption is off. They lengthen the section, which is not to blame for
/// them.
#[derive(Clone, Copy, Debug, Default)]
struct Nested {
    /// Number of interrupts and rounds of softirqs that were not over when the section began.
    outer: usize,
    /// When the present one began, of the time that was not stolen, in nanoseconds.
    since_ns: Option<u64>,
    /// Time of those that are over, without what was stolen, in nanoseconds.
    ns: u64,
}

impl Ended {
    fn of(kind: SectionKind, since: Since, end: Since) -> Self {
        let stolen_ns = end.stolen_ns.saturating_sub(since.stolen_ns);
        Self { kind, since, end_ns: end.ns, softirq: None, nested_ns: 0, stolen_ns }
    }

    /// Returns the length of the section without interrupts and softirqs that came in it and without what was
    /// stolen, in nanoseconds.
    pub fn own_ns(&self) -> u64 {
        let others_ns = self.nested_ns.saturating_add(self.stolen_ns);
        self.end_ns.saturating_sub(self.since.ns).saturating_sub(others_ns)
    }
}

/// Event that a section holds off.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SectionKind {
    /// Preemption is off.
    PreemptOff,
    /// Interrupts are off.
    IrqsOff,
    /// Softirqs are served, which holds off nothing by itself.
    Softirq,
    /// The kernel works for a task that none and voluntary do not preempt there; full and lazy do.
    NotPreemptible,
}

impl SectionKind {
    /// Every kind, in order.
    pub const ALL: [Self; 4] =
        [Self::PreemptOff, Self::IrqsOff, Self::Softirq, Self::NotPreemptible];

    /// Returns the work that a section keeps off: `preemption`, `interrupts`; `softirq`, and `call` where the
    /// kernel works for a call that is not preempted.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreemptOff => "preemption",
            Self::IrqsOff => "interrupts",
            Self::Softirq => "softirq",
            Self::NotPreemptible => "call",
        }
    }
}

/// Every CPU, and the tasks that they run.
#[derive(Debug, Default)]
pub struct Machine {
    cpus: BTreeMap<u32, Cpu>,
    /// Levels of the tasks that do not run, by task.
    parked: HashMap<u64, Vec<Frame>>,
    tasks: HashMap<u64, Task>,
    /// Tasks whose priority has changed since they were described.
    changing: HashSet<u64>,
    /// Number of returns to user space at which `preempt_count` was not zero, which no kernel does.
    pub miscounts: u64,
}

impl Machine {
    /// Returns the state of a CPU; one that has not been met yet has an unknown task.
    pub fn cpu(&mut self, cpu: u32) -> &mut Cpu {
        self.cpus.entry(cpu).or_default()
    }

    /// Returns the description of a task, if the trace has one.
    pub fn task(&self, address: u64) -> Option<&Task> {
        self.tasks.get(&address)
    }

    /// Takes note of a task.
    ///
    /// # Errors
    ///
    /// When the trace has more tasks than are remembered.
    pub fn describe(&mut self, task: Task) -> Result<(), TraceError> {
        self.changing.remove(&task.address);
        for cpu in self.cpus.values_mut().filter(|cpu| cpu.task == task.address) {
            cpu.is_busy = task.pid != 0;
        }
        self.tasks.insert(task.address, task);
        match self.tasks.len() > TASKS_MAX {
            true => Err(TraceError::TooMany { max: TASKS_MAX, what: "tasks" }),
            false => Ok(()),
        }
    }

    /// Returns whether a task may sleep: it has no CPU, or its CPU is in the scheduler.
    pub(crate) fn may_sleep(&self, address: u64) -> bool {
        self.cpus.values().all(|cpu| cpu.task != address || cpu.is_scheduling)
    }

    /// Returns whether a task has another priority than its description says.
    pub fn is_changing(&self, address: u64) -> bool {
        self.changing.contains(&address)
    }

    /// Returns whether the trace has shown one CPU only.
    pub fn has_one_cpu(&self) -> bool {
        self.cpus.len() == 1
    }

    /// Follows an event. Returns the section that it ends, if it ends one.
    pub fn follow(&mut self, kernel: &Kernel, event: &Event) -> Option<Ended> {
        let ended = self.step(kernel, event);
        if let Some(cpu) = self.cpus.get_mut(&event.cpu) {
            cpu.nest(event.ns);
        }
        ended
    }

    fn step(&mut self, kernel: &Kernel, event: &Event) -> Option<Ended> {
        let address = event.site.address;
        let value = |index: usize| event.values().get(index).copied().unwrap_or(0);
        let cpu = self.cpus.entry(event.cpu).or_default();
        if let Some(stolen_ns) = event.stolen_ns() {
            cpu.stolen_ns = cpu.stolen_ns.saturating_add(stolen_ns);
            return None;
        }
        let here = Since { ns: event.ns, address, stolen_ns: cpu.stolen_ns };
        cpu.is_halted = false;
        match event.site.kind {
            SiteKind::PreemptAdd(number) => return cpu.count(here, number),
            SiteKind::PreemptAddValue => return cpu.count(here, value(0) as u32 as i32),
            SiteKind::PreemptSubValue => {
                return cpu.count(here, (value(0) as u32 as i32).wrapping_neg());
            }
            SiteKind::PreemptSet(number) => return cpu.set_count(here, number as u32),
            SiteKind::PreemptSetValue => return cpu.set_count(here, value(0) as u32),
            SiteKind::NeedReschedSet => cpu.need_resched = true,
            SiteKind::NeedReschedClear => cpu.need_resched = false,
            SiteKind::IrqsOff => cpu.irqs_off = cpu.irqs_off.or(Some(here)),
            SiteKind::IrqsOn => return cpu.irqs_on(here),
            SiteKind::FlagsRestore if value(0) != 0 => return cpu.irqs_on(here),
            SiteKind::FlagsRestore => cpu.irqs_off = cpu.irqs_off.or(Some(here)),
            SiteKind::ExceptionReturn if value(0) == 0 => return cpu.back_to_kernel(here),
            SiteKind::ExceptionReturn | SiteKind::Sysret => {
                self.miscounts += u64::from(cpu.is_synchronized && cpu.preempt_count != 0);
                return cpu.return_to_user(here);
            }
            // arm64 halts with interrupts off, and one that comes ends that all the same. x86 has them on before it halts.
            SiteKind::Halt => {
                let ended =
                    cpu.irqs_off.take().map(|since| Ended::of(SectionKind::IrqsOff, since, here));
                cpu.is_halted = true;
                return ended;
            }
            SiteKind::Enter | SiteKind::Stolen => {}
            SiteKind::Return => cpu.stop_waiting(kernel, address),
            SiteKind::Probe(probe) => {
                let tracepoint = kernel.tracepoint(probe);
                if tracepoint.spins(kernel.arch()) && kernel.tells_waits() {
                    cpu.wait(here, tracepoint.point == Point::IpiWait);
                }
                let point = tracepoint.point;
                match point {
                    Point::Switch => self.switch(event.cpu, here, value(0), value(1)),
                    Point::Schedule => {
                        cpu.is_scheduling = true;
                        cpu.is_served = false;
                    }
                    Point::ServerPick => cpu.is_served = true,
                    Point::DeviceIrq => cpu.device_depth = Some(cpu.frames.len()),
                    Point::TaskChange if tracepoint.changes_priority() => {
                        if self.changing.len() >= TASKS_MAX {
                            self.changing.clear();
                        }
                        self.changing.insert(value(0));
                    }
                    Point::Syscall => {
                        cpu.frames.clear();
                        cpu.frames.push(Frame::Syscall(value(0) as u32));
                        cpu.irqs_off = Some(here);
                    }
                    Point::Interrupt | Point::Exception => {
                        let from_user = (kernel.arch().is_user)(value(1));
                        if from_user {
                            cpu.frames.clear();
                        }
                        cpu.enter(Frame::Entry {
                            probe,
                            address: value(0),
                            from_user,
                            is_exception: point == Point::Exception,
                            was_scheduling: cpu.is_scheduling,
                            irqs_off: cpu.irqs_off,
                        });
                        cpu.is_scheduling = false;
                        cpu.irqs_off = Some(here);
                    }
                    Point::IrqHandler => cpu.handles(probe),
                    Point::Softirq => return cpu.softirq(here, probe),
                    _ => {}
                }
            }
        }
        None
    }

    fn switch(&mut self, cpu: u32, here: Since, previous: u64, next: u64) {
        let cpu = self.cpus.entry(cpu).or_default();
        // A task that spins does not sleep, and no handler does.
        cpu.waits.clear();
        cpu.device_depth = None;
        let frames = std::mem::take(&mut cpu.frames);
        make_room(&mut self.parked);
        self.parked.insert(previous, frames);
        cpu.frames = self.parked.remove(&next).unwrap_or_else(|| vec![Frame::Thread]);
        cpu.task = next;
        let was_busy = std::mem::replace(
            &mut cpu.is_busy,
            self.tasks.get(&next).is_some_and(|task| task.pid != 0),
        );
        // The idle task is never preempted and keeps nobody waiting, though the count is not 0 in it.
        if was_busy != cpu.is_busy {
            let is_off = cpu.is_busy && cpu.preempt_count != 0;
            cpu.preempt_off = is_off.then_some(here);
            cpu.nested = Nested::default();
        }
    }
}

impl Cpu {
    /// Returns whether the CPU runs a program.
    pub fn is_user(&self) -> bool {
        self.frames.is_empty() && self.task != 0
    }

    /// Returns whether an interrupt or softirqs are at work, or have interrupted the present work.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interruptions() > 0
    }

    /// Returns the number of interrupts and rounds of softirqs that are not over.
    pub(crate) fn interruptions(&self) -> usize {
        let is_one = |frame: &&Frame| {
            matches!(frame, Frame::Softirq(_) | Frame::Entry { is_exception: false, .. })
        };
        self.frames.iter().filter(is_one).count()
    }

    /// Returns whether the interrupt at work is a device's.
    pub fn handles_device(&self) -> bool {
        self.device_depth == Some(self.frames.len())
    }

    /// Returns the wait for another CPU that is all that this one does.
    pub fn waiting(&self) -> Option<Wait> {
        self.waits.last().copied().filter(|wait| wait.depth == self.frames.len())
    }

    fn wait(&mut self, since: Since, is_for_answer: bool) {
        if self.waits.len() == FRAMES_MAX {
            self.waits.remove(0);
        }
        self.waits.push(Wait { since, is_for_answer, depth: self.frames.len() });
    }

    fn stop_waiting(&mut self, kernel: &Kernel, address: u64) {
        if self.waits.is_empty() {
            return;
        }
        let function = kernel.function(address);
        let is_of = |wait: &Wait| kernel.function(wait.since.address) == function;
        if let Some(place) = self.waits.iter().rposition(is_of) {
            self.waits.truncate(place);
        }
    }

    fn enter(&mut self, frame: Frame) {
        if self.frames.len() == FRAMES_MAX {
            self.frames.remove(0);
        }
        self.frames.push(frame);
    }

    /// Takes note of which interrupt is at work, where its entry does not tell.
    fn handles(&mut self, handler: u32) {
        if let Some(Frame::Entry { probe, is_exception: false, .. }) = self.frames.last_mut() {
            *probe = handler;
        }
    }

    /// Takes note of how long interrupts and softirqs take that come while preemption is off.
    fn nest(&mut self, ns: u64) {
        if self.preempt_off.is_none() {
            return;
        }
        let is_nested = self.interruptions() > self.nested.outer;
        let ns = ns.saturating_sub(self.stolen_ns);
        match self.nested.since_ns {
            None if is_nested => self.nested.since_ns = Some(ns),
            Some(since_ns) if !is_nested => {
                self.nested.since_ns = None;
                self.nested.ns = self.nested.ns.saturating_add(ns.saturating_sub(since_ns));
            }
            _ => {}
        }
    }

    fn set_count(&mut self, here: Since, count: u32) -> Option<Ended> {
        let count = count & !NEED_RESCHED;
        self.count(here, count.wrapping_sub(self.preempt_count) as i32)
    }

    fn count(&mut self, here: Since, by: i32) -> Option<Ended> {
        self.preempt_count = self.preempt_count.wrapping_add_signed(by) & !NEED_RESCHED;
        let mut softirq = None;
        if by == SOFTIRQ_OFFSET {
            self.enter(Frame::Softirq(None));
            self.softirq_since = Some(here);
        } else if by == -SOFTIRQ_OFFSET
            && let Some(place) =
                self.frames.iter().rposition(|frame| matches!(frame, Frame::Softirq(_)))
        {
            if let Frame::Softirq(probe) = self.frames[place] {
                softirq = Some(probe);
            }
            self.frames.truncate(place);
        }
        let nested_ns = self.nested.ns;
        let preempt_off = match self.preempt_count {
            0 => self.preempt_off.take(),
            _ => {
                if self.preempt_off.is_none() && (self.is_busy || self.task == 0) {
                    self.preempt_off = Some(here);
                    self.nested = Nested { outer: self.interruptions(), ..Nested::default() };
                }
                None
            }
        };
        // On the way out of an interrupt, preemption is off for softirqs alone: that is one section.
        if let Some(probe) = softirq
            && let Some(since) = self.softirq_since.take()
        {
            let kind = SectionKind::Softirq;
            return Some(Ended { softirq: probe, ..Ended::of(kind, since, here) });
        }
        let since = preempt_off.filter(|_| self.is_synchronized)?;
        let kind = SectionKind::PreemptOff;
        Some(Ended { nested_ns, ..Ended::of(kind, since, here) })
    }

    /// Begins a softirq, and ends the one that was served before it.
    fn softirq(&mut self, here: Since, probe: u32) -> Option<Ended> {
        let Some(Frame::Softirq(served)) = self.frames.last_mut() else { return None };
        let before = served.replace(probe)?;
        let since = self.softirq_since.replace(here)?;
        let kind = SectionKind::Softirq;
        Some(Ended { softirq: Some(before), ..Ended::of(kind, since, here) })
    }

    fn irqs_on(&mut self, here: Since) -> Option<Ended> {
        self.is_scheduling = false;
        let since = self.irqs_off.take()?;
        let kind = SectionKind::IrqsOff;
        Some(Ended::of(kind, since, here))
    }

    fn back_to_kernel(&mut self, here: Since) -> Option<Ended> {
        let place = self.frames.iter().rposition(|frame| matches!(frame, Frame::Entry { .. }))?;
        let off = self.irqs_off.take();
        if let Frame::Entry { was_scheduling, irqs_off, .. } = self.frames[place] {
            self.is_scheduling = was_scheduling;
            self.irqs_off = irqs_off;
        }
        self.frames.truncate(place);
        self.device_depth = self.device_depth.filter(|depth| *depth <= place);
        let since = off.filter(|_| self.irqs_off.is_none())?;
        let kind = SectionKind::IrqsOff;
        Some(Ended::of(kind, since, here))
    }

    fn return_to_user(&mut self, here: Since) -> Option<Ended> {
        self.frames.clear();
        self.device_depth = None;
        self.waits.clear();
        self.is_scheduling = false;
        // Nothing is off in user space: the count before the first return is unknown.
        self.preempt_count = 0;
        self.preempt_off = None;
        self.is_synchronized = true;
        let since = self.irqs_off.take()?;
        let kind = SectionKind::IrqsOff;
        Some(Ended::of(kind, since, here))
    }
}

/// Forgets everything about tasks when a trace names more of them than it may describe
/// ([`Machine::describe`] refuses it): the plugin describes each task before the event that names it.
pub(crate) fn make_room<K, V>(known: &mut HashMap<K, V>) {
    if known.len() >= TASKS_MAX {
        known.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here(ns: u64) -> Since {
        Since { ns, address: ns, stolen_ns: 0 }
    }

    /// `schedule_idle()` leaves preemption off for as long as the CPU idles.
    #[test]
    fn the_idle_task_keeps_nobody_waiting() {
        let mut cpu = Cpu { is_synchronized: true, task: 1, ..Cpu::default() };
        assert_eq!(cpu.count(here(10), 1), None);
        assert_eq!((cpu.preempt_count, cpu.preempt_off), (1, None));
        assert_eq!(cpu.count(here(900), -1), None);
    }

    /// As arm64 stores it.
    #[test]
    fn a_count_that_is_set_is_one_that_changes() {
        let mut cpu = Cpu { is_synchronized: true, ..Cpu::default() };
        assert_eq!(cpu.set_count(here(10), 1), None);
        assert_eq!(cpu.set_count(here(15), 2), None);
        assert_eq!(cpu.set_count(here(20), 1), None);
        let section = cpu.set_count(here(30), 0).unwrap();
        let expected = (SectionKind::PreemptOff, 10, 30);
        assert_eq!((section.kind, section.since.ns, section.end_ns), expected);
        assert_eq!(cpu.set_count(here(40), SOFTIRQ_OFFSET as u32), None);
        assert_eq!(cpu.frames, [Frame::Softirq(None)]);
        assert_eq!(cpu.set_count(here(50), 0).unwrap().kind, SectionKind::Softirq);
    }

    #[test]
    fn a_handler_tells_which_interrupt_is_at_work() {
        let entry = |probe, is_exception| Frame::Entry {
            probe,
            address: 0,
            from_user: false,
            is_exception,
            was_scheduling: false,
            irqs_off: None,
        };
        for (is_exception, probe) in [(false, 9), (true, 3)] {
            let mut cpu = Cpu { frames: vec![entry(3, is_exception)], ..Cpu::default() };
            cpu.handles(9);
            assert_eq!(cpu.frames, [entry(probe, is_exception)]);
        }
    }

    /// On the return from an interrupt the count is 0 before and after.
    #[test]
    fn softirqs_end_with_the_count_and_leave_nothing_off() {
        let mut cpu = Cpu { is_synchronized: true, ..Cpu::default() };
        assert_eq!(cpu.count(here(10), SOFTIRQ_OFFSET), None);
        assert_eq!(cpu.count(here(20), 1), None);
        assert_eq!(cpu.count(here(30), -1), None);
        let softirq = cpu.count(here(50), -SOFTIRQ_OFFSET).unwrap();
        assert_eq!(
            (softirq.kind, softirq.since.ns, softirq.end_ns),
            (SectionKind::Softirq, 10, 50)
        );
        assert_eq!(cpu.preempt_off, None);
        assert_eq!(cpu.count(here(60), 1), None);
        let section = cpu.count(here(65), -1).unwrap();
        assert_eq!(
            (section.kind, section.since.ns, section.end_ns),
            (SectionKind::PreemptOff, 60, 65)
        );
    }
}
