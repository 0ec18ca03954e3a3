//! The worst wakeups of a cell: where every nanosecond went, and what would help.

use std::{fmt::Write, process::ExitCode};

use preemptlab_model::plain;
use preemptlab_report::{Lane, one_sentence, timeline_svg, timeline_terminal};
use preemptlab_runner::{target, window};
use preemptlab_trace::{
    Cause, Kernel, Segment, Target, Timeline, Wakeup, closed_timeline, divergence, timelines,
    wakeups, worst,
};
use preemptlab_workload::Workload;
use serde::Serialize;

use super::{
    choice::{Chosen, name_of},
    cure::{cure, sibling},
    tracing::Tracing,
};
use crate::{
    args::Format,
    exit::{self, OrExit},
    session::recording_failure,
    unsound::UNSOUND,
};

/// What is said once, because it must be known to read the numbers.
const CAPTION: &str = "Times are virtual: instructions, not a promise about hardware. The traced \
    execution is the same to the byte as the one without a trace.";

#[derive(Serialize)]
struct Document {
    format: u32,
    cell: String,
    id: String,
    probe: String,
    wakeups: usize,
    worst: Vec<WakeupDocument>,
    sibling: Option<SiblingDocument>,
    bound: Option<BoundDocument>,
}

#[derive(Serialize)]
struct WakeupDocument {
    latency_ns: u64,
    due_ns: u64,
    expire_ns: u64,
    switch_ns: u64,
    user_ns: u64,
    ordinal: u64,
    sentence: String,
    cure: String,
    segments: Vec<Segment>,
}

#[derive(Serialize)]
struct SiblingDocument {
    cell: String,
    id: String,
    first_divergence_ns: Option<u64>,
    wakeup: Option<WakeupDocument>,
}

#[derive(Serialize)]
struct BoundDocument {
    max_ns: u64,
    observed_ns: u64,
    sound: bool,
    p99_9_ns: u64,
    p99_ns: u64,
    floor_ns: u64,
    at_ns: Option<u64>,
    segments: Vec<Segment>,
}

/// A cell with its trace, ready to be looked at.
struct Traced<'a> {
    cell: &'a Chosen,
    kernel: Kernel,
    comm: String,
    is_fair: bool,
}

/// Prints the timelines of the worst wakeups.
pub fn execute(tracing: &Tracing<'_>, cell: &Chosen) -> exit::Result<ExitCode> {
    let is_fair = tracing.args.fair;
    // Before anything is executed in vain.
    probe(cell)?;
    check_probe(tracing, cell, is_fair)?;
    let sibling = sibling(tracing.recording, cell, is_fair)?;
    let cells: Vec<&Chosen> = std::iter::once(cell).chain(&sibling).collect();
    tracing.ensure(&cells)?;

    let traced = Traced::new(tracing, cell, is_fair)?;
    let all = traced.wakeups(tracing)?;
    let count = all.len();
    let found = traced.timelines(tracing, worst(all, tracing.args.worst.into()))?;
    let Some(first) = found.first() else {
        return Err(exit::failure(
            exit::UNUSABLE,
            "the probe has no wakeup by a timer in its window; is it a cyclictest?",
        ));
    };
    let beside = match &sibling {
        Some(sibling) => Some(Beside::new(tracing, &traced, sibling, &first.wakeup)?),
        None => None,
    };
    let bound = if is_fair { None } else { bound(tracing, &traced)? };

    if let Some(path) = &tracing.args.svg {
        let mut lanes: Vec<(String, &Timeline)> =
            found.iter().map(|timeline| (caption(cell, timeline), timeline)).collect();
        if let Some(Beside { cell, timeline: Some(timeline), .. }) = &beside {
            lanes.push((caption(cell, timeline), timeline));
        }
        let lanes: Vec<Lane<'_>> =
            lanes.iter().map(|(caption, timeline)| Lane { caption, timeline }).collect();
        let svg = timeline_svg(&format!("The worst wakeups of {}", cell.factors), &lanes);
        std::fs::write(path, svg).map_err(|error| {
            exit::failure(exit::HOST, format!("cannot write {}: {error}", path.display()))
        })?;
        tracing.output.note(format!("wrote {}", path.display()));
    }
    let document = document(&traced, count, &found, beside.as_ref(), bound.as_ref());
    if tracing.args.format == Format::Json {
        let text = serde_json::to_string_pretty(&document).or_exit(exit::HOST)?;
        return tracing.output.data(&plain::json(&text));
    }
    tracing.output.data(&text(tracing, &traced, count, &found, beside.as_ref(), bound.as_ref())?)
}

impl<'a> Traced<'a> {
    fn new(tracing: &Tracing<'_>, cell: &'a Chosen, is_fair: bool) -> exit::Result<Self> {
        let comm = probe(cell)?;
        Ok(Self { cell, kernel: tracing.kernel(cell)?, comm, is_fair })
    }

    fn wakeups(&self, tracing: &Tracing<'_>) -> exit::Result<Vec<Wakeup>> {
        let target = Target { comm: &self.comm, is_realtime: !self.is_fair };
        wakeups(stream(tracing, self.cell)?, &self.kernel, target, window(&self.cell.report))
            .map_err(|error| tracing.unreadable(self.cell, error))
    }

    fn timelines(
        &self,
        tracing: &Tracing<'_>,
        wakeups: Vec<Wakeup>,
    ) -> exit::Result<Vec<Timeline>> {
        timelines(stream(tracing, self.cell)?, &self.kernel, wakeups)
            .map_err(|error| tracing.unreadable(self.cell, error))
    }
}

/// The program of the cell's probes.
fn probe(cell: &Chosen) -> exit::Result<String> {
    target(&cell.inputs).ok_or_else(|| {
        let workload = &cell.factors.workload;
        let advice = "--export and --zoom show what its kernel did, or choose a cell of another \
                      workload with --cell";
        exit::failure(exit::UNUSABLE, format!("{workload} has no probe; {advice}"))
    })
}

/// Refuses a cell whose workload lacks the probe, and says what its trace can be asked. What a user's
/// own program does, its trace tells.
fn check_probe(tracing: &Tracing<'_>, cell: &Chosen, is_fair: bool) -> exit::Result<()> {
    let name = &cell.factors.workload;
    let experiment = &tracing.recording.manifest().experiment;
    let names = match experiment.workload.get(name.as_str()) {
        None | Some(Workload::Folder(_)) => return Ok(()),
        Some(workload) => workload.metric_names(),
    };
    let message = match (names.has_realtime_wakeups(), names.has_fair_wakeups()) {
        (true, _) if !is_fair => return Ok(()),
        (_, true) if is_fair => return Ok(()),
        (true, _) => format!("{name} has no fair probe; leave --fair out"),
        (false, true) => format!("{name} has no real-time probe; explain its fair one with --fair"),
        (false, false) => format!(
            "{name} has no cyclictest, whose wakeups could be explained; --export and --zoom show \
             what its kernel did, or choose a cell of another workload with --cell"
        ),
    };
    Err(exit::failure(exit::UNUSABLE, message))
}

/// The trace of a cell.
pub fn stream(tracing: &Tracing<'_>, cell: &Chosen) -> exit::Result<impl std::io::Read + use<>> {
    let stream = tracing.recording.traces().stream(cell.id).map_err(recording_failure)?;
    stream.ok_or_else(|| exit::failure(exit::UNUSABLE, "the cell has no trace"))
}

/// The same wakeup in the sibling.
struct Beside<'a> {
    cell: &'a Chosen,
    timeline: Option<Timeline>,
    divergence: Option<preemptlab_trace::Divergence>,
    is_same_boot: bool,
}

impl<'a> Beside<'a> {
    fn new(
        tracing: &Tracing<'_>,
        traced: &Traced<'_>,
        cell: &'a Chosen,
        wakeup: &Wakeup,
    ) -> exit::Result<Self> {
        let other = Traced::new(tracing, cell, traced.is_fair)?;
        let same = other.wakeups(tracing)?.into_iter().find(|same| same.ordinal == wakeup.ordinal);
        let timeline = match same {
            Some(same) => other.timelines(tracing, vec![same])?.pop(),
            None => None,
        };
        let is_same_boot = cell.inputs.snapshot == traced.cell.inputs.snapshot;
        let divergence = if is_same_boot {
            let (one, two) = (stream(tracing, traced.cell)?, stream(tracing, cell)?);
            divergence(one, two, &traced.kernel).or_exit(exit::UNUSABLE)?
        } else {
            None
        };
        Ok(Self { cell, timeline, divergence, is_same_boot })
    }
}

/// What the trace says of the wakeups that did not happen.
struct Worst {
    bound: preemptlab_trace::Bound,
    timeline: Option<Timeline>,
}

fn bound(tracing: &Tracing<'_>, traced: &Traced<'_>) -> exit::Result<Option<Worst>> {
    let findings =
        tracing.recording.traces().findings(traced.cell.id).map_err(recording_failure)?;
    let Some(bound) = findings.and_then(|findings| findings.bound) else { return Ok(None) };
    let bound = bound.observing((traced.cell.max_us * 1e3) as u64);
    let timeline = match bound.longest.first() {
        Some(closed) => closed_timeline(stream(tracing, traced.cell)?, &traced.kernel, *closed)
            .map_err(|error| tracing.unreadable(traced.cell, error))?,
        None => None,
    };
    Ok(Some(Worst { bound, timeline }))
}

fn caption(cell: &Chosen, timeline: &Timeline) -> String {
    format!("{} · {:.1} us", cell.factors, timeline.wakeup.latency_ns() as f64 / 1e3)
}

/// The cause that took most of a wakeup, besides what every wakeup costs.
fn main_cause(timeline: &Timeline) -> Cause {
    let costs = [Cause::Scheduling, Cause::Return, Cause::HardIrq, Cause::TimerPending];
    let causes = timeline.causes();
    let avoidable = causes
        .iter()
        .find(|(cause, ns)| !costs.contains(cause) && *ns * 5 >= timeline.wakeup.latency_ns());
    avoidable.or(causes.first()).map_or(Cause::Return, |(cause, _)| *cause)
}

fn text(
    tracing: &Tracing<'_>,
    traced: &Traced<'_>,
    count: usize,
    found: &[Timeline],
    beside: Option<&Beside<'_>>,
    bound: Option<&Worst>,
) -> exit::Result<String> {
    let terminal = tracing.output.terminal();
    let cell = traced.cell;
    let mut text = format!("{}: the worst of {count} wakeups\n", name_of(cell));
    if let Some(first) = found.first() {
        text += &terminal.note(&one_sentence(first));
    }
    text.push('\n');
    for timeline in found {
        text += &timeline_terminal(timeline, terminal);
        text.push('\n');
    }
    if let Some(first) = found.first() {
        let cure = cure(main_cause(first), cell, traced.is_fair);
        text += &terminal.note(&format!("What would help: {cure}."));
    }
    if let Some(beside) = beside {
        text += &terminal.note(&beside_in_words(beside));
        if let Some(timeline) = &beside.timeline {
            text.push('\n');
            text += &timeline_terminal(timeline, terminal);
        }
    }
    if let Some(Worst { bound, timeline }) = bound {
        let us = |ns: u64| ns as f64 / 1e3;
        let mut words = format!(
            "At every instant of the window: the most urgent task would have been late by {:.1} \
             us at worst, by {:.1} us at 99.9 % and {:.1} us at 99 % of all instants.",
            us(bound.max_ns()),
            us(bound.p99_9_ns),
            us(bound.p99_ns)
        );
        if !bound.is_sound() {
            let _ = write!(
                words,
                " The worst is what was observed: {UNSOUND}, which would allow {:.1} us.",
                us(bound.computed_ns())
            );
        }
        if let Some(timeline) = timeline {
            let _ = write!(
                words,
                " The worst instant is {}: {}",
                in_ms(timeline.wakeup.due_ns),
                one_sentence(timeline)
            );
        }
        text.push('\n');
        text += &terminal.note(&words);
    }
    text.push('\n');
    text += &terminal.note(CAPTION);
    if let Some(first) = found.first() {
        let middle = first.wakeup.due_ns + first.wakeup.latency_ns() / 2;
        tracing.output.note(format!(
            "next: preemptlab explain {} --cell {:.8} --zoom {}±{}us",
            tracing.args.recording.display(),
            cell.id.to_string(),
            in_ms(middle),
            first.wakeup.latency_ns().div_ceil(2_000)
        ));
    }
    Ok(text)
}

/// A moment as `--zoom` takes it.
pub fn in_ms(ns: u64) -> String {
    format!("{}.{:06}ms", ns / 1_000_000, ns % 1_000_000)
}

fn beside_in_words(beside: &Beside<'_>) -> String {
    let mut words =
        format!("The wakeup with the same number, at the same seed, in {}", name_of(beside.cell));
    match &beside.timeline {
        Some(timeline) => {
            let _ = write!(words, " took {:.1} us.", timeline.wakeup.latency_ns() as f64 / 1e3);
        }
        None => words += " was not found.",
    }
    match (&beside.divergence, beside.is_same_boot) {
        (Some(divergence), _) => {
            let name = |function: &Option<String>| {
                function.clone().unwrap_or_else(|| "an unknown function".to_owned())
            };
            let _ = write!(
                words,
                " The two share their first {} events, and part at {}, in {} here and in {} there.",
                divergence.common,
                in_ms(divergence.ns),
                name(&divergence.function),
                name(&divergence.other_function)
            );
        }
        (None, true) => words += " The two never part.",
        (None, false) => words += " It is another kernel, so that the two share no past.",
    }
    words
}

fn document(
    traced: &Traced<'_>,
    count: usize,
    found: &[Timeline],
    beside: Option<&Beside<'_>>,
    bound: Option<&Worst>,
) -> Document {
    let wakeup = |cell: &Chosen, timeline: &Timeline| {
        let Wakeup { due_ns, expire_ns, switch_ns, user_ns, ordinal, .. } = timeline.wakeup;
        WakeupDocument {
            latency_ns: timeline.wakeup.latency_ns(),
            due_ns,
            expire_ns,
            switch_ns,
            user_ns,
            ordinal,
            sentence: one_sentence(timeline),
            cure: cure(main_cause(timeline), cell, traced.is_fair).to_owned(),
            segments: timeline.segments.clone(),
        }
    };
    Document {
        format: 1,
        cell: traced.cell.factors.to_string(),
        id: traced.cell.id.to_string(),
        probe: traced.comm.clone(),
        wakeups: count,
        worst: found.iter().map(|timeline| wakeup(traced.cell, timeline)).collect(),
        sibling: beside.map(|beside| SiblingDocument {
            cell: beside.cell.factors.to_string(),
            id: beside.cell.id.to_string(),
            first_divergence_ns: beside.divergence.as_ref().map(|divergence| divergence.ns),
            wakeup: beside.timeline.as_ref().map(|timeline| wakeup(beside.cell, timeline)),
        }),
        bound: bound.map(|Worst { bound, timeline }| BoundDocument {
            max_ns: bound.max_ns(),
            observed_ns: bound.observed_ns(),
            sound: bound.is_sound(),
            p99_9_ns: bound.p99_9_ns,
            p99_ns: bound.p99_ns,
            floor_ns: bound.floor_ns,
            at_ns: timeline.as_ref().map(|timeline| timeline.wakeup.due_ns),
            segments: timeline.as_ref().map_or_else(Vec::new, |t| t.segments.clone()),
        }),
    }
}
