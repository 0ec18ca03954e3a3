//! Whether a wakeup at the worst instant would really have been that late.

use std::{io::Seek, process::ExitCode};

use preemptlab_runner::{opportunities, target, window};
use preemptlab_trace::{Kernel, MovedTimer, Target, Wakeup, Window, moved_timer, wakeups};
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

/// A stretch that begins so near to where it was is the same.
const SHIFT_NS_MAX: u64 = 200;

/// Moving the timer moves the stretch, by less each time.
const EXECUTIONS_MAX: usize = 5;

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

/// Moves the timer and executes, until it meets the stretch where it was meant to.
fn execute_moved(
    tracing: &Tracing<'_>,
    cell: &Chosen,
    kernel: &Kernel,
    target: Target<'_>,
    mut moved: MovedTimer,
) -> exit::Result<(MovedTimer, Wakeup)> {
    let lacks = |what: &str| exit::failure(exit::UNUSABLE, what.to_owned());
    // The cell goes another way from there on, and may end at another time.
    let whole = Window { end_ns: u64::MAX, ..window(&cell.report) };
    let opportunities = opportunities(&cell.inputs, &cell.report);
    for _ in 0..EXECUTIONS_MAX {
        let mut stream = tracing.execute(&cell.inputs, &kernel.redirected(&moved))?;
        let shifted = moved.shifted(&stream, kernel, opportunities).or_exit(exit::UNUSABLE)?;
        let shifted = shifted.ok_or_else(|| {
            lacks("with its timer moved the cell goes another way, and the stretch is not there")
        })?;
        if shifted.closed.start_ns.abs_diff(moved.closed.start_ns) > SHIFT_NS_MAX {
            moved = shifted;
            continue;
        }
        stream.rewind().or_exit(exit::HOST)?;
        let all = wakeups(&stream, kernel, target, whole).or_exit(exit::UNUSABLE)?;
        let mut observed =
            all.into_iter().filter(|wakeup| wakeup.due_monotonic_ns == moved.to_monotonic_ns);
        return observed
            .next()
            .map(|observed| (moved, observed))
            .ok_or_else(|| lacks("the moved timer woke nobody"));
    }
    Err(lacks("wherever the timer is moved to, the stretch is somewhere else"))
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
    let moved = moved_timer(stream(tracing, cell)?, &kernel, target, &bound, offset_ns)
        .or_exit(exit::UNUSABLE)?
        .ok_or_else(|| lacks("the probe slept through none of the worst stretches"))?;

    let (moved, observed) = execute_moved(tracing, cell, &kernel, target, moved)?;
    let (predicted_ns, observed_ns) = (moved.predicted_ns, observed.latency_ns());
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
        let us = |ns: u64| ns as f64 / 1e3;
        format!(
            "{}: a timer moved to {} was predicted to wake the probe {:.3} us late.\n\
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
