//! Records of a trace, before they are written in some format or drawn.

use std::io;

use preemptlab_protocol::trace::stream::SiteKind;

use crate::{
    cpu::{Cpu, Frame, Since},
    decode::{Event, Task},
};

/// `PREEMPT_MASK`, `SOFTIRQ_OFFSET`, `HARDIRQ_MASK` and `HARDIRQ_OFFSET` of `preempt_count`
/// (include/linux/preempt.h).
const PREEMPT_MASK: u32 = 0xff;
pub const SOFTIRQ_OFFSET: u32 = 0x100;
const HARDIRQ_MASK: u32 = 0xf_0000;
pub const HARDIRQ_OFFSET: u32 = 0x1_0000;

/// A state of a CPU that keeps something from happening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// Interrupts are off.
    IrqsOff,
    /// Preemption is off.
    PreemptOff,
    /// The current task is to give way, and has not yet.
    NeedResched,
}

impl Section {
    pub const ALL: [Self; 3] = [Self::IrqsOff, Self::PreemptOff, Self::NeedResched];
}

/// Something that has happened.
#[derive(Clone, Copy, Debug)]
pub enum Record<'a> {
    /// The CPU goes from one task to another.
    Switch {
        previous: &'a Task,
        next: &'a Task,
        /// Whether the previous task waits for something other than a CPU.
        is_blocked: bool,
    },
    /// Levels of the kernel for the current task, from the outermost to the innermost: after each
    /// switch.
    Context(&'a [Frame]),
    /// A task is to be woken; the CPU on which it ran last, if it has run.
    Waking { task: &'a Task, cpu: Option<u32> },
    /// The scheduler has asked some task to give way; lazily, or at once.
    ReschedAsked { is_lazy: bool },
    /// An interrupt's handler begins (`irq_enter`).
    HardirqEntry { name: &'a str },
    /// The interrupt ends (`irq_exit`).
    HardirqExit { name: &'a str },
    /// A softirq's function begins.
    SoftirqEntry { name: &'a str },
    /// The softirq ends.
    SoftirqExit { name: &'a str },
    /// The current task calls the kernel, with the call's number.
    SyscallEntry(u32),
    /// The call is over.
    SyscallExit(u32),
    /// The current task has raised an exception.
    ExceptionEntry { name: &'a str },
    /// The exception is dealt with.
    ExceptionExit,
    /// The current task continues in user space.
    UserSpace,
    /// The scheduler is called.
    Schedule,
    /// The current task is about to wait for a lock, in this function of the kernel.
    LockWait { name: &'a str },
    /// A timer is started.
    TimerStart,
    /// A section begins, with the instruction that begins it.
    Begin(Section, Since),
    /// A section ends, with the instruction that ends it.
    End(Section, u64),
    /// A section has ended at an unknown time: preemption is never off in user space.
    Lost(Section),
}

/// Time, CPU and state of the CPU of a record.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// Virtual time, in nanoseconds.
    pub ns: u64,
    pub cpu: u32,
    /// The current task; before a switch the previous one. `None` before the first switch.
    pub task: Option<&'a Task>,
    pub before: State,
    pub after: State,
}

/// Part of a CPU's state that an export shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    pub irqs_off: Option<Since>,
    /// Start of the section with preemption off; `None` while the CPU halts, because the idle task
    /// never switches preemption on.
    pub preempt_off: Option<Since>,
    pub need_resched: bool,
    /// 0 as long as it is unknown.
    pub preempt_count: u32,
}

impl State {
    pub fn of(cpu: &Cpu, is_synchronized: bool) -> Self {
        let is_shown = is_synchronized && !cpu.is_halted;
        Self {
            irqs_off: cpu.irqs_off,
            preempt_off: cpu.preempt_off.filter(|_| is_shown),
            need_resched: cpu.need_resched,
            preempt_count: if is_synchronized { cpu.preempt_count } else { 0 },
        }
    }

    /// Returns the start of a section that is on. For a pending reschedule the start is `here`, the
    /// only place that is known.
    pub fn section(&self, section: Section, here: Since) -> Option<Since> {
        match section {
            Section::IrqsOff => self.irqs_off,
            Section::PreemptOff => self.preempt_off,
            Section::NeedResched => self.need_resched.then_some(here),
        }
    }

    pub fn is_hardirq(&self) -> bool {
        self.preempt_count & HARDIRQ_MASK != 0
    }

    pub fn is_softirq(&self) -> bool {
        self.preempt_count & SOFTIRQ_OFFSET != 0
    }

    pub fn preempt_depth(&self) -> u32 {
        self.preempt_count & PREEMPT_MASK
    }
}

/// Returns the number that an event adds to `preempt_count`, modulo 2^32, from what the count was before; `None` for an
/// event that does not change it.
pub fn added(event: &Event, before: u32) -> Option<u32> {
    let value = || event.values().first().copied().unwrap_or(0) as u32;
    match event.site.kind {
        SiteKind::PreemptAdd(number) => Some(number.cast_unsigned()),
        SiteKind::PreemptAddValue => Some(value()),
        SiteKind::PreemptSubValue => Some(value().wrapping_neg()),
        SiteKind::PreemptSetValue => Some(value().wrapping_sub(before)),
        _ => None,
    }
}

/// Receiver of records: the writer of a format, or a drawing.
pub trait Sink {
    /// Result of the receiver.
    type Output;

    /// Whether the format shows states. Then the states at the start of the window are given as if
    /// they began there. A format that lists events must not list events that did not happen.
    const SHOWS_STATES: bool;

    /// Receives a record.
    fn record(&mut self, moment: &Moment<'_>, record: Record<'_>) -> io::Result<()>;

    /// Receives the words on top of the stack at the event of the last records.
    fn stack(&mut self, words: &[u64]) -> io::Result<()>;

    /// Ends the output. `until_ns` is the end of the window, or the last event of a trace that ends
    /// before.
    fn finish(self, until_ns: u64) -> io::Result<Self::Output>;
}
