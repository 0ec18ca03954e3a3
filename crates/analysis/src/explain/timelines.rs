//! The worst wakeups of a cell: the cause of every nanosecond, and the remedies.

use preemptlab_experiment::Recording;
use preemptlab_model::{PlannedCell, ProbeProcess, plain};
use preemptlab_trace::{
    Bound, Cause, Segment, Split, Splits, Timeline, Wakeup, closed_timeline, worst,
};
use preemptlab_workload::Workload;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    beside::Beside,
    choice::Chosen,
    cure::{Sibling, Situation, sibling},
    traced::{Traced, probe},
};
use crate::{
    Error, Result,
    moment::in_ms,
    wakeup::{cause_in_words, one_sentence},
};

/// Causes of a cell's worst wakeups, as a document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExplanationDocument {
    /// Version of the document.
    pub format: u32,
    /// Name of the cell.
    pub cell: String,
    /// Identity of the cell.
    pub id: String,
    /// Program of the probe.
    pub probe: String,
    /// Number of wakeups in the trace.
    pub wakeups: usize,
    /// Parts of the latencies of all these wakeups.
    pub splits: Option<Splits>,
    /// The worst wakeups, the worst first.
    pub worst: Vec<WakeupDocument>,
    /// Those of `worst` that have the same main cause.
    pub causes: Vec<CauseDocument>,
    /// The cell under the configuration that should remove the worst wakeup's cause; absent where the
    /// recording has none.
    pub sibling: Option<SiblingDocument>,
    /// Latencies at every instant; absent where the trace does not tell them.
    pub bound: Option<BoundDocument>,
}

/// A late wakeup. Times are virtual, in nanoseconds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WakeupDocument {
    /// Time from the due time to user space.
    pub latency_ns: u64,
    /// Parts of that time.
    pub split: Split,
    /// When it was due.
    pub due_ns: u64,
    /// When the timer's function ran.
    pub expire_ns: u64,
    /// When the task had the CPU.
    pub switch_ns: u64,
    /// When the task was back in user space.
    pub user_ns: u64,
    /// Number of the wakeup in its thread.
    pub ordinal: u64,
    /// Why it was late, in a sentence.
    pub sentence: String,
    /// Advice against the main cause.
    pub cure: String,
    /// Number of segments, of which those that are alike may be drawn as one.
    pub segments_count: u64,
    /// Where its nanoseconds went, in order.
    pub segments: Vec<Segment>,
}

/// Wakeups with the same main cause.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CauseDocument {
    /// Main cause, in words.
    pub cause: String,
    /// Number of wakeups.
    pub count: usize,
    /// Largest latency, in nanoseconds.
    pub latency_ns_max: u64,
    /// Least latency, in nanoseconds.
    pub latency_ns_min: u64,
    /// Numbers of the wakeups in their thread.
    pub ordinals: Vec<u64>,
}

/// The cell under the configuration that should remove a cause.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SiblingDocument {
    /// Name of the cell.
    pub cell: String,
    /// Identity of the cell.
    pub id: String,
    /// When the two cells part, in virtual nanoseconds; absent where they never do, or are of several
    /// boots.
    pub first_divergence_ns: Option<u64>,
    /// The wakeup with the same number.
    pub wakeup: Option<WakeupDocument>,
    /// The cause that it should remove.
    pub removes: &'static str,
    /// Whether its worst wakeups show that it does.
    pub removed: bool,
    /// Duration of the cause in the worst wakeup of the cell, in nanoseconds.
    pub cause_ns: u64,
    /// Longest duration of the cause in the sibling's worst wakeups, in nanoseconds.
    pub cause_ns_max: u64,
    /// Latency of the sibling's worst wakeup, in nanoseconds.
    pub latency_ns_max: u64,
}

/// Latencies of the most urgent task at every instant.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BoundDocument {
    /// Latency at the worst instant, in nanoseconds.
    pub max_ns: u64,
    /// Largest latency that a wakeup had, in nanoseconds.
    pub observed_ns: u64,
    /// Whether no wakeup was later than the computed bound.
    pub sound: bool,
    /// Latency that 99.9 % of all instants do not exceed, in nanoseconds.
    pub p99_9_ns: u64,
    /// Latency that 99 % of all instants do not exceed, in nanoseconds.
    pub p99_ns: u64,
    /// Latency at an instant at which nothing is closed, in nanoseconds.
    pub floor_ns: u64,
    /// The worst instant, in virtual nanoseconds.
    pub at_ns: Option<u64>,
    /// Number of segments, of which those that are alike may be drawn as one.
    pub segments_count: u64,
    /// Where the nanoseconds of a wakeup at the worst instant would go, in order.
    pub segments: Vec<Segment>,
}

/// Worst wakeups of a cell's probe, with the notes beside them.
pub struct Explanation<'a> {
    recording: &'a Recording,
    /// The cell.
    pub cell: &'a Chosen,
    comm: String,
    is_fair: bool,
    /// Number of wakeups among which they are the worst.
    pub count: usize,
    /// Parts of the latencies of all these wakeups.
    pub splits: Option<Splits>,
    /// Timelines of the worst wakeups, the worst first; at least one.
    pub found: Vec<Timeline>,
    /// Comparison with the sibling.
    pub remedied: Remedied,
    /// Bound of the wakeups that did not happen; `None` where the trace has none.
    pub worst: Option<WorstInstant>,
}

/// Comparison of a cell with its sibling, in which the cause should be gone.
pub enum Remedied {
    /// No configuration acts on the cause.
    NoRemedy,
    /// The recording has no configuration that does.
    Missing,
    /// The sibling was not asked for.
    NotYet,
    /// The wakeups of the sibling are read.
    Beside(Box<Beside>),
}

/// Wakeups with the same main cause, the worst first.
pub struct Alike<'t> {
    /// Main cause, in words.
    pub cause: String,
    /// Timelines of the wakeups; at least one.
    pub timelines: Vec<&'t Timeline>,
}

/// Bound of the wakeups that did not happen, with its timeline.
pub struct WorstInstant {
    /// Bound of the wakeups at every instant.
    pub bound: Bound,
    /// Timeline of a wakeup at the worst instant; `None` where the trace has no such instant.
    pub timeline: Option<Timeline>,
}

/// Refuses a cell whose workload lacks the probe, and names the analyses that its trace allows. For
/// a user's own program only the trace tells.
///
/// # Errors
///
/// When the cell has no probe, or not this one.
pub fn check_probe(recording: &Recording, cell: &Chosen, is_fair: bool) -> Result<()> {
    probe(cell)?;
    check_workload(recording, &cell.factors.workload, is_fair)
}

/// Returns whether the wakeups of a cell's real-time probe can be explained, once it has a trace.
pub(crate) fn has_realtime_probe(recording: &Recording, planned: &PlannedCell) -> bool {
    planned.inputs().is_some_and(|inputs| ProbeProcess::of(&inputs.job).is_some())
        && check_workload(recording, &planned.factors.workload, false).is_ok()
}

fn check_workload(recording: &Recording, name: &str, is_fair: bool) -> Result<()> {
    let experiment = &recording.manifest().experiment;
    let names = match experiment.workload.get(name) {
        None | Some(Workload::Folder(_)) => return Ok(()),
        Some(workload) => workload.metric_names(),
    };
    let message = match (names.has_realtime_wakeups(), names.has_fair_wakeups()) {
        (true, _) if !is_fair => return Ok(()),
        (_, true) if is_fair => return Ok(()),
        (true, _) => format!("{name} has no fair probe; leave --fair out"),
        (false, true) => format!("{name} has no real-time probe; explain its fair one with --fair"),
        (false, false) => format!(
            "{name} has no cyclictest, whose wakeups could be explained; `trace` and `zoom` show \
             what its kernel did, or choose a cell of another workload with --cell"
        ),
    };
    Err(Error::Unusable(message))
}

impl<'a> Explanation<'a> {
    /// Reads the worst `wakeups` of a cell from its trace.
    ///
    /// # Errors
    ///
    /// When a trace is missing or damaged, or has no wakeup.
    pub fn new(
        recording: &'a Recording,
        cell: &'a Chosen,
        is_fair: bool,
        wakeups: usize,
    ) -> Result<Self> {
        let process = probe(cell)?;
        let traced = Traced::new(recording, cell)?;
        let all = traced.wakeups(&process, is_fair)?;
        let (count, splits) = (all.len(), Splits::of(&all));
        let found = traced.timelines(worst(all, wakeups))?;
        if found.is_empty() {
            return Err(Error::Unusable(no_wakeup(&process.comm, is_fair)));
        }
        let worst = if is_fair { None } else { WorstInstant::of(&traced)? };
        let remedied = Remedied::NotYet;
        let comm = process.comm;
        Ok(Self { recording, cell, comm, is_fair, count, splits, found, remedied, worst })
    }

    /// Returns the cell under the configuration that would remove the worst wakeup's cause, where the
    /// recording has one: [`Self::compare`] takes it, once it is traced.
    ///
    /// # Errors
    ///
    /// When the recording cannot be read.
    pub fn sibling(&mut self) -> Result<Option<Chosen>> {
        let Some(first) = self.found.first() else { return Ok(None) };
        let situation = Situation::new(self.cell, first, main_cause(first), self.is_fair);
        match sibling(self.recording, self.cell, &situation)? {
            Sibling::Found(sibling) => return Ok(Some(*sibling)),
            Sibling::Missing => self.remedied = Remedied::Missing,
            Sibling::NoRemedy => self.remedied = Remedied::NoRemedy,
        }
        Ok(None)
    }

    /// Reads the trace of the sibling, to see whether it lacks the cause.
    ///
    /// # Errors
    ///
    /// When its trace is missing or damaged.
    pub fn compare(&mut self, sibling: Chosen) -> Result<()> {
        let Some(first) = self.found.first() else { return Ok(()) };
        let traced = Traced::new(self.recording, self.cell)?;
        let beside = Beside::new(&traced, sibling, self.is_fair, first, main_cause(first))?;
        self.remedied = Remedied::Beside(Box::new(beside));
        Ok(())
    }

    /// Returns the sibling, if its wakeups are read.
    pub fn beside(&self) -> Option<&Beside> {
        match &self.remedied {
            Remedied::Beside(beside) => Some(beside),
            _ => None,
        }
    }

    /// Says in a sentence why the worst wakeup was late.
    pub fn sentence(&self) -> String {
        self.found.first().map(one_sentence).unwrap_or_default()
    }

    /// Says in a sentence why a wakeup at the worst instant would have been late; `None` where the trace
    /// has no such instant.
    pub fn bound_sentence(&self) -> Option<String> {
        self.worst.as_ref()?.timeline.as_ref().map(one_sentence)
    }

    /// Returns the command that shows every function around the worst wakeup.
    pub fn next(&self) -> Option<String> {
        let Wakeup { due_ns, .. } = self.found.first()?.wakeup;
        let latency_ns = self.found.first()?.wakeup.latency_ns();
        Some(format!(
            "preemptlab explain {} zoom {}±{}us --cell {:.8}",
            self.recording.path().display(),
            in_ms(due_ns + latency_ns / 2),
            latency_ns.div_ceil(2_000),
            self.cell.id.to_string()
        ))
    }

    /// Returns the remedy against the main cause of the worst wakeup, as a part of a sentence.
    pub fn cure(&self) -> String {
        self.found.first().map(|first| cure_of(self.cell, first, self.is_fair)).unwrap_or_default()
    }

    /// Groups the wakeups by their main cause, that of the worst first.
    pub fn causes(&self) -> Vec<Alike<'_>> {
        let mut causes: Vec<Alike<'_>> = Vec::new();
        for timeline in &self.found {
            let cause = cause_in_words(timeline);
            match causes.iter_mut().find(|alike| alike.cause == cause) {
                Some(alike) => alike.timelines.push(timeline),
                None => causes.push(Alike { cause, timelines: vec![timeline] }),
            }
        }
        causes
    }

    /// Returns the wakeups and their causes as a document.
    pub fn document(&self) -> ExplanationDocument {
        let wakeup = |cell: &Chosen, timeline: &Timeline| {
            let Wakeup { due_ns, expire_ns, switch_ns, user_ns, ordinal, .. } = timeline.wakeup;
            WakeupDocument {
                latency_ns: timeline.wakeup.latency_ns(),
                split: timeline.wakeup.split(),
                due_ns,
                expire_ns,
                switch_ns,
                user_ns,
                ordinal,
                sentence: one_sentence(timeline),
                cure: cure_of(cell, timeline, self.is_fair),
                segments_count: timeline.segments_count(),
                segments: timeline.segments.clone(),
            }
        };
        ExplanationDocument {
            format: 1,
            cell: self.cell.factors.to_string(),
            id: self.cell.id.to_string(),
            probe: self.comm.clone(),
            wakeups: self.count,
            splits: self.splits,
            worst: self.found.iter().map(|timeline| wakeup(self.cell, timeline)).collect(),
            causes: self.causes().into_iter().map(CauseDocument::from).collect(),
            sibling: self.beside().map(|beside| SiblingDocument {
                cell: beside.cell.factors.to_string(),
                id: beside.cell.id.to_string(),
                first_divergence_ns: beside.divergence.as_ref().map(|divergence| divergence.ns),
                wakeup: beside.timeline.as_ref().map(|timeline| wakeup(&beside.cell, timeline)),
                removes: beside.cause.as_str(),
                removed: beside.is_cure(),
                cause_ns: beside.cause_ns,
                cause_ns_max: beside.cause_ns_max,
                latency_ns_max: beside.latency_ns_max,
            }),
            bound: self.worst.as_ref().map(|WorstInstant { bound, timeline }| BoundDocument {
                max_ns: bound.max_ns(),
                observed_ns: bound.observed_ns(),
                sound: bound.is_sound(),
                p99_9_ns: bound.p99_9_ns,
                p99_ns: bound.p99_ns,
                floor_ns: bound.floor_ns,
                at_ns: timeline.as_ref().map(|timeline| timeline.wakeup.due_ns),
                segments_count: timeline.as_ref().map_or(0, Timeline::segments_count),
                segments: timeline.as_ref().map_or_else(Vec::new, |t| t.segments.clone()),
            }),
        }
    }
}

impl Alike<'_> {
    fn latencies(&self) -> impl Iterator<Item = u64> {
        self.timelines.iter().map(|timeline| timeline.wakeup.latency_ns())
    }

    /// Returns the latency of the worst of them, in nanoseconds.
    pub fn max_ns(&self) -> u64 {
        self.latencies().max().unwrap_or(0)
    }

    /// Returns the latency of the least late of them, in nanoseconds.
    pub fn min_ns(&self) -> u64 {
        self.latencies().min().unwrap_or(0)
    }
}

impl From<Alike<'_>> for CauseDocument {
    fn from(alike: Alike<'_>) -> Self {
        Self {
            count: alike.timelines.len(),
            latency_ns_max: alike.max_ns(),
            latency_ns_min: alike.min_ns(),
            ordinals: alike.timelines.iter().map(|timeline| timeline.wakeup.ordinal).collect(),
            cause: alike.cause,
        }
    }
}

impl WorstInstant {
    fn of(traced: &Traced<'_>) -> Result<Option<Self>> {
        let findings = traced.recording.explained().findings(traced.cell.id)?;
        let Some(bound) = findings.and_then(|findings| findings.bound) else { return Ok(None) };
        let bound = bound.observing((traced.cell.max_us * 1e3) as u64);
        let timeline = match bound.longest.first() {
            Some(closed) => {
                let stream = Traced::stream(traced.recording, traced.cell)?;
                closed_timeline(stream, &traced.kernel, *closed)
                    .map_err(|error| traced.unreadable(error))?
            }
            None => None,
        };
        Ok(Some(Self { bound, timeline }))
    }
}

/// Says that a probe has no wakeup, and where there may be some.
fn no_wakeup(comm: &str, is_fair: bool) -> String {
    let comm = plain::line(comm);
    let (policy, other) = match is_fair {
        true => ("a fair", "; leave --fair out for those under a real-time policy"),
        false => ("a real-time", "; --fair explains those under a fair policy"),
    };
    format!(
        "no thread of `{comm}` has a wakeup by a timer under {policy} policy in the window{other}. A trace \
         follows the program of the probe's own `argv`, and none that it starts; `explain RUN atlas` has the longest \
         sections of every window"
    )
}

/// Returns the remedy for the main cause of a wakeup.
fn cure_of(cell: &Chosen, timeline: &Timeline, is_fair: bool) -> String {
    Situation::new(cell, timeline, main_cause(timeline), is_fair).help().words()
}

/// Returns the cause that took most of a wakeup, besides the costs of every wakeup. A lock that the task slept for
/// takes more than its holder ran: two switches.
fn main_cause(timeline: &Timeline) -> Cause {
    let costs = [Cause::Scheduling, Cause::Return, Cause::HardIrq, Cause::TimerPending];
    let causes = timeline.causes();
    let avoidable = causes
        .iter()
        .find(|(cause, ns)| !costs.contains(cause) && *ns * 5 >= timeline.wakeup.latency_ns());
    let lock = causes.iter().find(|(cause, _)| *cause == Cause::LockHolder);
    avoidable.or(lock).or(causes.first()).map_or(Cause::Return, |(cause, _)| *cause)
}
