//! Cells with a trace.

use std::{fs::File, io::Seek, sync::Arc};

use preemptlab_model::{CellInputs, FailureCause, Outcome, ProbeProcess};
use preemptlab_protocol::Report;
use preemptlab_recording::TraceFolder;
use preemptlab_trace::{
    Findings, Kernel, Target, TraceError, findings, long_sections, opportunities, window,
    worst_instant,
};

use crate::{Backend, Cancel, Execution, RunError, Stop, Tracing};

/// Function that returns the kernel of a cell. A kernel that cannot be traced fails its cells and
/// no others.
pub type KernelOf<'a> = dyn Fn(&CellInputs) -> Result<Arc<Kernel>, Untraceable> + Sync + 'a;

/// Reason why a cell cannot be traced.
#[derive(Debug)]
pub enum Untraceable {
    /// The kernel cannot be traced, for this reason; other kernels may be.
    Kernel(String),
    /// The run cannot continue.
    Run(RunError),
}

/// Tracing of a run's cells.
#[derive(Clone, Copy)]
pub struct Traces<'a> {
    /// Folder of the traces and findings.
    pub folder: &'a TraceFolder,
    /// The kernel of a cell, ready to be traced. May execute something to find out.
    pub kernel: &'a KernelOf<'a>,
    /// The kept parts.
    pub kept: Kept<'a>,
}

/// The kept parts of the stream that an execution writes.
#[derive(Clone, Copy, Debug)]
pub enum Kept<'a> {
    /// Its findings. A cell whose kernel cannot be traced is executed without a stream, and the reason is
    /// kept. The stream grows in this folder, which need not be on the recording's disk.
    Findings(&'a TraceFolder),
    /// The stream, and its findings. A cell whose kernel cannot be traced fails.
    Stream,
}

impl Kept<'_> {
    /// Returns whether the stream is kept.
    pub fn is_stream(self) -> bool {
        matches!(self, Self::Stream)
    }
}

impl std::fmt::Debug for Traces<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Traces").field("folder", self.folder).finish_non_exhaustive()
    }
}

/// Output of an execution besides its result, which is not kept yet.
pub(crate) enum Traced {
    /// The stream, and the kernel with which it is read.
    Stream(File, Arc<Kernel>),
    /// The reason why there is no stream.
    Unmeasured(String),
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
            Err(Untraceable::Kernel(reason)) if self.kept.is_stream() => {
                let reason = format!("it cannot be traced: {reason}");
                let cause = FailureCause::Trace;
                return Ok((Err(Stop::Failed { cause, reason, console: Vec::new() }), None));
            }
            Err(Untraceable::Kernel(reason)) => {
                return Ok((backend.execute(cell, None, cancel), Some(Traced::Unmeasured(reason))));
            }
        };
        let stream = match self.kept {
            Kept::Findings(scratch) => scratch.scratch()?,
            Kept::Stream => self.folder.scratch()?,
        };
        let tracing = Tracing { program: kernel.program(), out: &stream };
        let result = backend.execute(cell, Some(tracing), cancel);
        Ok((result, Some(Traced::Stream(stream, kernel))))
    }

    /// Keeps the output of a completed cell: the findings, with the stream where that is wanted.
    pub(crate) fn keep(
        &self,
        cell: &CellInputs,
        outcome: &Outcome,
        traced: Traced,
    ) -> Result<(), RunError> {
        let Outcome::Completed { report, .. } = outcome else { return Ok(()) };
        match traced {
            Traced::Unmeasured(reason) => Ok(self.folder.put_unmeasured(cell.id(), &reason)?),
            Traced::Stream(mut stream, kernel) => {
                let findings = match read(cell, report, &mut stream, &kernel) {
                    Err(error @ TraceError::NoCount { .. }) => {
                        return Ok(self.folder.put_unmeasured(cell.id(), &error.to_string())?);
                    }
                    read => read.map_err(|error| RunError::Host(error.to_string()))?,
                };
                match self.kept {
                    Kept::Findings(_) => self.folder.put_findings(cell.id(), &findings)?,
                    Kept::Stream => self.folder.put(cell.id(), &mut stream, &findings)?,
                }
                Ok(())
            }
        }
    }
}

/// Reads the findings of a cell's stream.
fn read(
    cell: &CellInputs,
    report: &Report,
    stream: &mut File,
    kernel: &Kernel,
) -> Result<Findings, TraceError> {
    let probe = ProbeProcess::of(&cell.job);
    let target = Target {
        comm: probe.as_ref().map_or("", |probe| &probe.comm),
        is_realtime: true,
        first_waits: probe.as_ref().is_some_and(|probe| probe.first_waits),
    };
    let opportunities = opportunities(&cell.job, report);
    let mut stream = || {
        stream.rewind()?;
        stream.try_clone()
    };
    let window = window(&cell.job, report);
    let found = findings(stream()?, kernel, target, opportunities, window)?;
    Ok(match &found.bound {
        Some(bound) => {
            let worst = worst_instant(stream, kernel, target, window, bound)?;
            Findings { worst, ..found }
        }
        None => {
            let longest = long_sections(stream()?, kernel, &found.sections)?;
            Findings { longest, ..found }
        }
    })
}
