//! A pass over a trace that tells what has happened in the terms of the kernel's own trace events.
//!
//! Three things follow from others that are recorded:
//!
//! - An interrupt is handled from `irq_enter` to `irq_exit`, as in the kernel's events: what follows
//!   on the way out of it, softirqs and the scheduler, is not the interrupt's.
//! - A softirq ends when the next one begins, or all are served.
//! - A task is taken to sleep when it has called the scheduler itself: neither had it been asked to
//!   give way, nor was it interrupted. So `sched_yield` is taken for a sleep, and a sleep right after
//!   the task was asked to give way for a preemption. Against the tasks' own `__state`, 0.1 to 0.9 %
//!   of the switches in traces of hackbench with cyclictest are judged wrong, all but one of them by
//!   the latter.

pub mod record;
pub mod vectors;

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, Read},
};

use preemptlab_protocol::trace::stream::SiteKind;

use crate::{
    cpu::{Frame, Machine, Since, make_room},
    decode::{Decoder, Event, Item},
    explain::Window,
    export::ExportError,
    kernel::{Kernel, Point},
};

use self::record::{HARDIRQ_OFFSET, Moment, Record, SOFTIRQ_OFFSET, Section, Sink, State, added};

/// Tells a sink everything that has happened in a window.
pub fn observe<S: Sink>(
    trace: impl Read,
    kernel: &Kernel,
    window: Option<Window>,
    mut sink: S,
) -> Result<S::Output, ExportError> {
    let window = window.unwrap_or(Window { start_ns: 0, end_ns: u64::MAX });
    let mut decoder = Decoder::new(trace, kernel.program())?;
    let mut observer = Observer::new(kernel);
    let (mut has_begun, mut is_inside) = (false, false);
    let mut until_ns = 0;
    while let Some(item) = decoder.next_item()? {
        match item {
            Item::Task(task) => observer.machine.describe(task),
            Item::Event(event) => {
                // Nothing that follows can be inside.
                if event.ns > window.end_ns {
                    until_ns = window.end_ns;
                    break;
                }
                until_ns = event.ns;
                is_inside = event.ns >= window.start_ns;
                if is_inside && !has_begun {
                    has_begun = true;
                    if S::SHOWS_STATES {
                        observer.begin(window.start_ns, &mut sink)?;
                    }
                }
                observer.event(&event, is_inside.then_some(&mut sink))?;
            }
            Item::Stack(words) if is_inside => sink.stack(words)?,
            Item::Stack(_) => {}
        }
    }
    Ok(sink.finish(until_ns)?)
}

struct Observer<'a> {
    kernel: &'a Kernel,
    machine: Machine,
    cpus: BTreeMap<u32, Followed>,
    /// The CPU that each task ran on last.
    ran_on: HashMap<u64, u32>,
    /// The frames of the event at hand, kept for their memory.
    frames: Vec<Frame>,
}

/// What is followed of a CPU besides what the machine does.
#[derive(Clone, Copy, Debug, Default)]
struct Followed {
    /// Whether `preempt_count` is known: it is zero in user space.
    is_synchronized: bool,
    /// Since the last lazy request to give way that has not been met.
    is_lazily_asked: bool,
    /// Whether the scheduler was called by the current task itself.
    is_blocking: bool,
    /// The probe of the interrupt that is handled.
    hardirq: Option<Option<u32>>,
    /// The probe of the softirq that is served.
    softirq: Option<u32>,
}

impl<'a> Observer<'a> {
    fn new(kernel: &'a Kernel) -> Self {
        Self {
            kernel,
            machine: Machine::default(),
            cpus: BTreeMap::new(),
            ran_on: HashMap::new(),
            frames: Vec::new(),
        }
    }

    /// Tells what is under way.
    fn begin(&mut self, ns: u64, sink: &mut impl Sink) -> io::Result<()> {
        for (&number, followed) in &self.cpus {
            let cpu = self.machine.cpu(number);
            let state = State::of(cpu, followed.is_synchronized);
            self.frames.clone_from(&cpu.frames);
            let task = cpu.task;
            let task = self.machine.task(task);
            let moment = Moment { ns, cpu: number, task, before: state, after: state };
            for section in Section::ALL {
                if let Some(since) = state.section(section, Since { ns, address: 0 }) {
                    sink.record(&moment, Record::Begin(section, since))?;
                }
            }
            sink.record(&moment, Record::Context(&self.frames))?;
            if let Some(probe) = followed.hardirq {
                sink.record(&moment, Record::HardirqEntry { name: interrupt(self.kernel, probe) })?;
            }
            if let Some(probe) = followed.softirq {
                let name = &self.kernel.tracepoint(probe).name;
                sink.record(&moment, Record::SoftirqEntry { name })?;
            }
        }
        Ok(())
    }

    /// Follows an event, and tells what it means if there is a sink.
    fn event(&mut self, event: &Event, sink: Option<&mut impl Sink>) -> io::Result<()> {
        let followed = self.cpus.entry(event.cpu).or_default();
        let cpu = self.machine.cpu(event.cpu);
        let before = State::of(cpu, followed.is_synchronized);
        let task = cpu.task;
        let point = match event.site.kind {
            SiteKind::Probe(probe) => Some((probe, self.kernel.tracepoint(probe).point)),
            _ => None,
        };
        let mut is_user = false;
        let is_return = match event.site.kind {
            SiteKind::Iret | SiteKind::Sysret => {
                is_user = event.site.kind == SiteKind::Sysret || event.values() != [0];
                let left = if is_user {
                    0
                } else {
                    let entry = |frame: &Frame| matches!(frame, Frame::Entry { .. });
                    cpu.frames.iter().rposition(entry).unwrap_or(cpu.frames.len())
                };
                self.frames.clear();
                self.frames.extend_from_slice(&cpu.frames[left..]);
                followed.is_synchronized |= is_user;
                true
            }
            _ => false,
        };
        let mut is_blocked = false;
        match point {
            Some((_, Point::Schedule)) => {
                let is_interrupted =
                    matches!(cpu.frames.last(), Some(Frame::Entry { is_exception: false, .. }));
                let is_asked = cpu.need_resched || followed.is_lazily_asked;
                followed.is_blocking = !is_asked && !is_interrupted;
            }
            Some((_, Point::NeedResched { is_lazy: true })) => followed.is_lazily_asked = true,
            Some((_, Point::Switch)) => {
                followed.is_lazily_asked = false;
                is_blocked = std::mem::take(&mut followed.is_blocking);
                if let [previous, next, ..] = *event.values() {
                    make_room(&mut self.ran_on);
                    self.ran_on.insert(previous, event.cpu);
                    self.ran_on.insert(next, event.cpu);
                }
            }
            _ => {}
        }
        self.machine.follow(self.kernel, event);
        let cpu = self.machine.cpu(event.cpu);
        let after = State::of(cpu, followed.is_synchronized);
        if matches!(point, Some((_, Point::Switch))) {
            self.frames.clone_from(&cpu.frames);
        }

        let kernel = self.kernel;
        let (mut hardirq_exit, mut softirq_exit) = (None, None);
        let (mut hardirq_entry, mut softirq_entry) = (None, None);
        if let Some(added) = added(event) {
            if added == HARDIRQ_OFFSET {
                let entry = cpu.frames.iter().rev().find_map(|frame| match frame {
                    Frame::Entry { probe, is_exception: false, .. } => Some(*probe),
                    _ => None,
                });
                hardirq_exit = followed.hardirq.replace(entry);
                hardirq_entry = Some(entry);
            } else if added == HARDIRQ_OFFSET.wrapping_neg() {
                hardirq_exit = followed.hardirq.take();
            } else if added == SOFTIRQ_OFFSET.wrapping_neg() {
                softirq_exit = followed.softirq.take();
            }
        }
        if let Some((probe, Point::Softirq)) = point
            && matches!(cpu.frames.last(), Some(Frame::Softirq(_)))
            && vectors::softirq(&kernel.tracepoint(probe).name).is_some()
        {
            softirq_exit = followed.softirq.replace(probe);
            softirq_entry = Some(probe);
        }
        let Some(sink) = sink else { return Ok(()) };

        // What ends comes first, the innermost before the rest.
        let here = Since { ns: event.ns, address: event.site.address };
        let name = |probe: u32| kernel.tracepoint(probe).name.as_str();
        // At the first switch it becomes known who has run.
        let task = match (point, event.values()) {
            (Some((_, Point::Switch)), [previous, ..]) => *previous,
            _ => task,
        };
        let task = self.machine.task(task);
        let moment = Moment { ns: event.ns, cpu: event.cpu, task, before, after };
        let mut tell = |record: Record<'_>| sink.record(&moment, record);
        if is_return {
            for frame in self.frames.iter().rev() {
                match *frame {
                    Frame::Syscall(number) => tell(Record::SyscallExit(number))?,
                    Frame::Entry { is_exception: true, .. } => tell(Record::ExceptionExit)?,
                    _ => {}
                }
            }
        }
        if is_user {
            tell(Record::UserSpace)?;
        }
        if let Some(probe) = softirq_exit {
            tell(Record::SoftirqExit { name: name(probe) })?;
        }
        if let Some(probe) = hardirq_exit {
            tell(Record::HardirqExit { name: interrupt(kernel, probe) })?;
        }
        for section in Section::ALL.into_iter().rev() {
            if before.section(section, here).is_some() && after.section(section, here).is_none() {
                let is_lost = is_user && section == Section::PreemptOff;
                tell(match is_lost {
                    true => Record::Lost(section),
                    false => Record::End(section, here.address),
                })?;
            }
        }
        for section in Section::ALL {
            if let Some(since) = after.section(section, here)
                && before.section(section, here).is_none()
            {
                tell(Record::Begin(section, Since { ns: event.ns, ..since }))?;
            }
        }
        if let Some(probe) = hardirq_entry {
            tell(Record::HardirqEntry { name: interrupt(kernel, probe) })?;
        }
        if let Some(probe) = softirq_entry {
            tell(Record::SoftirqEntry { name: name(probe) })?;
        }
        let Some((probe, point)) = point else { return Ok(()) };
        match (point, event.values()) {
            (Point::Switch, [previous, next, ..]) => {
                if let (Some(previous), Some(next)) =
                    (self.machine.task(*previous), self.machine.task(*next))
                {
                    tell(Record::Switch { previous, next, is_blocked })?;
                }
                let task = self.machine.task(*next);
                sink.record(&Moment { task, ..moment }, Record::Context(&self.frames))?;
            }
            (Point::Waking, [task, ..]) => {
                let cpu = self.ran_on.get(task).copied();
                if let Some(task) = self.machine.task(*task) {
                    tell(Record::Waking { task, cpu })?;
                }
            }
            (Point::NeedResched { is_lazy }, _) => tell(Record::ReschedAsked { is_lazy })?,
            (Point::Syscall, [number, ..]) => tell(Record::SyscallEntry(*number as u32))?,
            (Point::Schedule, _) => tell(Record::Schedule)?,
            (Point::LockWait, _) => tell(Record::LockWait { name: name(probe) })?,
            (Point::TimerStart, _) => tell(Record::TimerStart)?,
            (Point::Exception, _) => tell(Record::ExceptionEntry { name: name(probe) })?,
            _ => {}
        }
        Ok(())
    }
}

/// The name of an interrupt's entry, or of all interrupts if it has not been seen.
fn interrupt(kernel: &Kernel, probe: Option<u32>) -> &str {
    probe.map_or("interrupt", |probe| &kernel.tracepoint(probe).name)
}
