//! Cells with a trace.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{BufReader, Seek},
    sync::Arc,
};

use crate::{Backend, Cancel, Execution, Stop, Tracing};
use preemptlab_model::{CellId, CellInputs, FailureCause, Outcome};
use preemptlab_recording::{Recording, TraceFolder};
use preemptlab_trace::{Kernel, Target, findings, opportunities, target, window};

use crate::{
    Event, RunError, queue,
    run::{Cell, boot, boots_of, cells_of, execute},
};

/// Tells the kernel of a cell. One that cannot be traced fails its cells and no others.
pub type KernelOf<'a> = dyn Fn(&CellInputs) -> Result<Arc<Kernel>, Untraceable> + Sync + 'a;

/// Why a cell cannot be traced.
#[derive(Debug)]
pub enum Untraceable {
    /// For this reason, which other kernels need not have.
    Kernel(String),
    /// The run cannot go on.
    Run(RunError),
}

/// How cells are traced.
#[derive(Clone, Copy)]
pub struct Traces<'a> {
    /// Where traces are kept.
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

    /// Reads the stream of a completed cell, and keeps it with what it says.
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

/// Executes completed cells of a recording again, with a trace, and keeps the traces.
///
/// # Errors
///
/// When the host cannot go on, or a cell does not say the same again.
pub fn trace(
    recording: &Recording,
    ids: &BTreeSet<CellId>,
    backend: &dyn Backend,
    traces: Traces<'_>,
    jobs: usize,
    on_event: &(dyn Fn(Event<'_>) + Sync),
    cancel: &Cancel,
) -> Result<(), RunError> {
    let cells = cells_of(recording);
    let cells: Vec<Cell<'_>> =
        cells.into_iter().filter(|cell| ids.contains(&cell.inputs.id())).collect();
    let boots = boots_of(&cells);
    on_event(Event::Planned { boots: boots.len(), cells: cells.len(), finished: 0 });
    let unbootable = boot(&boots, backend, jobs, on_event, cancel)?;
    queue::for_each(&cells, jobs, cancel, |cell| {
        let (record, wall) = execute(cell, backend, &unbootable, Some(traces), on_event, cancel)?;
        let recorded = recording.cell(record.id)?.and_then(|record| record.outcome.digest());
        if let Outcome::Failed { cause: FailureCause::Trace, reason } = &record.outcome {
            return Err(RunError::Host(format!("{}: {reason}", cell.factors)));
        }
        if recorded != record.outcome.digest() {
            traces.folder.remove(record.id)?;
            return Err(RunError::Different(record.id));
        }
        on_event(Event::Finished { factors: cell.factors, record: &record, wall });
        Ok::<_, RunError>(())
    })?;
    if cancel.is_cancelled() { Err(RunError::Cancelled) } else { Ok(()) }
}
