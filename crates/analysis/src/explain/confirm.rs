//! The check whether a wakeup at the worst instant would really have been that late.
//!
//! The trace shows the kernel while no task waited. A kernel that polls `need_resched` stops early
//! when a task waits, so a prediction may be too high: then the next one is tried.

use std::{
    fs::File,
    io::{self, Seek},
};

use preemptlab_experiment::Recording;
use preemptlab_protocol::trace::TraceProgram;
use preemptlab_report::{Cell, Column, Table, Terminal, Tone, timeline_terminal};
use preemptlab_trace::{
    Kernel, MovedTimer, Target, Timeline, Wakeup, Window, moved_timers, target, timelines, wakeups,
    window,
};
use serde::Serialize;

use super::{
    choice::{Chosen, name_of},
    traced::Traced,
};
use crate::{Error, Result, moment::in_ms};

/// Tolerance of a prediction: so many nanoseconds, or one part in so many.
const TOLERANCE_NS: u64 = 2_000;
const TOLERANCE_PART: u64 = 20;

/// After so many executions without a confirmation it is given up.
const EXECUTIONS_MAX: usize = 8;

/// Results of executions with moved timers, as a document.
#[derive(Debug, Serialize)]
struct Document {
    format: u32,
    cell: String,
    id: String,
    bound_ns: u64,
    /// Whether the bound itself is a stretch with softirqs, which is not tried.
    softirqs_left_out: bool,
    confirmed: bool,
    attempts: Vec<Attempt>,
}

/// Execution with a moved timer.
#[derive(Debug, Serialize)]
struct Attempt {
    /// The function in which the stretch begins.
    function: String,
    at_ns: u64,
    predicted_ns: u64,
    observed_ns: u64,
    confirmed: bool,
    #[serde(skip)]
    timeline: Option<Timeline>,
}

/// Confirmation of a bound. It moves the probe's timer to the worst instants of a cell's trace, one
/// after the other, until the cell observes the predicted latency. The caller executes
/// [`Self::next_program`] and hands over its stream, as long as there is one.
pub struct Confirmation<'a> {
    cell: &'a Chosen,
    kernel: Kernel,
    comm: String,
    floor_ns: u64,
    left: Vec<MovedTimer>,
    /// The instant of the execution that was handed out last.
    tried: Option<MovedTimer>,
    executions: usize,
    document: Document,
}

impl<'a> Confirmation<'a> {
    /// Finds the worst instants in the trace of a cell.
    ///
    /// # Errors
    ///
    /// When the cell has no trace or no wakeup, or its probe slept through none of them.
    pub fn new(recording: &Recording, cell: &'a Chosen) -> Result<Self> {
        let Traced { kernel, .. } = Traced::new(recording, cell)?;
        let comm = target(&cell.inputs.job).ok_or_else(|| Error::unusable("there is no probe"))?;
        let findings = recording.explained().findings(cell.id)?;
        let findings = findings.ok_or_else(|| Error::unusable("the cell has no trace"))?;
        let bound =
            findings.bound.ok_or_else(|| Error::unusable("the cell's trace has no wakeup"))?;
        let target = Target { comm: &comm, is_realtime: true };
        let stream = Traced::stream(recording, cell)?;
        let mut left = moved_timers(stream, &kernel, target, &bound, findings.clock_offset_ns)?;
        left.retain(|moved| !moved.closed.has_softirq);
        if left.is_empty() {
            return Err(Error::Unusable(format!(
                "the probe slept through none of the {} longest stretches",
                bound.longest.len()
            )));
        }
        let document = Document {
            format: 1,
            cell: cell.factors.to_string(),
            id: cell.id.to_string(),
            bound_ns: bound.max_ns(),
            softirqs_left_out: bound.longest.first().is_some_and(|closed| closed.has_softirq),
            confirmed: false,
            attempts: Vec::new(),
        };
        let (floor_ns, tried, executions) = (bound.floor_ns, None, 0);
        Ok(Self { cell, kernel, comm, floor_ns, left, tried, executions, document })
    }

    /// Returns the program of the next execution; `None` when the bound is confirmed or given up.
    pub fn next_program(&mut self) -> Option<TraceProgram> {
        if self.document.confirmed || self.executions == EXECUTIONS_MAX || self.left.is_empty() {
            return None;
        }
        self.executions += 1;
        let moved = self.left.remove(0);
        self.tried = Some(moved);
        Some(self.kernel.moved(&moved))
    }

    /// Takes the stream of an execution with a moved timer.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn take(&mut self, mut again: File) -> Result<()> {
        let Some(moved) = self.tried.take() else { return Ok(()) };
        // The cell goes another way from there on, and may end at another time.
        let whole = Window { end_ns: u64::MAX, ..window(&self.cell.report) };
        let target = Target { comm: &self.comm, is_realtime: true };
        let all = wakeups(&again, &self.kernel, target, whole)?;
        let Some(wakeup) = met(&moved, all) else { return Ok(()) };
        again.rewind().map_err(|error: io::Error| Error::Machine(error.to_string()))?;
        let attempt = attempt(&again, &self.kernel, &moved, wakeup, self.floor_ns)?;
        self.document.confirmed = attempt.confirmed;
        self.document.attempts.push(attempt);
        // The kernel notices there that a task waits, and would do so in its other stretches too.
        let function = |moved: &MovedTimer| self.kernel.function(moved.closed.start_address);
        self.left.retain(|other| function(other) != function(&moved));
        Ok(())
    }

    /// Returns whether an execution observed the predicted latency.
    pub fn is_confirmed(&self) -> bool {
        self.document.confirmed
    }

    /// Returns the observations as a document.
    pub fn document(&self) -> &impl Serialize {
        &self.document
    }

    /// Shows the observations.
    pub fn text(&self, terminal: Terminal) -> String {
        let (cell, document) = (self.cell, &self.document);
        let us = |ns: u64| format!("{:.3}", ns as f64 / 1e3);
        let mut table = Table::new(
            format!("{}: the probe's timer moved to the worst instants", name_of(cell)),
            [
                Column::left("from"),
                Column::right("at"),
                Column::right("predicted").with_unit("us"),
                Column::right("observed").with_unit("us"),
                Column::left("verdict"),
            ],
        );
        for attempt in &document.attempts {
            let (verdict, tone) = if attempt.confirmed {
                ("confirmed", Tone::Better)
            } else if attempt.observed_ns < attempt.predicted_ns {
                ("the kernel noticed the waiting task", Tone::Plain)
            } else {
                ("NOT confirmed", Tone::Worse)
            };
            table.row([
                Cell::from(attempt.function.clone()),
                Cell::from(in_ms(attempt.at_ns)),
                Cell::from(us(attempt.predicted_ns)),
                Cell::from(us(attempt.observed_ns)),
                Cell::new(verdict, tone),
            ]);
        }
        if document.attempts.is_empty() {
            table.notes.push(
                "At none of them the probe's timer was one of the next to expire.".to_owned(),
            );
        }
        if document.softirqs_left_out {
            table.notes.push(
                "Stretches with softirqs, the longest of all here, were left out: softirqs stop early \
                 when a task waits."
                    .to_owned(),
            );
        }
        let mut text = table.terminal(terminal);
        if let Some(timeline) = document.attempts.last().and_then(|last| last.timeline.as_ref()) {
            text.push('\n');
            text += &timeline_terminal(timeline, terminal);
        }
        text
    }
}

/// Returns by how much a prediction may be wrong, in nanoseconds.
pub(super) fn tolerance_ns(predicted_ns: u64) -> u64 {
    TOLERANCE_NS.max(predicted_ns / TOLERANCE_PART)
}

/// Returns the wakeup that a moved timer caused.
pub(super) fn met(moved: &MovedTimer, all: Vec<Wakeup>) -> Option<Wakeup> {
    all.into_iter().find(|wakeup| wakeup.due_monotonic_ns == moved.to_monotonic_ns)
}

fn attempt(
    again: &File,
    kernel: &Kernel,
    moved: &MovedTimer,
    wakeup: Wakeup,
    floor_ns: u64,
) -> Result<Attempt> {
    let predicted_ns = floor_ns.saturating_add(moved.wait_ns());
    let (at_ns, observed_ns) = (wakeup.due_ns, wakeup.latency_ns());
    let difference_ns = predicted_ns.abs_diff(observed_ns);
    let function = kernel.function(moved.closed.start_address);
    Ok(Attempt {
        function: function.unwrap_or("an unknown function").to_owned(),
        at_ns,
        predicted_ns,
        observed_ns,
        confirmed: difference_ns <= tolerance_ns(predicted_ns),
        timeline: timelines(again, kernel, vec![wakeup])?.pop(),
    })
}
