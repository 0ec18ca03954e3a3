//! A pass over a trace that produces records in the terms of the kernel's own trace events.
//!
//! Three things follow from others that are recorded:
//!
//! - An interrupt is handled from `irq_enter` to `irq_exit`, as in the kernel's events: the work
//!   on the way out of it, softirqs and the scheduler, is not the interrupt's.
//! - A softirq ends when the next one begins, or all are served.
//! - A task is taken to sleep when it has called the scheduler itself: neither had it been asked to
//!   give way, nor was it interrupted. So `sched_yield` is taken for a sleep, and a sleep right after
//!   the task was asked to give way for a preemption. Against the tasks' own `__state`, 0.1 to 0.9 %
//!   of the switches in traces of hackbench with cyclictest are judged wrong, all but one of them by
//!   the latter.

pub mod record;
pub mod softirqs;

use std::{
    collections::{BTreeMap, HashMap, btree_map::Entry},
    io::{self, Read},
};

use preemptlab_protocol::trace::stream::SiteKind;

use crate::{
    cpu::{Cpu, Frame, Machine, Since, make_room},
    decode::{BEHIND_NS_MAX, Decoder, Event, Item},
    explain::Window,
    export::ExportError,
    kernel::Kernel,
    point::Point,
};

use self::record::{HARDIRQ_OFFSET, Moment, Record, SOFTIRQ_OFFSET, Section, Sink, State, added};

/// Tells a sink everything that has happened in a window.
///
/// # Errors
///
/// [`ExportError`]
pub fn observe<S: Sink>(
    trace: impl Read,
    kernel: &Kernel,
    window: Option<Window>,
    mut sink: S,
) -> Result<S::Output, ExportError> {
    let window = window.unwrap_or(Window { start_ns: 0, end_ns: u64::MAX });
    let mut decoder = Decoder::new(trace, kernel.program())?;
    let mut observer = Observer::new(kernel);
    let mut is_inside = false;
    let mut until_ns = 0;
    while let Some(item) = decoder.next_item()? {
        match item {
            Item::Task(task) => observer.machine.describe(task)?,
            Item::Event(event) => {
                until_ns = until_ns.max(event.ns);
                // Nothing that follows can be inside, on any CPU.
                if event.ns > window.end_ns.saturating_add(BEHIND_NS_MAX) {
                    break;
                }
                if S::SHOWS_STATES && event.ns >= window.start_ns {
                    observer.begin(event.cpu, window.start_ns, &mut sink)?;
                }
                is_inside = window.contains(event.ns);
                observer.event(&event, is_inside.then_some(&mut sink))?;
            }
            Item::Stack(words) if is_inside => sink.stack(words)?,
            Item::Stack(_) => {}
        }
    }
    if S::SHOWS_STATES && until_ns >= window.start_ns {
        for cpu in observer.cpus.keys().copied().collect::<Vec<_>>() {
            observer.begin(cpu, window.start_ns, &mut sink)?;
        }
    }
    Ok(sink.finish(until_ns.min(window.end_ns))?)
}

struct Observer<'a> {
    kernel: &'a Kernel,
    machine: Machine,
    cpus: BTreeMap<u32, Followed>,
    /// The CPU that each task ran on last.
    ran_on: HashMap<u64, u32>,
    /// The frames of the current event, kept for their memory.
    frames: Vec<Frame>,
}

/// State of a CPU that the machine does not follow.
#[derive(Clone, Copy, Debug, Default)]
struct Followed {
    /// Whether the sink knows the state at the start of the window.
    has_begun: bool,
    /// Whether `preempt_count` is known, because the CPU was in user space, where it is zero.
    is_synchronized: bool,
    /// Since the last lazy request to give way that has not been met.
    is_lazily_asked: bool,
    /// Whether the current task called the scheduler itself.
    is_blocking: bool,
    /// The probe of the interrupt that is handled.
    hardirq: Option<Option<u32>>,
    /// The probe of the softirq that is served.
    softirq: Option<u32>,
}

/// The interrupts and softirqs that an event ends and begins, each by its probe.
#[derive(Clone, Copy, Default)]
struct Interrupts {
    softirq_exit: Option<u32>,
    hardirq_exit: Option<Option<u32>>,
    hardirq_entry: Option<Option<u32>>,
    softirq_entry: Option<u32>,
}

impl Followed {
    /// Follows a return and takes the frames that it leaves; `None` where the event is not a
    /// return, else whether it leads to user space.
    fn returns(&mut self, cpu: &Cpu, event: &Event, left: &mut Vec<Frame>) -> Option<bool> {
        if !matches!(event.site.kind, SiteKind::ExceptionReturn | SiteKind::Sysret) {
            return None;
        }
        let is_user = event.site.kind == SiteKind::Sysret || event.values() != [0];
        let first = if is_user {
            0
        } else {
            let entry = |frame: &Frame| matches!(frame, Frame::Entry { .. });
            cpu.frames.iter().rposition(entry).unwrap_or(cpu.frames.len())
        };
        left.clear();
        left.extend_from_slice(&cpu.frames[first..]);
        self.is_synchronized |= is_user;
        Some(is_user)
    }

    /// Follows the calls that lead to a switch; at a switch, returns whether the task called the
    /// scheduler itself.
    fn schedules(&mut self, cpu: &Cpu, point: Option<Point>) -> bool {
        match point {
            Some(Point::Schedule) => {
                let is_interrupted =
                    matches!(cpu.frames.last(), Some(Frame::Entry { is_exception: false, .. }));
                let is_asked = cpu.need_resched || self.is_lazily_asked;
                self.is_blocking = !is_asked && !is_interrupted;
            }
            Some(Point::NeedResched { is_lazy: true }) => self.is_lazily_asked = true,
            Some(Point::Switch) => {
                self.is_lazily_asked = false;
                return std::mem::take(&mut self.is_blocking);
            }
            _ => {}
        }
        false
    }

    /// Follows interrupts and softirqs; `cpu` is as the event leaves it, and `added` the number that it has added to
    /// `preempt_count`.
    fn interrupts(
        &mut self,
        cpu: &Cpu,
        kernel: &Kernel,
        point: Option<(u32, Point)>,
        added: Option<u32>,
    ) -> Interrupts {
        let mut interrupts = Interrupts::default();
        if let Some(added) = added {
            if added == HARDIRQ_OFFSET {
                let entry = cpu.frames.iter().rev().find_map(|frame| match frame {
                    Frame::Entry { probe, is_exception: false, .. } => Some(*probe),
                    _ => None,
                });
                interrupts.hardirq_exit = self.hardirq.replace(entry);
                interrupts.hardirq_entry = Some(entry);
            } else if added == HARDIRQ_OFFSET.wrapping_neg() {
                interrupts.hardirq_exit = self.hardirq.take();
            } else if added == SOFTIRQ_OFFSET.wrapping_neg() {
                interrupts.softirq_exit = self.softirq.take();
            }
        }
        // Where all interrupts have the same entry, the handler tells which one it is.
        if let Some((probe, Point::IrqHandler)) = point
            && let Some(entry) = self.hardirq.replace(Some(probe))
        {
            interrupts.hardirq_exit = Some(entry);
            interrupts.hardirq_entry = Some(Some(probe));
        }
        if let Some((probe, Point::Softirq)) = point
            && matches!(cpu.frames.last(), Some(Frame::Softirq(_)))
            && softirqs::softirq(&kernel.tracepoint(probe).name).is_some()
        {
            interrupts.softirq_exit = self.softirq.replace(probe);
            interrupts.softirq_entry = Some(probe);
        }
        interrupts
    }
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

    /// Gives the sink a CPU's state at the start of the window, once. A CPU of which nothing is known has
    /// none.
    fn begin(&mut self, number: u32, ns: u64, sink: &mut impl Sink) -> io::Result<()> {
        let known = self.cpus.entry(number);
        let is_known = matches!(known, Entry::Occupied(_));
        let followed = known.or_default();
        if std::mem::replace(&mut followed.has_begun, true) || !is_known {
            return Ok(());
        }
        let cpu = self.machine.cpu(number);
        let state = State::of(cpu, followed.is_synchronized);
        let here = Since { ns, address: 0, stolen_ns: cpu.stolen_ns };
        self.frames.clone_from(&cpu.frames);
        let task = cpu.task;
        let task = self.machine.task(task);
        let moment = Moment { ns, cpu: number, task, before: state, after: state };
        for section in Section::ALL {
            if let Some(since) = state.section(section, here) {
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
        Ok(())
    }

    /// Follows an event, and gives its records to the sink if there is one.
    fn event(&mut self, event: &Event, sink: Option<&mut impl Sink>) -> io::Result<()> {
        let followed = self.cpus.entry(event.cpu).or_default();
        let cpu = self.machine.cpu(event.cpu);
        let before = State::of(cpu, followed.is_synchronized);
        let probe = match event.site.kind {
            SiteKind::Probe(probe) => Some((probe, self.kernel.tracepoint(probe).point)),
            _ => None,
        };
        let point = probe.map(|(_, point)| point);
        let returned = followed.returns(cpu, event, &mut self.frames);
        let added = added(event, cpu.preempt_count);
        let is_blocked = followed.schedules(cpu, point);
        // The first switch of a CPU tells which task has run there.
        let task = match (point, event.values()) {
            (Some(Point::Switch), [previous, next, ..]) => {
                make_room(&mut self.ran_on);
                self.ran_on.insert(*previous, event.cpu);
                self.ran_on.insert(*next, event.cpu);
                *previous
            }
            (Some(Point::Switch), [previous]) => *previous,
            _ => cpu.task,
        };
        self.machine.follow(self.kernel, event);
        let cpu = self.machine.cpu(event.cpu);
        let after = State::of(cpu, followed.is_synchronized);
        if point == Some(Point::Switch) {
            self.frames.clone_from(&cpu.frames);
        }
        let interrupts = followed.interrupts(cpu, self.kernel, probe, added);
        let Some(sink) = sink else { return Ok(()) };

        let task = self.machine.task(task);
        let moment = Moment { ns: event.ns, cpu: event.cpu, task, before, after };
        let mut tell = |record: Record<'_>| sink.record(&moment, record);
        // Records of ends come first, the innermost before the rest.
        if let Some(is_user) = returned {
            self.left(is_user, &mut tell)?;
        }
        self.interrupts_ended(interrupts, &mut tell)?;
        sections(&moment, event.site.address, returned == Some(true), &mut tell)?;
        self.interrupts_began(interrupts, &mut tell)?;
        match probe {
            Some((probe, point)) => self.point(event, (probe, point), is_blocked, &moment, sink),
            None => Ok(()),
        }
    }

    /// Gives the sink the ends of the levels that a return leaves.
    fn left(
        &self,
        is_user: bool,
        tell: &mut impl FnMut(Record<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        for frame in self.frames.iter().rev() {
            match *frame {
                Frame::Syscall(number) => tell(Record::SyscallExit(number))?,
                Frame::Entry { is_exception: true, .. } => tell(Record::ExceptionExit)?,
                _ => {}
            }
        }
        if is_user { tell(Record::UserSpace) } else { Ok(()) }
    }

    fn interrupts_ended(
        &self,
        interrupts: Interrupts,
        tell: &mut impl FnMut(Record<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        if let Some(probe) = interrupts.softirq_exit {
            tell(Record::SoftirqExit { name: self.name(probe) })?;
        }
        match interrupts.hardirq_exit {
            Some(probe) => tell(Record::HardirqExit { name: interrupt(self.kernel, probe) }),
            None => Ok(()),
        }
    }

    fn interrupts_began(
        &self,
        interrupts: Interrupts,
        tell: &mut impl FnMut(Record<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        if let Some(probe) = interrupts.hardirq_entry {
            tell(Record::HardirqEntry { name: interrupt(self.kernel, probe) })?;
        }
        match interrupts.softirq_entry {
            Some(probe) => tell(Record::SoftirqEntry { name: self.name(probe) }),
            None => Ok(()),
        }
    }

    /// Gives the sink the record that a probe means by itself.
    fn point(
        &self,
        event: &Event,
        (probe, point): (u32, Point),
        is_blocked: bool,
        moment: &Moment<'_>,
        sink: &mut impl Sink,
    ) -> io::Result<()> {
        let mut tell = |record: Record<'_>| sink.record(moment, record);
        match (point, event.values()) {
            (Point::Switch, [previous, next, ..]) => {
                let (previous, next) = (self.machine.task(*previous), self.machine.task(*next));
                if let (Some(previous), Some(next)) = (previous, next) {
                    tell(Record::Switch { previous, next, is_blocked })?;
                }
                sink.record(&Moment { task: next, ..*moment }, Record::Context(&self.frames))
            }
            (Point::Waking, [task, ..]) => {
                let cpu = self.ran_on.get(task).copied();
                match self.machine.task(*task) {
                    Some(task) => tell(Record::Waking { task, cpu }),
                    None => Ok(()),
                }
            }
            (Point::NeedResched { is_lazy }, _) => tell(Record::ReschedAsked { is_lazy }),
            (Point::Syscall, [number, ..]) => tell(Record::SyscallEntry(*number as u32)),
            (Point::Schedule, _) => tell(Record::Schedule),
            (Point::LockWait, _) => tell(Record::LockWait { name: self.name(probe) }),
            (Point::TimerStart, _) => tell(Record::TimerStart),
            (Point::Exception, _) => tell(Record::ExceptionEntry { name: self.name(probe) }),
            _ => Ok(()),
        }
    }

    fn name(&self, probe: u32) -> &str {
        &self.kernel.tracepoint(probe).name
    }
}

/// Tells which sections an event ends and begins.
fn sections(
    moment: &Moment<'_>,
    address: u64,
    is_user: bool,
    tell: &mut impl FnMut(Record<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let here = Since { ns: moment.ns, address, stolen_ns: 0 };
    let of = |state: &State, section| state.section(section, here);
    for section in Section::ALL.into_iter().rev() {
        if of(&moment.before, section).is_some() && of(&moment.after, section).is_none() {
            tell(match is_user && section == Section::PreemptOff {
                true => Record::Lost(section),
                false => Record::End(section, address),
            })?;
        }
    }
    for section in Section::ALL {
        if let (None, Some(since)) = (of(&moment.before, section), of(&moment.after, section)) {
            tell(Record::Begin(section, Since { ns: moment.ns, ..since }))?;
        }
    }
    Ok(())
}

/// Returns the name of an interrupt's entry, or of all interrupts if its entry has not been seen.
fn interrupt(kernel: &Kernel, probe: Option<u32>) -> &str {
    probe.map_or("interrupt", |probe| &kernel.tracepoint(probe).name)
}
