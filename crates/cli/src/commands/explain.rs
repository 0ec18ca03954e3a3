//! Why the worst wakeups were late.

mod choice;
mod confirm;
mod cure;
mod export;
mod ranking;
mod timelines;
mod tracing;
mod zoom;

use preemptlab_experiment::Recording;
use std::{path::PathBuf, process::ExitCode};

use crate::{
    args::Explain,
    exit::{self},
    output::Output,
    session::recording_failure,
    writable,
};

/// Explains the worst wakeups of a cell, or what was asked for instead.
pub fn execute(args: &Explain, store: Option<PathBuf>, output: &Output) -> exit::Result<ExitCode> {
    let recording = Recording::open(&args.recording).map_err(recording_failure)?;
    if let Some(svg) = &args.svg {
        writable::check(svg)?;
    }
    if args.ranking {
        return ranking::execute(args, &recording, output);
    }
    let cell = choice::choose(&recording, args)?;
    let tracing = tracing::Tracing { recording: &recording, args, store, output };
    match (args.zoom, args.export, &args.out) {
        (Some(moment), ..) => zoom::execute(&tracing, &cell, moment),
        (None, Some(form), Some(out)) => export::execute(&tracing, &cell, form, out),
        _ if args.confirm => confirm::execute(&tracing, &cell),
        _ => timelines::execute(&tracing, &cell),
    }
}
