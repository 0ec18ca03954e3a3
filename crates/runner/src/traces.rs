//! Cells with a trace.

use std::{
    fs::File,
    io::{BufReader, Seek},
    sync::Arc,
};

use preemptlab_model::{CellInputs, FailureCause, Outcome};
use preemptlab_recording::TraceFolder;
use preemptlab_trace::{Kernel, Target, findings, opportunities, target, window};

use crate::{Backend, Cancel, Execution, RunError, Stop, Tracing};

/// Function that returns the kernel of a cell. A kernel that cannot be traced fails its cells and
/// no others.
pub type KernelOf<'a> = dyn Fn(&CellInputs) -> Result<Arc<Kernel>, Untraceable> + Sync + 'a;

/// Reason why a cell cannot be traced.
#[derive(Debug)]
pub enum Untraceable {
    /// The kernel cannot be traced, for this reason; other kernels may be.
    Kernel(String),
    /// The run cannot go on.
    Run(RunError),
}

/// Tracing of a run's cells.
#[derive(Clone, Copy)]
pub struct Traces<'a> {
    /// Folder of the traces.
    pub folder: &'a TraceFolder,
    /// The kernel of a cell, ready to be traced. May execute something to find out.
    pub kernel: &'a KernelOf<'a>,
}

impl std::fmt::Debug for Traces<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Traces").field("folder", self.folder).finish_non_exhaustive()
    }
}

/// A cell's stream, which is not kept yet.
pub(crate) struct Traced {
    stream: File,
    kernel: Arc<Kernel>,
}

impl Traces<'_> {
    /// Executes a cell with a trace, unless its kernel cannot be traced.
    pub(crate) fn execute(
        &self,
        cell: &CellInputs,
        backend: &dyn Backend,
        cancel: &Cancel,
    ) -> Result<(Result<Execution, Stop>, Option<Traced>), RunError> {
        let kernel = match (self.kernel)(cell) {
            Ok(kernel) => kernel,
            Err(Untraceable::Run(error)) => return Err(error),
            Err(Untraceable::Kernel(reason)) => {
                let reason = format!("it cannot be traced: {reason}");
                let cause = FailureCause::Trace;
                return Ok((Err(Stop::Failed { cause, reason, console: Vec::new() }), None));
            }
        };
        let stream = self.folder.scratch()?;
        let tracing = Tracing { program: kernel.program(), out: &stream };
        let result = backend.execute(cell, Some(tracing), cancel);
        Ok((result, Some(Traced { stream, kernel })))
    }

    /// Reads the stream of a completed cell, and keeps it with its findings.
    pub(crate) fn keep(
        &self,
        cell: &CellInputs,
        outcome: &Outcome,
        mut traced: Traced,
    ) -> Result<(), RunError> {
        let Outcome::Completed { report, .. } = outcome else { return Ok(()) };
        traced.stream.rewind().map_err(|error| RunError::Host(error.to_string()))?;
        let probe = target(&cell.job);
        let findings = findings(
            BufReader::new(&traced.stream),
            &traced.kernel,
            probe.as_ref().map_or(Target { comm: "", is_realtime: true }, |comm| Target {
                comm,
                is_realtime: true,
            }),
            opportunities(&cell.job, report),
            window(report),
        )
        .map_err(|error| RunError::Host(error.to_string()))?;
        Ok(self.folder.put(cell.id(), &mut traced.stream, &findings)?)
    }
}
