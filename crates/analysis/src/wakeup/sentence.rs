//! The cause of a late wakeup in a sentence.

use preemptlab_trace::{Cause, Segment, Timeline};

use super::{
    pieces::{Piece, causes, longest_first, pieces},
    text::{REST, context, duration, is_imagined, name, percent, task},
};

/// Causes are named until they explain this share of the latency, in percent.
const EXPLAINED_MIN: u64 = 75;

/// A cause with a smaller share is not named, unless it is the longest.
const SHARE_MIN: u64 = 10;

/// Largest number of causes that are named.
const CAUSES_MAX: usize = 3;

/// Share that counts as nearly everything, in percent.
const NEARLY_ALL: u64 = 90;

/// Explains why a wakeup was late: its main causes, the longest first.
pub fn one_sentence(timeline: &Timeline) -> String {
    let latency_ns = timeline.wakeup.latency_ns();
    if latency_ns == 0 {
        return "Not late.".to_owned();
    }
    let pieces = pieces(timeline);
    let mut clauses: Vec<String> = Vec::new();
    let mut explained_ns = 0;
    for (cause, ns) in causes(&pieces) {
        let is_enough =
            clauses.len() == CAUSES_MAX || !is_below(explained_ns, EXPLAINED_MIN, latency_ns);
        if is_enough || !clauses.is_empty() && is_below(ns, SHARE_MIN, latency_ns) {
            break;
        }
        clauses.push(Clause { cause, pieces: &pieces, ns, latency_ns }.text());
        explained_ns += ns;
    }
    let latency = match is_imagined(timeline) {
        true => format!("A task due then would have been {} late", duration(latency_ns)),
        false => format!("{} late", duration(latency_ns)),
    };
    format!("{latency}: {}.", clauses.join("; "))
}

/// Describes the largest part of a wakeup, without its length and its task: wakeups with the same
/// description have the same cause.
pub fn cause_in_words(timeline: &Timeline) -> String {
    let latency_ns = timeline.wakeup.latency_ns();
    let pieces = pieces(timeline);
    let causes = causes(&pieces);
    let Some((cause, ns)) = causes.first().copied() else { return "not late".to_owned() };
    Clause { cause, pieces: &pieces, ns, latency_ns }.state()
}

/// Returns whether a part is less than `percent` of the whole.
fn is_below(part: u64, percent: u64, whole: u64) -> bool {
    u128::from(part) * 100 < u128::from(percent) * u128::from(whole)
}

/// Part of a sentence about a cause.
struct Clause<'a> {
    cause: Option<Cause>,
    pieces: &'a [Piece<'a>],
    ns: u64,
    latency_ns: u64,
}

impl Clause<'_> {
    fn text(&self) -> String {
        match self.cause {
            Some(Cause::TimerPending) => format!("the timer had not fired yet{}", self.lasted()),
            Some(Cause::Stolen) => format!("the CPU's time was stolen{}", self.lasted()),
            Some(Cause::IrqsOff) => self.at_places("interrupts were off", in_function),
            Some(Cause::HardIrq) => self.interrupts(),
            Some(Cause::DeviceIrq) => format!("a device's interrupt was served{}", self.lasted()),
            Some(Cause::Softirq) => self.at_places("softirqs were served", in_function),
            Some(Cause::PreemptOff) => self.at_places("preemption was off", in_function),
            Some(Cause::NotPreemptible) => self.not_preemptible(),
            Some(Cause::IpiWait) => self.answers(),
            Some(Cause::SpinWait) => {
                self.at_places("its CPU waited for another one's lock", in_function)
            }
            Some(Cause::RemoteWakeup) => format!("{}{}", self.woken(), self.lasted()),
            Some(Cause::Scheduling) => format!("the scheduler was at work{}", self.lasted()),
            Some(Cause::DeadlineTask) => self.ran("the deadline task", "deadline tasks"),
            Some(Cause::MoreUrgentTask) => self.ran("the more urgent task", "more urgent tasks"),
            Some(Cause::EqualTask) => self.ran("the equally urgent task", "equally urgent tasks"),
            Some(Cause::LockHolder) => self.ran("the lock's holder", "holders of locks"),
            Some(Cause::StopTask) => self.ran("the stop task", "stop tasks"),
            Some(Cause::OtherTask) => self.ran("the task", "other tasks"),
            Some(Cause::FairShare) => self.let_run("the scheduler", "other tasks"),
            Some(Cause::FairServer) => self.let_run("the fair server", "ordinary tasks"),
            Some(Cause::Throttled) => self.throttled(),
            Some(Cause::Return) => {
                format!("the task was on its way back to user space{}", self.lasted())
            }
            None => format!("the trace does not say what happened{}", self.lasted()),
        }
    }

    /// Returns the state alone, with the place where most of it was.
    fn state(&self) -> String {
        let (state, places) = match self.cause {
            Some(Cause::TimerPending) => ("the timer had not fired yet", Vec::new()),
            Some(Cause::Stolen) => ("the CPU's time was stolen", Vec::new()),
            Some(Cause::IrqsOff) => ("interrupts were off", self.places(in_function)),
            Some(Cause::HardIrq) => ("interrupts were served", self.places(for_interrupt)),
            Some(Cause::DeviceIrq) => ("devices' interrupts were served", Vec::new()),
            Some(Cause::Softirq) => ("softirqs were served", self.places(in_function)),
            Some(Cause::PreemptOff) => ("preemption was off", self.places(in_function)),
            Some(Cause::NotPreemptible) => {
                ("the kernel was not preemptible", self.places(in_program))
            }
            Some(Cause::IpiWait) => {
                ("its CPU waited for an IPI's answer", self.places(in_function))
            }
            Some(Cause::SpinWait) => {
                ("its CPU waited for another one's lock", self.places(in_function))
            }
            Some(Cause::RemoteWakeup) => ("another CPU had woken the task", Vec::new()),
            Some(Cause::Scheduling) => ("the scheduler was at work", Vec::new()),
            Some(Cause::DeadlineTask) => ("deadline tasks ran", self.places(of_program)),
            Some(Cause::MoreUrgentTask) => ("more urgent tasks ran", self.places(of_program)),
            Some(Cause::EqualTask) => ("equally urgent tasks ran", self.places(of_program)),
            Some(Cause::LockHolder) => ("a lock's holder ran", self.places(of_program)),
            Some(Cause::StopTask) => ("the CPU's stop task ran", Vec::new()),
            Some(Cause::OtherTask) => ("other tasks ran", self.places(of_program)),
            Some(Cause::FairShare) => ("the scheduler let others run", self.places(of_program)),
            Some(Cause::FairServer) => {
                ("the fair server let ordinary tasks run", self.places(of_program))
            }
            Some(Cause::Throttled) => ("the task was throttled", Vec::new()),
            Some(Cause::Return) => ("the task was on its way back to user space", Vec::new()),
            None => ("the trace does not say what happened", Vec::new()),
        };
        let most = places.first().filter(|(_, ns)| !is_below(*ns, 50, self.ns));
        format!("{state}{}", most.map_or("", |(place, _)| place))
    }

    /// Returns words such as ` for 13.3 us (46 %)`.
    fn lasted(&self) -> String {
        self.lasted_of(self.ns)
    }

    fn lasted_of(&self, ns: u64) -> String {
        format!(" for {} ({})", duration(ns), percent(ns, self.latency_ns))
    }

    fn segments(&self) -> impl Iterator<Item = (&Segment, u64)> {
        let of_cause = self.pieces.iter().filter(|piece| piece.cause() == self.cause);
        of_cause.filter_map(|piece| Some((piece.segment?, piece.len_ns())))
    }

    /// Returns the sums of places, the longest first.
    fn places(&self, place: impl Fn(&Segment) -> String) -> Vec<(String, u64)> {
        longest_first(self.segments().map(|(segment, ns)| (place(segment), ns)))
    }

    /// Adds the place to a state: the only one, or with several the one with the most time, and its
    /// time.
    fn at_places(&self, state: &str, place: impl Fn(&Segment) -> String) -> String {
        let places = self.places(place);
        match places.first() {
            Some((place, ns)) if !is_below(*ns, NEARLY_ALL, self.ns) => {
                format!("{state}{place}{}", self.lasted_of(*ns))
            }
            Some((place, ns)) => format!("{state}{}{}", self.lasted(), most(*ns, self.ns, place)),
            None => format!("{state}{}", self.lasted()),
        }
    }

    /// Names the CPU that was waited for where it is one, and the function that waits.
    fn answers(&self) -> String {
        let mut cpus = self.segments().map(|(segment, _)| segment.other_cpu);
        let first = cpus.next().flatten();
        let whom = match first.filter(|first| cpus.all(|cpu| cpu == Some(*first))) {
            Some(cpu) => format!("its CPU waited for CPU {cpu} to answer an IPI"),
            None => "its CPU waited for others to answer IPIs".to_owned(),
        };
        self.at_places(&whom, in_function)
    }

    fn woken(&self) -> String {
        let cpu = self.segments().find_map(|(segment, _)| segment.other_cpu);
        let whose = cpu.map_or_else(|| "another CPU".to_owned(), |cpu| format!("CPU {cpu}"));
        format!("the wakeup was on its way from {whose}")
    }

    /// Names the kind of interrupts: the only one, or with several the longest, and its time.
    fn interrupts(&self) -> String {
        let kind = |segment: &Segment| segment.function.as_deref().map(name).unwrap_or_default();
        let kinds = self.places(kind);
        let longest = kinds.first().filter(|(kind, _)| !kind.is_empty());
        match longest {
            Some((kind, ns)) if !is_below(*ns, NEARLY_ALL, self.ns) => {
                format!("the interrupt {kind} was served{}", self.lasted_of(*ns))
            }
            _ => {
                let longest = longest.map(|(kind, ns)| most(*ns, self.ns, &format!(" for {kind}")));
                format!("interrupts were served{}{}", self.lasted(), longest.unwrap_or_default())
            }
        }
    }

    /// Describes a kernel that was not preemptible. The function of such a segment is not the
    /// cause, but the place where an interrupt met the kernel before.
    fn not_preemptible(&self) -> String {
        let state = "the kernel was not preemptible";
        let places = self.places(in_task);
        let Some((place, place_ns)) = places.first() else {
            return format!("{state}{}", self.lasted());
        };
        if is_below(*place_ns, NEARLY_ALL, self.ns) {
            return format!("{state}{}{}", self.lasted(), most(*place_ns, self.ns, place));
        }
        let here = self.segments().filter(|(segment, _)| in_task(segment) == *place);
        let functions = longest_first(here.map(|(segment, ns)| (in_function(segment), ns)));
        let met = functions.first().filter(|(function, _)| !function.is_empty());
        let met = met.map(|(function, _)| format!(", having been interrupted{function}"));
        format!("{state}{place}{}{}", self.lasted_of(*place_ns), met.unwrap_or_default())
    }

    /// Names the running code: the only task, or with several the longest, and its time.
    fn ran(&self, one: &str, several: &str) -> String {
        let (tasks, more) = self.tasks(task);
        match tasks.as_slice() {
            [(task, _)] if more.is_empty() => format!("{one} {task} ran{}", self.lasted()),
            tasks => format!("{more}{} {several} ran{}", tasks.len(), self.lasted_most(tasks)),
        }
    }

    fn let_run(&self, decider: &str, several: &str) -> String {
        let (tasks, more) = self.tasks(task);
        match tasks.as_slice() {
            [(task, _)] if more.is_empty() => format!("{decider} let {task} run{}", self.lasted()),
            tasks => format!(
                "{decider} let {more}{} {several} run{}",
                tasks.len(),
                self.lasted_most(tasks)
            ),
        }
    }

    fn throttled(&self) -> String {
        let busy = |segment: &Segment| match segment.pid {
            0 if segment.folded.is_none_or(|folded| !folded.is_rest) => {
                "its CPU was idle".to_owned()
            }
            _ => format!("{} ran", task(segment)),
        };
        match self.places(busy).as_slice() {
            [(busy, _)] => format!("the task was throttled while {busy}{}", self.lasted()),
            others => format!(
                "the task was throttled{}{}",
                self.lasted(),
                match others.first() {
                    Some((busy, ns)) => most(*ns, self.ns, &format!(" while {busy}")),
                    None => String::new(),
                }
            ),
        }
    }

    /// Lists the tasks that are known, the longest first, and says whether there were more.
    fn tasks(&self, name: impl Fn(&Segment) -> String) -> (Vec<(String, u64)>, &'static str) {
        let mut tasks = self.places(name);
        let all = tasks.len();
        tasks.retain(|(task, _)| task != REST);
        let more = if tasks.len() < all { "more than " } else { "" };
        (tasks, more)
    }

    /// Returns words such as ` for 13.3 us (46 %), the longest of them hackbench/187 for 9 us`.
    fn lasted_most(&self, tasks: &[(String, u64)]) -> String {
        let longest = tasks.first().map_or_else(String::new, |(task, ns)| {
            format!(", the longest of them {task} for {}", duration(*ns))
        });
        format!("{}{longest}", self.lasted())
    }
}

/// Returns words such as `, most of it in f`.
fn most(ns: u64, whole_ns: u64, place: &str) -> String {
    match ns {
        _ if place.is_empty() => String::new(),
        _ if ns == whole_ns => format!(", all of it{place}"),
        _ if !is_below(ns, 50, whole_ns) => format!(", most of it{place}"),
        _ => format!(", {} of it{place}", duration(ns)),
    }
}

/// Returns words such as ` in f`.
fn in_function(segment: &Segment) -> String {
    segment
        .function
        .as_deref()
        .map(|function| format!(" in {}", name(function)))
        .unwrap_or_default()
}

/// Returns words such as ` for apic_timer_interrupt`.
fn for_interrupt(segment: &Segment) -> String {
    let kind = segment.function.as_deref().map(|function| format!(" for {}", name(function)));
    kind.unwrap_or_default()
}

/// Returns words such as `, most of all hackbench`.
fn of_program(segment: &Segment) -> String {
    match segment.folded().is_rest {
        true => String::new(),
        false => format!(", most of all {}", name(&segment.comm)),
    }
}

/// Returns words such as ` in write() of hackbench/187`.
fn in_task(segment: &Segment) -> String {
    in_context(segment, &task(segment))
}

/// Returns words such as ` in write() of hackbench`.
fn in_program(segment: &Segment) -> String {
    in_context(segment, &name(&segment.comm))
}

fn in_context(segment: &Segment, task: &str) -> String {
    if segment.folded().is_rest {
        return String::new();
    }
    match context(segment).as_str() {
        "" | "user space" => format!(" in {task}"),
        "kernel thread" => format!(" in the kernel thread {task}"),
        context => {
            let mut entries: Vec<&str> = context.split(" > ").collect();
            entries.reverse();
            format!(" in {} of {task}", entries.join(" in "))
        }
    }
}
