//! Whether a wakeup at the worst instant would really have been that late.

use std::{io::Seek, process::ExitCode};

use preemptlab_report::timeline_terminal;
use preemptlab_runner::{target, window};
use preemptlab_trace::{Target, Wakeup, Window, closed_timeline, moved_timers, timelines, wakeups};
use serde::Serialize;

use super::{
    choice::{Chosen, name_of},
    timelines::{in_ms, stream},
    tracing::Tracing,
};
use crate::{
    args::Format,
    commands::run::recording_failure,
    exit::{self, OrExit},
};

/// What a prediction may be off by: so many nanoseconds, or one part in so many.
const TOLERANCE_NS: u64 = 2_000;
const TOLERANCE_PART: u64 = 20;

#[derive(Serialize)]
struct Document {
    format: u32,
    cell: String,
    id: String,
    at_ns: u64,
    predicted_ns: u64,
    observed_ns: u64,
    confirmed: bool,
}

/// Moves the probe's timer to the worst instant of the trace, executes the cell, and compares.
pub fn execute(tracing: &Tracing<'_>, cell: &Chosen) -> exit::Result<ExitCode> {
    tracing.ensure(&[cell])?;
    let kernel = tracing.kernel(cell)?;
    let lacks = |what: &str| exit::failure(exit::UNUSABLE, what.to_owned());
    let comm = target(&cell.inputs, true).ok_or_else(|| lacks("there is no real-time probe"))?;
    let target = Target { comm: &comm, is_realtime: true };
    let findings = tracing.recording.traces().findings(cell.id).map_err(recording_failure)?;
    let findings = findings.ok_or_else(|| lacks("the cell has no trace"))?;
    let bound = findings.bound.ok_or_else(|| lacks("the cell's trace has no wakeup"))?;
    let offset_ns = findings.clock_offset_ns;
    let moved = moved_timers(stream(tracing, cell)?, &kernel, target, &bound, offset_ns)
        .or_exit(exit::UNUSABLE)?;
    if moved.is_empty() {
        return Err(lacks("the probe slept through none of the worst stretches"));
    }
    let mut again = tracing.execute(&cell.inputs, &kernel.moved(&moved))?;
    // The cell goes another way from there on, and may end at another time.
    let whole = Window { end_ns: u64::MAX, ..window(&cell.report) };
    let all = wakeups(&again, &kernel, target, whole).or_exit(exit::UNUSABLE)?;
    let met = moved.iter().find_map(|moved| {
        let is_met = |wakeup: &&Wakeup| wakeup.due_monotonic_ns == moved.to_monotonic_ns;
        Some((moved, all.iter().find(is_met)?.clone()))
    });
    let (moved, observed) = met.ok_or_else(|| {
        lacks("the probe's timer was the next to expire at the beginning of none of them")
    })?;
    let predicted_ns = bound.floor_ns + moved.closed.len_ns();
    let observed_ns = observed.latency_ns();
    let difference_ns = predicted_ns.abs_diff(observed_ns);
    let confirmed = difference_ns <= TOLERANCE_NS || difference_ns <= predicted_ns / TOLERANCE_PART;
    let at_ns = observed.due_ns;
    let document = Document {
        format: 1,
        cell: cell.factors.to_string(),
        id: cell.id.to_string(),
        at_ns,
        predicted_ns,
        observed_ns,
        confirmed,
    };
    let text = if tracing.args.format == Format::Json {
        serde_json::to_string_pretty(&document).or_exit(exit::HOST)?
    } else {
        again.rewind().or_exit(exit::HOST)?;
        let observed = timelines(&again, &kernel, vec![observed]).or_exit(exit::UNUSABLE)?;
        let closed = closed_timeline(stream(tracing, cell)?, &kernel, moved.closed);
        let drawn: String = closed
            .or_exit(exit::UNUSABLE)?
            .iter()
            .chain(&observed)
            .map(|timeline| timeline_terminal(timeline, tracing.output.terminal()) + "\n")
            .collect();
        let us = |ns: u64| ns as f64 / 1e3;
        format!(
            "{drawn}{}: a timer moved to {} was predicted to wake the probe {:.3} us late.\n\
             Executed so, it woke it {:.3} us late: {} ({:.3} us off).\n",
            name_of(cell),
            in_ms(at_ns),
            us(predicted_ns),
            us(observed_ns),
            if confirmed { "confirmed" } else { "NOT confirmed" },
            us(difference_ns)
        )
    };
    tracing.output.data(&text)?;
    Ok(ExitCode::from(if confirmed { exit::OK } else { exit::NO }))
}
