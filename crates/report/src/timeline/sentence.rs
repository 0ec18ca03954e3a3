//! Why a wakeup was late, in a sentence.

use preemptlab_trace::{Cause, Segment, Timeline};

use super::{
    pieces::{Piece, causes, longest_first, pieces},
    text::{context, duration, is_imagined, name, percent, task},
};

/// Causes are named until they explain this share of the latency, in percent.
const EXPLAINED_MIN: u64 = 75;

/// A cause with a smaller share is not named, unless it is the longest.
const SHARE_MIN: u64 = 10;

/// How many causes are named at most.
const CAUSES_MAX: usize = 3;

/// What is nearly everything, in percent.
const NEARLY_ALL: u64 = 90;

/// Why a wakeup was late, in plain English: its main causes, the longest first.
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

/// Says what took the largest part of a wakeup, without its length and its task: wakeups of which the
/// same is said have the same cause.
pub fn cause_in_words(timeline: &Timeline) -> String {
    let latency_ns = timeline.wakeup.latency_ns();
    let pieces = pieces(timeline);
    let causes = causes(&pieces);
    let Some((cause, ns)) = causes.first().copied() else { return "not late".to_owned() };
    Clause { cause, pieces: &pieces, ns, latency_ns }.state()
}

/// Whether a part is less than so many percent of the whole.
fn is_below(part: u64, percent: u64, whole: u64) -> bool {
    u128::from(part) * 100 < u128::from(percent) * u128::from(whole)
}

/// What is said of a cause.
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
            Some(Cause::IrqsOff) => self.at_places("interrupts were off", in_function),
            Some(Cause::HardIrq) => self.interrupts(),
            Some(Cause::Softirq) => self.at_places("softirqs were served", in_function),
            Some(Cause::PreemptOff) => self.at_places("preemption was off", in_function),
            Some(Cause::NotPreemptible) => self.not_preemptible(),
            Some(Cause::Scheduling) => format!("the scheduler was at work{}", self.lasted()),
            Some(Cause::OtherTask) => self.other_tasks(),
            Some(Cause::Return) => {
                format!("the task was on its way back to user space{}", self.lasted())
            }
            None => format!("the trace does not say what happened{}", self.lasted()),
        }
    }

    /// The state alone, with the place where most of it was.
    fn state(&self) -> String {
        let (state, places) = match self.cause {
            Some(Cause::TimerPending) => ("the timer had not fired yet", Vec::new()),
            Some(Cause::IrqsOff) => ("interrupts were off", self.places(in_function)),
            Some(Cause::HardIrq) => ("interrupts were served", self.places(for_interrupt)),
            Some(Cause::Softirq) => ("softirqs were served", self.places(in_function)),
            Some(Cause::PreemptOff) => ("preemption was off", self.places(in_function)),
            Some(Cause::NotPreemptible) => {
                ("the kernel was not preemptible", self.places(in_program))
            }
            Some(Cause::Scheduling) => ("the scheduler was at work", Vec::new()),
            Some(Cause::OtherTask) => ("the scheduler let others run", self.places(of_program)),
            Some(Cause::Return) => ("the task was on its way back to user space", Vec::new()),
            None => ("the trace does not say what happened", Vec::new()),
        };
        let most = places.first().filter(|(_, ns)| !is_below(*ns, 50, self.ns));
        format!("{state}{}", most.map_or("", |(place, _)| place))
    }

    /// ` for 13.3 us (46 %)`.
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

    /// The sums of places, the longest first.
    fn places(&self, place: impl Fn(&Segment) -> String) -> Vec<(String, u64)> {
        longest_first(self.segments().map(|(segment, ns)| (place(segment), ns)))
    }

    /// At nearly one place: there. At several: how much of it at the one with the most.
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

    /// Nearly always the same kind: that one. Several kinds: how much of it for the longest.
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

    /// The function of such a segment is not where the time went, but where an interrupt met the
    /// kernel before.
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

    fn other_tasks(&self) -> String {
        let tasks = self.places(task);
        match tasks.as_slice() {
            [(task, _)] => format!("the scheduler let {task} run{}", self.lasted()),
            [(longest, ns), ..] => format!(
                "the scheduler let {} other tasks run{}, the longest of them {longest} for {}",
                tasks.len(),
                self.lasted(),
                duration(*ns)
            ),
            [] => format!("the scheduler let others run{}", self.lasted()),
        }
    }
}

/// `, most of it in f`.
fn most(ns: u64, whole_ns: u64, place: &str) -> String {
    match ns {
        _ if place.is_empty() => String::new(),
        _ if ns == whole_ns => format!(", all of it{place}"),
        _ if !is_below(ns, 50, whole_ns) => format!(", most of it{place}"),
        _ => format!(", {} of it{place}", duration(ns)),
    }
}

/// ` in f`.
fn in_function(segment: &Segment) -> String {
    segment
        .function
        .as_deref()
        .map(|function| format!(" in {}", name(function)))
        .unwrap_or_default()
}

/// ` for apic_timer_interrupt`.
fn for_interrupt(segment: &Segment) -> String {
    let kind = segment.function.as_deref().map(|function| format!(" for {}", name(function)));
    kind.unwrap_or_default()
}

/// `, most of all hackbench`.
fn of_program(segment: &Segment) -> String {
    format!(", most of all {}", name(&segment.comm))
}

/// ` in write() of hackbench/187`.
fn in_task(segment: &Segment) -> String {
    in_context(segment, &task(segment))
}

/// ` in write() of hackbench`.
fn in_program(segment: &Segment) -> String {
    in_context(segment, &name(&segment.comm))
}

fn in_context(segment: &Segment, task: &str) -> String {
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
