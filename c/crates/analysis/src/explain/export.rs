//! Traces for the tools that people already use.

use std::io::{BufWriter, Write};

use preemptlab_experiment::Recording;
use preemptlab_trace::{ExportError, ftrace_text, perfetto};

use super::{choice::Chosen, traced::Traced};
use crate::{Error, Result};

/// The form of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceForm {
    /// The form of ui.perfetto.dev.
    Perfetto,
    /// The text of /sys/kernel/tracing/trace.
    Ftrace,
}

/// Writes the trace of a cell in another tool's form.
///
/// # Errors
///
/// When the cell has no trace, or it cannot be read; `unwritable` makes the error of a failed
/// write.
pub fn export(
    recording: &Recording,
    cell: &Chosen,
    form: TraceForm,
    out: impl Write,
    unwritable: impl FnOnce(std::io::Error) -> String,
) -> Result<()> {
    let traced = Traced::new(recording, cell)?;
    let stream = Traced::stream(recording, cell)?;
    let mut out = BufWriter::new(out);
    let written = match form {
        TraceForm::Perfetto => perfetto(stream, &traced.kernel, None, &mut out),
        TraceForm::Ftrace => ftrace_text(stream, &traced.kernel, None, &mut out),
    };
    written.and_then(|()| Ok(out.flush()?)).map_err(|error| match error {
        ExportError::Trace(error) => traced.unreadable(error),
        ExportError::Write(error) => Error::Machine(unwritable(error)),
    })
}
