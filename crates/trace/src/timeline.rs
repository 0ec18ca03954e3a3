//! The cause of every nanosecond of a wakeup's latency.

use std::hash::{DefaultHasher, Hash, Hasher};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use preemptlab_protocol::trace::stream::SiteKind;

use crate::{
    cause::Cause,
    cpu::{Cpu, Ended, Frame, Machine, SectionKind, Since},
    decisions::Decisions,
    decode::Event,
    kernel::{Kernel, Tracepoint},
    point::Point,
    thinned::{Thin, Thinned},
    wakeup::{Expiry, Wakeup},
};

/// Largest number of callers of a function that are named.
const CALLERS_MAX: usize = 4;

/// Functions that take or release a lock, switch something off or on, or call other CPUs, for their callers.
const WRAPPERS: [&str; 14] = [
    "_raw_",
    "__raw_",
    "__local_bh_",
    "local_bh_",
    "rt_spin_",
    "rt_read_",
    "rt_write_",
    "queued_",
    "preempt_",
    "__preempt_",
    "migrate_",
    "raw_spin_rq_",
    "smp_call_function",
    "on_each_cpu",
];

/// Segments that are drawn as one, because the wakeup has too many: they differ in their times alone and are
/// near each other. The one is as long as they are together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Folded {
    /// Number of segments.
    pub count: u64,
    /// Length of the shortest, in nanoseconds.
    pub min_ns: u64,
    /// Length of the longest, in nanoseconds.
    pub max_ns: u64,
    /// Whether segments of other tasks or calls may lie between them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_gaps: bool,
    /// Whether the cause is all that they have in common: a wakeup has more kinds of segments than are kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_rest: bool,
}

/// A stretch of a wakeup with one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Segment {
    /// Start of the segment, in virtual nanoseconds.
    pub start_ns: u64,
    /// End of the segment, in virtual nanoseconds.
    pub end_ns: u64,
    /// Cause for which the task did not run.
    pub cause: Cause,
    /// The CPU of the segment, where it is not the one on which the task went on: its timer belongs to
    /// another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// The other CPU of the cause, where it is known: the last one that was interrupted for an answer, or the
    /// one that has woken the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_cpu: Option<u32>,
    /// The function to blame, where one is known.
    pub function: Option<String>,
    /// Callers of the function, the nearest first.
    pub callers: Vec<String>,
    /// The task that the CPU had.
    pub comm: String,
    /// Number of the thread.
    pub pid: u32,
    /// Levels of the kernel at work for the task: a system call, an interrupt, user space.
    pub context: String,
    /// Since when that which is off had been off, if that was before the segment. Segments that are drawn as
    /// one have it where they belong to one section.
    pub since_ns: Option<u64>,
    /// The segments that this one stands for, where it is not a single one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folded: Option<Folded>,
}

impl Segment {
    /// Returns the length of the segment, in nanoseconds.
    pub fn len_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Returns the number of segments that this one stands for, and the length of the shortest and of the
    /// longest of them, in nanoseconds.
    pub fn folded(&self) -> Folded {
        let len_ns = self.len_ns();
        let single =
            Folded { count: 1, min_ns: len_ns, max_ns: len_ns, has_gaps: false, is_rest: false };
        self.folded.unwrap_or(single)
    }

    /// Returns the outermost level of the kernel at work for the task.
    pub fn outermost(&self) -> &str {
        self.context.split(" > ").next().unwrap_or_default()
    }
}

/// The timeline of a wakeup: segments without a gap from the due time to the first instruction in
/// user space.
///
/// A wakeup may have more segments than can be kept or drawn. Then a segment stands for several that are
/// alike (see [`Folded`]), so that sums by cause, function, task or context are exact whatever their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// Wakeup that the timeline explains.
    pub wakeup: Wakeup,
    /// Segments, in order.
    pub segments: Vec<Segment>,
    /// Time that the timers of other fair tasks took in hard interrupts meanwhile, in nanoseconds.
    pub other_timers_ns: u64,
}

impl Timeline {
    /// Returns the number of segments that the wakeup has, which may be more than are drawn.
    pub fn segments_count(&self) -> u64 {
        self.segments.iter().map(|segment| segment.folded().count).sum()
    }

    /// Returns the causes with their total time in nanoseconds, the longest first.
    pub fn causes(&self) -> Vec<(Cause, u64)> {
        let mut causes: Vec<(Cause, u64)> = Vec::new();
        for segment in &self.segments {
            match causes.iter_mut().find(|(cause, _)| *cause == segment.cause) {
                Some((_, ns)) => *ns = ns.saturating_add(segment.len_ns()),
                None => causes.push((segment.cause, segment.len_ns())),
            }
        }
        causes.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        causes
    }
}

/// Painter of the timeline of one wakeup with a known window, from the events in it.
pub(crate) struct Painter {
    wakeup: Wakeup,
    /// The CPU whose work the wakeup waits for: that of the timer until the task is woken, then that on
    /// which it continues.
    cpu: u32,
    /// The CPU that has woken the task, until the task's own knows.
    woken_by: Option<u32>,
    /// The other CPU that has taken an interrupt last whose sender may wait, and when.
    answering: Option<(u32, u64)>,
    segments: Thinned<Drawn>,
    last_ns: u64,
    /// The timer's function has run.
    is_expired: bool,
    /// The task has the CPU.
    is_running: bool,
    /// Decisions of the scheduler since the task was woken.
    decisions: Decisions,
    /// The timer of another fair task has expired last.
    is_others_timer: bool,
    other_timers_ns: u64,
    /// Address at which the last interrupt met kernel code.
    interrupted: Option<u64>,
    interrupted_callers: Vec<String>,
    /// Whether that interrupt met a softirq.
    interrupted_softirq: bool,
    /// Event that the next words of a stack belong to.
    stack_of: Option<StackOf>,
}

struct Drawn {
    segment: Segment,
    /// The section of the segment; of several, that of the first one.
    section: Option<(SectionKind, Since)>,
    /// Whether the section is not over, so that the function to blame for it is not known.
    is_open: bool,
    /// Whether it stands for segments of several sections.
    is_of_several: bool,
}

impl Drawn {
    /// Names the function that is to blame for the section, if that is known by more than its start.
    fn close(&mut self, blamed: Option<&(Option<String>, Vec<String>)>) {
        self.is_open = false;
        if let Some((function, callers)) = blamed {
            self.segment.function.clone_from(function);
            self.segment.callers.clone_from(callers);
        }
    }

    fn open_section(&self) -> Option<(SectionKind, u64, u64)> {
        let (kind, since) = self.section.filter(|_| self.is_open)?;
        Some((kind, since.ns, since.address))
    }

    /// Returns everything about a segment but its times.
    fn key(&self) -> impl Eq + Hash {
        let Segment { cause, cpu, other_cpu, function, callers, comm, pid, context, .. } =
            &self.segment;
        let is_rest = self.segment.folded.is_some_and(|folded| folded.is_rest);
        let place = (*cause, *cpu, *other_cpu, *pid, is_rest, self.open_section());
        (place, function, callers, comm, context)
    }
}

impl Thin for Drawn {
    fn span(&self) -> (u64, u64) {
        (self.segment.start_ns, self.segment.end_ns)
    }

    fn move_to(&mut self, start_ns: u64, end_ns: u64) {
        if start_ns != self.segment.start_ns || self.segment.folded.is_some() {
            // Its start no longer tells that of its section.
            let since = self.section.filter(|_| !self.is_of_several);
            self.segment.since_ns = since.map(|(_, since)| since.ns);
        }
        (self.segment.start_ns, self.segment.end_ns) = (start_ns, end_ns);
    }

    fn is_alike(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.key().hash(&mut hasher);
        hasher.finish()
    }

    fn is_one_run(&self, next: &Self) -> bool {
        let run = |segment: &Segment| (segment.pid, segment.cause.is_closed());
        let (this, next) = (&self.segment, &next.segment);
        run(this) == run(next) && this.comm == next.comm && this.outermost() == next.outermost()
    }

    fn take_in(&mut self, other: Self, has_gaps: bool) {
        let (this, that) = (self.segment.folded(), other.segment.folded());
        self.segment.folded = Some(Folded {
            count: this.count.saturating_add(that.count),
            min_ns: this.min_ns.min(that.min_ns),
            max_ns: this.max_ns.max(that.max_ns),
            has_gaps: has_gaps || this.has_gaps || that.has_gaps,
            is_rest: this.is_rest,
        });
        self.is_of_several |= other.is_of_several || self.section != other.section;
    }

    fn forget(&mut self) {
        let folded = Folded { has_gaps: true, is_rest: true, ..self.segment.folded() };
        (self.section, self.is_open, self.is_of_several) = (None, false, false);
        self.segment = Segment {
            start_ns: self.segment.start_ns,
            end_ns: self.segment.end_ns,
            cause: self.segment.cause,
            cpu: None,
            other_cpu: None,
            function: None,
            callers: Vec::new(),
            comm: String::new(),
            pid: 0,
            context: String::new(),
            since_ns: None,
            folded: Some(folded),
        };
    }
}

enum StackOf {
    Section(SectionKind, Since),
    Interrupt,
}

impl Painter {
    pub fn new(wakeup: Wakeup) -> Self {
        let last_ns = wakeup.due_ns;
        let wakeup_is_due = wakeup.expire_ns == wakeup.due_ns;
        Self {
            cpu: wakeup.timer_cpu,
            woken_by: None,
            answering: None,
            wakeup,
            segments: Thinned::default(),
            last_ns,
            // A wakeup that did not happen has no timer to wait for.
            is_expired: wakeup_is_due,
            is_running: false,
            decisions: Decisions::default(),
            is_others_timer: false,
            other_timers_ns: 0,
            interrupted: None,
            interrupted_callers: Vec::new(),
            interrupted_softirq: false,
            stack_of: None,
        }
    }

    pub fn wakeup(&self) -> &Wakeup {
        &self.wakeup
    }

    /// Draws the CPU's work until an event, before the machine follows it.
    pub fn before(&mut self, kernel: &Kernel, machine: &mut Machine, event: &Event) {
        self.no_stack();
        if event.cpu != self.cpu {
            if let SiteKind::Probe(probe) = event.site.kind
                && is_call(kernel, probe)
            {
                self.answering = Some((event.cpu, event.ns));
            }
            // Even after missed events the task runs here.
            if event.cpu != self.wakeup.cpu || !self.is_switched_to(kernel, event) {
                return;
            }
            self.cpu = event.cpu;
        }
        let end_ns = event.ns.min(self.wakeup.user_ns);
        let stolen_from_ns = event.ns.saturating_sub(event.stolen_ns().unwrap_or(0));
        for (until_ns, is_stolen) in [(stolen_from_ns.min(end_ns), false), (end_ns, true)] {
            if until_ns > self.last_ns {
                let cpu = machine.cpu(event.cpu).clone();
                let cause = match is_stolen {
                    true => (Cause::Stolen, None),
                    false => self.cause(kernel, machine, &cpu),
                };
                self.paint(kernel, machine, &cpu, cause, until_ns);
                self.last_ns = until_ns;
            }
        }
    }

    /// Looks at an event after the machine has followed it.
    pub fn after(
        &mut self,
        kernel: &Kernel,
        machine: &mut Machine,
        event: &Event,
        ended: Option<Ended>,
    ) {
        if event.cpu != self.cpu {
            return;
        }
        if let Some(Ended { kind, since, .. }) = ended {
            self.stack_of = Some(StackOf::Section(kind, since));
        }
        let SiteKind::Probe(probe) = event.site.kind else { return };
        let point = kernel.tracepoint(probe).point;
        if self.is_expired && self.woken_by.is_none() {
            self.decisions.follow(point, event, &self.wakeup);
        }
        let expiry = Expiry::of(point, event.values());
        if expiry.is_some() || point == Point::Interrupt {
            let task = expiry.and_then(|expiry| machine.task(expiry.task));
            self.is_others_timer =
                task.is_some_and(|it| it.address != self.wakeup.task.address && it.prio >= 100);
        }
        match point {
            Point::TimerExpire if event.ns == self.wakeup.expire_ns => self.is_expired = true,
            // The timer's function puts the task into the queue itself.
            Point::PeriodExpire { .. } if event.ns == self.wakeup.expire_ns => {
                self.is_expired = true;
                self.decisions = Decisions::of_queued();
                self.go_where_it_wakes();
            }
            Point::Waking
                if self.is_expired && event.values().first() == Some(&self.wakeup.task.address) =>
            {
                self.go_where_it_wakes();
            }
            Point::Schedule | Point::NeedResched { .. } => self.woken_by = None,
            Point::Switch => {
                self.woken_by = None;
                self.is_running = machine.cpu(event.cpu).task == self.wakeup.task.address;
            }
            Point::Interrupt => {
                self.woken_by = None;
                let frames = &machine.cpu(event.cpu).frames;
                if let Some(&Frame::Entry { address, from_user: false, .. }) = frames.last() {
                    let below = frames.len().checked_sub(2).and_then(|place| frames.get(place));
                    self.interrupted_softirq = matches!(below, Some(Frame::Softirq(_)));
                    self.interrupted = Some(address);
                    self.interrupted_callers.clear();
                    self.stack_of = Some(StackOf::Interrupt);
                }
            }
            _ => {}
        }
    }

    /// Follows the wakeup to the CPU on which its task continues.
    fn go_where_it_wakes(&mut self) {
        if self.cpu != self.wakeup.cpu {
            self.woken_by = Some(self.cpu);
            self.cpu = self.wakeup.cpu;
            self.interrupted = None;
            self.interrupted_callers.clear();
        }
    }

    /// Takes note that the last event has no stack.
    pub fn no_stack(&mut self) {
        if let Some(StackOf::Section(kind, since)) = self.stack_of.take() {
            self.close(kind, since, None);
        }
    }

    fn close(
        &mut self,
        kind: SectionKind,
        since: Since,
        blamed: Option<&(Option<String>, Vec<String>)>,
    ) {
        for drawn in self.segments.since_mut(since.ns) {
            if drawn.is_open && drawn.section == Some((kind, since)) {
                drawn.close(blamed);
            }
        }
    }

    /// Names the callers of the function at the last event.
    pub fn stack(&mut self, kernel: &Kernel, words: &[u64]) {
        match self.stack_of.take() {
            Some(StackOf::Interrupt) => {
                self.interrupted_callers = interrupted_callers(kernel, words);
            }
            Some(StackOf::Section(kind, since)) => {
                let blamed = blame(kernel.function(since.address), callers(kernel, words));
                self.close(kind, since, Some(&blamed));
            }
            None => {}
        }
    }

    fn is_switched_to(&self, kernel: &Kernel, event: &Event) -> bool {
        matches!(event.site.kind, SiteKind::Probe(probe)
            if kernel.tracepoint(probe).point == Point::Switch)
            && event.values().get(1) == Some(&self.wakeup.task.address)
    }

    pub fn finish(self) -> Timeline {
        let segments = self.segments.finish().into_iter().map(|drawn| drawn.segment).collect();
        Timeline { wakeup: self.wakeup, segments, other_timers_ns: self.other_timers_ns }
    }

    fn paint(
        &mut self,
        kernel: &Kernel,
        machine: &Machine,
        cpu: &Cpu,
        (cause, section): (Cause, Option<(SectionKind, Since)>),
        end_ns: u64,
    ) {
        if cause == Cause::HardIrq && self.is_others_timer {
            self.other_timers_ns += end_ns - self.last_ns;
        }
        let other_cpu = match cause {
            Cause::RemoteWakeup => self.woken_by,
            // The CPU does not wait for a CPU that answered before the wait began.
            Cause::IpiWait => self
                .answering
                .filter(|(_, ns)| cpu.waiting().is_some_and(|wait| *ns >= wait.since.ns))
                .map(|(cpu, _)| cpu),
            _ => None,
        };
        let task = machine.task(cpu.task);
        let (function, callers) = match cause {
            Cause::Stolen => (None, Vec::new()),
            Cause::HardIrq | Cause::DeviceIrq => (innermost(kernel, cpu), Vec::new()),
            // Only an interrupt in the softirq tells which tasklet or timer ran.
            Cause::Softirq if self.interrupted_softirq => {
                let function = self.interrupted.and_then(|address| kernel.function(address));
                (function.map(str::to_owned), self.interrupted_callers.clone())
            }
            Cause::Softirq => (innermost(kernel, cpu), Vec::new()),
            Cause::NotPreemptible => {
                let function = self.interrupted.and_then(|address| kernel.function(address));
                blame(function, self.interrupted_callers.clone())
            }
            _ => (
                section.and_then(|(_, since)| kernel.function(since.address)).map(str::to_owned),
                Vec::new(),
            ),
        };
        let segment = Segment {
            start_ns: self.last_ns,
            end_ns,
            cause,
            cpu: (self.cpu != self.wakeup.cpu).then_some(self.cpu),
            other_cpu,
            function,
            callers,
            comm: task.map_or_else(|| "?".to_owned(), |task| task.comm.clone()),
            pid: task.map_or(0, |task| task.pid),
            context: context(kernel, cpu),
            since_ns: section.map(|(_, since)| since.ns).filter(|ns| *ns < self.last_ns),
            folded: None,
        };
        if let Some(last) = self.segments.last_mut()
            && last.section == section
            && last.segment.cause == segment.cause
            && (last.segment.cpu, last.segment.other_cpu) == (segment.cpu, segment.other_cpu)
            && last.segment.pid == segment.pid
            && (section.is_some()
                || (last.segment.function == segment.function
                    && last.segment.context == segment.context))
        {
            last.segment.end_ns = end_ns;
            return;
        }
        let is_open = section.is_some();
        self.segments.push(Drawn { segment, section, is_open, is_of_several: false });
    }

    fn cause(
        &self,
        kernel: &Kernel,
        machine: &Machine,
        cpu: &Cpu,
    ) -> (Cause, Option<(SectionKind, Since)>) {
        let irqs = cpu.irqs_off.map(|since| (SectionKind::IrqsOff, since));
        let preempt = cpu.preempt_off.map(|since| (SectionKind::PreemptOff, since));
        let decision = self.decisions.leaves_alone(kernel, machine, cpu, &self.wakeup.task);
        let decision = decision.filter(|_| self.is_expired);
        if let Some(wait) = cpu.waiting().filter(|_| decision.is_none()) {
            let cause = if wait.is_for_answer { Cause::IpiWait } else { Cause::SpinWait };
            return (cause, irqs.or(preempt));
        }
        match cpu.frames.last() {
            Some(&Frame::Entry { is_exception: false, probe, .. }) if !cpu.is_scheduling => {
                let is_device = cpu.handles_device() || is_device(kernel, probe);
                return (if is_device { Cause::DeviceIrq } else { Cause::HardIrq }, None);
            }
            Some(Frame::Softirq(_)) => return (Cause::Softirq, None),
            _ => {}
        }
        if cpu.is_scheduling {
            return (Cause::Scheduling, None);
        }
        if self.is_running {
            return (Cause::Return, None);
        }
        if irqs.is_some() {
            return (Cause::IrqsOff, irqs);
        }
        if !self.is_expired {
            return (Cause::TimerPending, None);
        }
        if self.woken_by.is_some() {
            return (Cause::RemoteWakeup, None);
        }
        if let Some(decision) = decision {
            return (decision, None);
        }
        match preempt {
            Some(_) => (Cause::PreemptOff, preempt),
            None if cpu.is_user() => (Cause::OtherTask, None),
            None => (Cause::NotPreemptible, None),
        }
    }
}

/// Returns whether an event begins an interrupt by which a CPU has a function called here.
fn is_call(kernel: &Kernel, probe: u32) -> bool {
    let Tracepoint { point, name } = kernel.tracepoint(probe);
    matches!(point, Point::Interrupt | Point::IrqHandler)
        && kernel.arch().call_entries.contains(&name.as_str())
}

/// Returns whether an event is the entry of devices' interrupts.
fn is_device(kernel: &Kernel, probe: u32) -> bool {
    kernel.arch().device_entry == Some(&kernel.tracepoint(probe).name)
}

/// Returns the name of the interrupt or softirq at work.
fn innermost(kernel: &Kernel, cpu: &Cpu) -> Option<String> {
    match cpu.frames.last()? {
        Frame::Entry { probe, .. } | Frame::Softirq(Some(probe)) => {
            Some(kernel.tracepoint(*probe).name.clone())
        }
        _ => None,
    }
}

/// Returns the names of the kernel's levels, from the outermost to the innermost.
fn context(kernel: &Kernel, cpu: &Cpu) -> String {
    let name = |frame: &Frame| match frame {
        Frame::Thread => "kernel thread".to_owned(),
        Frame::Syscall(number) => match (kernel.arch().syscall)(*number) {
            Some(name) => format!("{name}()"),
            None => format!("system call {number}"),
        },
        Frame::Entry { probe, .. } => kernel.tracepoint(*probe).name.clone(),
        Frame::Softirq(Some(probe)) => kernel.tracepoint(*probe).name.clone(),
        Frame::Softirq(None) => "softirq".to_owned(),
    };
    if cpu.frames.is_empty() {
        return "user space".to_owned();
    }
    cpu.frames.iter().map(name).collect::<Vec<_>>().join(" > ")
}

/// Returns the functions that the words of a stack return to.
pub(crate) fn callers(kernel: &Kernel, words: &[u64]) -> Vec<String> {
    let mut callers: Vec<String> = Vec::new();
    for function in words.iter().filter_map(|word| kernel.caller(*word)) {
        if callers.last().is_none_or(|last| last != function) {
            callers.push(function.to_owned());
        }
        if callers.len() == 2 * CALLERS_MAX {
            break;
        }
    }
    callers
}

/// Returns the callers of the function that an interrupt has interrupted, from the words at its entry.
pub(crate) fn interrupted_callers(kernel: &Kernel, words: &[u64]) -> Vec<String> {
    callers(kernel, words.get(kernel.arch().frame_words..).unwrap_or(&[]))
}

/// Returns whether a function works for its caller, which is to blame for its work.
pub(crate) fn is_wrapper(name: &str) -> bool {
    WRAPPERS.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the function to blame, the first that does not work for its caller, and its callers.
pub(crate) fn blame(
    function: Option<&str>,
    mut callers: Vec<String>,
) -> (Option<String>, Vec<String>) {
    let blamed = match function {
        Some(function) if !is_wrapper(function) => Some(function.to_owned()),
        function => {
            let first = callers.iter().position(|caller| !is_wrapper(caller));
            match first {
                Some(first) => Some(callers.drain(..=first).next_back().unwrap_or_default()),
                None => function.map(str::to_owned),
            }
        }
    };
    callers.retain(|caller| Some(caller) != blamed.as_ref());
    callers.truncate(CALLERS_MAX);
    (blamed, callers)
}
