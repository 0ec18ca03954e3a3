//! Every call and return around a moment, after the fact.

use preemptlab_experiment::Recording;
use preemptlab_protocol::trace::TraceProgram;
use preemptlab_trace::{Kernel, function_graph};

use super::{choice::Chosen, traced::Traced};
use crate::{Error, Moment, Result, moment::in_ms};

/// A window of a cell in which every call and return is recorded.
pub struct Zoom {
    kernel: Kernel,
    /// Program of the plugin that records the calls.
    pub program: TraceProgram,
}

impl Zoom {
    /// Looks at the window around a moment of a traced cell.
    ///
    /// # Errors
    ///
    /// When the cell has no trace, or does not last that long.
    pub fn new(recording: &Recording, cell: &Chosen, moment: Moment) -> Result<Self> {
        let Traced { kernel, .. } = Traced::new(recording, cell)?;
        let start_ns = moment.ns.saturating_sub(moment.window_ns);
        let end_ns = moment.ns.saturating_add(moment.window_ns);
        if let Some(findings) = recording.explained().findings(cell.id)?
            && (end_ns < findings.start_ns || start_ns > findings.end_ns)
        {
            return Err(Error::Unusable(format!(
                "there is nothing at {}: the cell lasts from {} to {}",
                in_ms(moment.ns),
                in_ms(findings.start_ns),
                in_ms(findings.end_ns)
            )));
        }
        let program = kernel.zoom(start_ns, end_ns);
        Ok(Self { kernel, program })
    }

    /// Shows the calls and returns out of the stream of an execution with the program.
    ///
    /// # Errors
    ///
    /// When the stream cannot be read.
    pub fn graph(&self, stream: impl std::io::Read) -> Result<String> {
        function_graph(stream, &self.kernel).map_err(|error| Error::Machine(error.to_string()))
    }
}
