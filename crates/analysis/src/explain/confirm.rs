//! The check whether a wakeup at the worst instant would really have been that late.
//!
//! The trace shows the kernel while no task waited. A kernel that polls `need_resched` stops early
//! when a task waits, so a prediction may be too high: then the next one is tried.

use std::{
    fs::File,
    io::{self, Seek},
};

use preemptlab_experiment::Recording;
use preemptlab_model::ProbeProcess;
use preemptlab_protocol::trace::TraceProgram;
use preemptlab_trace::{
    Kernel, MovedTimer, Timeline, Wakeup, Window, moved_timers, timelines, wakeups, window,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    choice::Chosen,
    traced::{Traced, target},
};
use crate::{Error, Result};

/// Tolerance of a prediction, in nanoseconds or as one part in `TOLERANCE_PART`.
const TOLERANCE_NS: u64 = 2_000;
const TOLERANCE_PART: u64 = 20;

/// Number of executions without a confirmation before the search for one ends.
const EXECUTIONS_MAX: usize = 8;

/// Results of executions with moved timers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Confirmed {
    /// Version of the document.
    pub format: u32,
    /// Name of the cell.
    pub cell: String,
    /// Identity of the cell.
    pub id: String,
    /// Bound of the cell's latencies, in nanoseconds.
    pub bound_ns: u64,
    /// Whether the bound itself is a stretch with softirqs, which is not tried.
    pub softirqs_left_out: bool,
    /// Whether an execution observed the predicted latency.
    pub confirmed: bool,
    /// Executions, in their order.
    pub attempts: Vec<Attempt>,
}

/// Execution with a moved timer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Attempt {
    /// The function in which the stretch begins.
    pub function: String,
    /// When the timer was due, in nanoseconds.
    pub at_ns: u64,
    /// Latency that the trace predicts, in nanoseconds.
    pub predicted_ns: u64,
    /// Latency that was observed, in nanoseconds.
    pub observed_ns: u64,
    /// Whether both are the same, but for a tolerance.
    pub confirmed: bool,
    /// Timeline of the wakeup; `None` where the trace does not show it.
    #[serde(skip)]
    pub timeline: Option<Timeline>,
}

/// Confirmation of a bound. It moves the probe's timer to the worst instants of a cell's trace, one
/// after the other, until the cell observes the predicted latency. The caller executes
/// [`Self::next_program`] and hands over its stream, as long as there is one.
pub struct Confirmation<'a> {
    cell: &'a Chosen,
    kernel: Kernel,
    probe: ProbeProcess,
    floor_ns: u64,
    left: Vec<MovedTimer>,
    /// The instant of the execution that was handed out last.
    tried: Option<MovedTimer>,
    executions: usize,
    confirmed: Confirmed,
}

impl<'a> Confirmation<'a> {
    /// Finds the worst instants in the trace of a cell.
    ///
    /// # Errors
    ///
    /// When the cell has no trace or no wakeup, or its probe slept through none of them.
    pub fn new(recording: &Recording, cell: &'a Chosen) -> Result<Self> {
        let Traced { kernel, .. } = Traced::new(recording, cell)?;
        let probe = ProbeProcess::of(&cell.inputs.job);
        let probe = probe.ok_or_else(|| Error::unusable("there is no probe"))?;
        let findings = recording.explained().findings(cell.id)?;
        let findings = findings.ok_or_else(|| Error::unusable("the cell has no trace"))?;
        let bound =
            findings.bound.ok_or_else(|| Error::unusable("the cell's trace has no wakeup"))?;
        let target = target(&probe, false);
        let stream = Traced::stream(recording, cell)?;
        let mut left = moved_timers(stream, &kernel, target, &bound, findings.clock_offset_ns)?;
        left.retain(|moved| !moved.closed.has_softirq);
        if left.is_empty() {
            return Err(Error::Unusable(format!(
                "the probe slept through none of the {} longest stretches",
                bound.longest.len()
            )));
        }
        let confirmed = Confirmed {
            format: 1,
            cell: cell.factors.to_string(),
            id: cell.id.to_string(),
            bound_ns: bound.max_ns(),
            softirqs_left_out: bound.longest.first().is_some_and(|closed| closed.has_softirq),
            confirmed: false,
            attempts: Vec::new(),
        };
        let (floor_ns, tried, executions) = (bound.floor_ns, None, 0);
        Ok(Self { cell, kernel, probe, floor_ns, left, tried, executions, confirmed })
    }

    /// Returns the program of the next execution; `None` when the bound is confirmed or given up.
    pub fn next_program(&mut self) -> Option<TraceProgram> {
        if self.confirmed.confirmed || self.executions == EXECUTIONS_MAX || self.left.is_empty() {
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
        let whole = Window { end_ns: u64::MAX, ..window(&self.cell.inputs.job, &self.cell.report) };
        let target = target(&self.probe, false);
        let all = wakeups(&again, &self.kernel, target, whole)?;
        let Some(wakeup) = met(&moved, all) else { return Ok(()) };
        again.rewind().map_err(|error: io::Error| Error::Machine(error.to_string()))?;
        let attempt = attempt(&again, &self.kernel, &moved, wakeup, self.floor_ns)?;
        self.confirmed.confirmed = attempt.confirmed;
        self.confirmed.attempts.push(attempt);
        // The kernel notices there that a task waits, and would do so in its other stretches too.
        let function = |moved: &MovedTimer| self.kernel.function(moved.closed.start_address);
        self.left.retain(|other| function(other) != function(&moved));
        Ok(())
    }

    /// Returns the cell.
    pub fn cell(&self) -> &Chosen {
        self.cell
    }

    /// Returns the observations so far.
    pub fn confirmed(&self) -> &Confirmed {
        &self.confirmed
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
