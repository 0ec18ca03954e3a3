//! Whether a wakeup at the worst instant would really have been that late.
//!
//! The trace says what the kernel did while nobody waited. A kernel that polls `need_resched` stops
//! early when somebody does, so that a prediction may be too high: then the next one is tried.

use std::{fs::File, io::Seek, process::ExitCode};

use preemptlab_model::plain;
use preemptlab_report::{Cell, Column, Table, Tone, timeline_terminal};
use preemptlab_runner::{target, window};
use preemptlab_trace::{
    Kernel, MovedTimer, Target, Timeline, Wakeup, Window, moved_timers, timelines, wakeups,
};
use serde::Serialize;

use super::{
    choice::{Chosen, name_of},
    timelines::{in_ms, stream},
    tracing::Tracing,
};
use crate::{
    args::Format,
    exit::{self, OrExit},
    session::recording_failure,
};

/// What a prediction may be off by: so many nanoseconds, or one part in so many.
const TOLERANCE_NS: u64 = 2_000;
const TOLERANCE_PART: u64 = 20;

/// Of the longest stretches so many are offered to one execution, which takes the first at which the
/// probe's timer is the next to expire.
const OFFERED: usize = 6;

/// After so many executions without a confirmation it is given up.
const EXECUTIONS_MAX: usize = 8;

#[derive(Serialize)]
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

/// One execution with a moved timer.
#[derive(Serialize)]
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

/// Moves the probe's timer to the worst instants of the trace, one after the other, until the cell
/// observes what the trace predicts.
pub fn execute(tracing: &Tracing<'_>, cell: &Chosen) -> exit::Result<ExitCode> {
    tracing.ensure(&[cell])?;
    let kernel = tracing.kernel(cell)?;
    let comm = target(&cell.inputs).ok_or_else(|| lacks("there is no probe"))?;
    let target = Target { comm: &comm, is_realtime: true };
    let findings = tracing.recording.traces().findings(cell.id).map_err(recording_failure)?;
    let findings = findings.ok_or_else(|| lacks("the cell has no trace"))?;
    let bound = findings.bound.ok_or_else(|| lacks("the cell's trace has no wakeup"))?;
    let offset_ns = findings.clock_offset_ns;
    let mut left = moved_timers(stream(tracing, cell)?, &kernel, target, &bound, offset_ns)
        .or_exit(exit::UNUSABLE)?;
    if left.is_empty() {
        return Err(lacks("the probe slept through none of the worst stretches"));
    }
    let function = |moved: &MovedTimer| kernel.function(moved.closed.start_address);
    let mut attempts: Vec<Attempt> = Vec::new();
    for _ in 0..EXECUTIONS_MAX {
        let offered: Vec<MovedTimer> = left.drain(..left.len().min(OFFERED)).collect();
        if offered.is_empty() {
            break;
        }
        let mut again = tracing.execute(&cell.inputs, &kernel.moved(&offered))?;
        // The cell goes another way from there on, and may end at another time.
        let whole = Window { end_ns: u64::MAX, ..window(&cell.report) };
        let all = wakeups(&again, &kernel, target, whole).or_exit(exit::UNUSABLE)?;
        let Some((moved, wakeup)) = met(&offered, all) else { continue };
        again.rewind().or_exit(exit::HOST)?;
        let attempt = attempt(&again, &kernel, &moved, wakeup, bound.floor_ns)?;
        let is_confirmed = attempt.confirmed;
        attempts.push(attempt);
        if is_confirmed {
            break;
        }
        // The kernel notices there that a task waits, and would do so in its other stretches too.
        left.retain(|other| function(other) != function(&moved));
    }
    let confirmed = attempts.last().is_some_and(|attempt| attempt.confirmed);
    let document = Document {
        format: 1,
        cell: cell.factors.to_string(),
        id: cell.id.to_string(),
        bound_ns: bound.max_ns(),
        softirqs_left_out: bound.longest.first().is_some_and(|closed| closed.has_softirq),
        confirmed,
        attempts,
    };
    if tracing.args.format == Format::Json {
        let json = serde_json::to_string_pretty(&document).or_exit(exit::HOST)?;
        tracing.output.data(&plain::json(&json))?;
    } else {
        tracing.output.data(&text(tracing, cell, &document))?;
    }
    Ok(ExitCode::from(if confirmed { exit::OK } else { exit::NO }))
}

fn lacks(what: &str) -> exit::Failure {
    exit::failure(exit::UNUSABLE, what.to_owned())
}

/// The timer that was moved, and the wakeup that came of it.
fn met(offered: &[MovedTimer], all: Vec<Wakeup>) -> Option<(MovedTimer, Wakeup)> {
    all.into_iter().find_map(|wakeup| {
        let is_met = |moved: &&MovedTimer| moved.to_monotonic_ns == wakeup.due_monotonic_ns;
        Some((*offered.iter().find(is_met)?, wakeup))
    })
}

fn attempt(
    again: &File,
    kernel: &Kernel,
    moved: &MovedTimer,
    wakeup: Wakeup,
    floor_ns: u64,
) -> exit::Result<Attempt> {
    let predicted_ns = floor_ns.saturating_add(moved.closed.len_ns());
    let (at_ns, observed_ns) = (wakeup.due_ns, wakeup.latency_ns());
    let difference_ns = predicted_ns.abs_diff(observed_ns);
    let function = kernel.function(moved.closed.start_address);
    Ok(Attempt {
        function: function.unwrap_or("an unknown function").to_owned(),
        at_ns,
        predicted_ns,
        observed_ns,
        confirmed: difference_ns <= TOLERANCE_NS || difference_ns <= predicted_ns / TOLERANCE_PART,
        timeline: timelines(again, kernel, vec![wakeup]).or_exit(exit::UNUSABLE)?.pop(),
    })
}

fn text(tracing: &Tracing<'_>, cell: &Chosen, document: &Document) -> String {
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
            "At none of them the probe's timer was the next of all timers to expire.".to_owned(),
        );
    }
    if document.softirqs_left_out {
        table.notes.push(
            "Stretches with softirqs, the longest of all here, were left out: softirqs stop early \
             when a task waits."
                .to_owned(),
        );
    }
    let terminal = tracing.output.terminal();
    let mut text = table.terminal(terminal);
    if let Some(timeline) = document.attempts.last().and_then(|last| last.timeline.as_ref()) {
        text.push('\n');
        text += &timeline_terminal(timeline, terminal);
    }
    text
}
