//! Traces for the tools that people already use.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
    process::ExitCode,
};

use super::{choice::Chosen, tracing::Tracing};
use crate::{
    args::Export,
    commands::run::recording_failure,
    exit::{self, OrExit},
};

/// Writes the trace of a cell in another tool's form.
pub fn execute(
    tracing: &Tracing<'_>,
    cell: &Chosen,
    form: Export,
    out: &Path,
) -> exit::Result<ExitCode> {
    tracing.ensure(&[cell])?;
    let kernel = tracing.kernel(cell)?;
    let stream = tracing.recording.traces().stream(cell.id).map_err(recording_failure)?;
    let stream = stream.ok_or_else(|| exit::failure(exit::UNUSABLE, "the cell has no trace"))?;
    let cannot = |error: std::io::Error| {
        exit::failure(exit::HOST, format!("cannot write {}: {error}", out.display()))
    };
    let mut file = BufWriter::new(File::create(out).map_err(cannot)?);
    match form {
        Export::Perfetto => preemptlab_trace::perfetto(stream, &kernel, None, &mut file),
        Export::Ftrace => preemptlab_trace::ftrace_text(stream, &kernel, None, &mut file),
    }
    .or_exit(exit::HOST)?;
    file.flush().map_err(cannot)?;
    tracing.output.note(format!("wrote {}", out.display()));
    if form == Export::Perfetto {
        tracing.output.note("open it at ui.perfetto.dev; times are virtual");
    }
    Ok(ExitCode::from(exit::OK))
}
