//! The cause of every nanosecond of a wakeup's latency.

use serde::{Deserialize, Serialize};
use syscalls::Sysno;

use preemptlab_protocol::trace::stream::SiteKind;

use crate::{
    arch::DEVICE_ENTRY,
    cause::Cause,
    cpu::{Cpu, Ended, Frame, Machine, SectionKind, Since},
    decisions::Decisions,
    decode::Event,
    kernel::{Kernel, Point, Tracepoint},
    wakeup::Wakeup,
};

/// Largest number of callers of a function that are named.
const CALLERS_MAX: usize = 4;

/// Largest number of segments of a timeline, which is more than anybody reads; the last one takes
/// in the rest.
const SEGMENTS_MAX: usize = 1 << 14;

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

/// A stretch of a wakeup with one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Since when that which is off had been off, if that was before the segment.
    pub since_ns: Option<u64>,
}

impl Segment {
    /// Returns the length of the segment, in nanoseconds.
    pub fn len_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// The timeline of a wakeup: segments without a gap from the due time to the first instruction in
/// user space.
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
    /// Returns the longest segment.
    pub fn worst(&self) -> Option<&Segment> {
        self.segments.iter().max_by_key(|segment| segment.len_ns())
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
    /// which it goes on.
    cpu: u32,
    /// The CPU that has woken the task, until the task's own knows.
    woken_by: Option<u32>,
    /// The other CPU that has taken an interrupt last whose sender may wait, and when.
    answering: Option<(u32, u64)>,
    segments: Vec<Drawn>,
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
    section: Option<(SectionKind, Since)>,
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
            segments: Vec::new(),
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
        self.stack_of = None;
        if event.cpu != self.cpu {
            if let SiteKind::Probe(probe) = event.site.kind
                && is_call(kernel.tracepoint(probe))
            {
                self.answering = Some((event.cpu, event.ns));
            }
            // Whatever has been missed: here the task runs.
            if event.cpu != self.wakeup.cpu || !self.is_switched_to(kernel, event) {
                return;
            }
            self.cpu = event.cpu;
        }
        let end_ns = event.ns.min(self.wakeup.user_ns);
        if end_ns > self.last_ns {
            let cpu = machine.cpu(event.cpu).clone();
            self.paint(kernel, machine, &cpu, end_ns);
            self.last_ns = end_ns;
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
        if let Point::TimerExpire | Point::Interrupt = point {
            let task = event.values().get(2).and_then(|address| machine.task(*address));
            self.is_others_timer =
                task.is_some_and(|it| it.address != self.wakeup.task.address && it.prio >= 100);
        }
        match point {
            Point::TimerExpire if event.ns == self.wakeup.expire_ns => self.is_expired = true,
            Point::Waking
                if self.is_expired
                    && self.cpu != self.wakeup.cpu
                    && event.values().first() == Some(&self.wakeup.task.address) =>
            {
                self.woken_by = Some(self.cpu);
                self.cpu = self.wakeup.cpu;
                self.interrupted = None;
                self.interrupted_callers.clear();
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

    /// Names the callers of the function at the last event.
    pub fn stack(&mut self, kernel: &Kernel, words: &[u64]) {
        match self.stack_of.take() {
            // The frame of an interrupt comes first: ip, cs, flags, sp, ss.
            Some(StackOf::Interrupt) => {
                self.interrupted_callers = callers(kernel, words.get(5..).unwrap_or(&[]));
            }
            Some(StackOf::Section(kind, since)) => {
                let callers = callers(kernel, words);
                for drawn in &mut self.segments {
                    if drawn.section == Some((kind, since)) {
                        let (function, callers) =
                            blame(kernel.function(since.address), callers.clone());
                        drawn.segment.function = function;
                        drawn.segment.callers = callers;
                    }
                }
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
        let segments = self.segments.into_iter().map(|drawn| drawn.segment).collect();
        Timeline { wakeup: self.wakeup, segments, other_timers_ns: self.other_timers_ns }
    }

    fn paint(&mut self, kernel: &Kernel, machine: &Machine, cpu: &Cpu, end_ns: u64) {
        let count = self.segments.len();
        if let Some(last) = self.segments.last_mut()
            && count == SEGMENTS_MAX
        {
            last.segment.end_ns = end_ns;
            return;
        }
        let (cause, section) = self.cause(kernel, machine, cpu);
        if cause == Cause::HardIrq && self.is_others_timer {
            self.other_timers_ns += end_ns - self.last_ns;
        }
        let other_cpu = match cause {
            Cause::RemoteWakeup => self.woken_by,
            // Who has answered before the CPU began to wait is not waited for.
            Cause::IpiWait => self
                .answering
                .filter(|(_, ns)| cpu.waiting().is_some_and(|wait| *ns >= wait.since.ns))
                .map(|(cpu, _)| cpu),
            _ => None,
        };
        let task = machine.task(cpu.task);
        let (function, callers) = match cause {
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
        self.segments.push(Drawn { segment, section });
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
                let is_device = cpu.handles_device() || is_device(kernel.tracepoint(probe));
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

/// Returns whether an event is the entry of an interrupt by which a CPU has a function called here.
fn is_call(tracepoint: &Tracepoint) -> bool {
    tracepoint.point == Point::Interrupt
        && ["call_function", "call_function_single"].contains(&tracepoint.name.as_str())
}

/// Returns whether an event is the entry of devices' interrupts.
fn is_device(tracepoint: &Tracepoint) -> bool {
    tracepoint.name == DEVICE_ENTRY
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
        Frame::Syscall(number) => Sysno::new(*number as usize)
            .map_or_else(|| format!("system call {number}"), |call| format!("{call}()")),
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

/// Returns the function to blame, the first that does not work for its caller, and its callers.
pub(crate) fn blame(
    function: Option<&str>,
    mut callers: Vec<String>,
) -> (Option<String>, Vec<String>) {
    let is_wrapper = |name: &str| WRAPPERS.iter().any(|prefix| name.starts_with(prefix));
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
