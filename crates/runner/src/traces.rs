//! Cells with a trace.

use std::{
    fs::File,
    io::{BufReader, Seek},
    path::Path,
    sync::Arc,
};

use preemptlab_model::{CellInputs, FailureCause, Outcome, PreemptMode};
use preemptlab_protocol::Report;
use preemptlab_recording::TraceFolder;
use preemptlab_trace::{Kernel, Opportunities, Target, Window, findings};

use crate::{Backend, Cancel, Execution, RunError, Stop, Tracing};

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
        let probe = target(cell);
        let findings = findings(
            BufReader::new(&traced.stream),
            &traced.kernel,
            probe.as_ref().map_or(Target { comm: "", is_realtime: true }, |comm| Target {
                comm,
                is_realtime: true,
            }),
            opportunities(cell, report),
            window(report),
        )
        .map_err(|error| RunError::Host(error.to_string()))?;
        Ok(self.folder.put(cell.id(), &mut traced.stream, &findings)?)
    }
}

/// The name that the kernel gives the program that a cell measures wakeups with: cyclictest where
/// that is one of the probes, else the first. Probes start under a policy of the guest's choice and
/// set their own: which one is meant, its priority tells.
pub fn target(cell: &CellInputs) -> Option<String> {
    /// `TASK_COMM_LEN` without the NUL.
    const COMM_CHARS_MAX: usize = 15;
    let mut programs = cell.job.probes.iter().filter_map(|probe| probe.argv.first());
    let program = programs
        .clone()
        .find(|program| program.ends_with("/cyclictest"))
        .or_else(|| programs.next())?;
    let name = Path::new(program).file_name()?.to_string_lossy();
    Some(name.chars().take(COMM_CHARS_MAX).collect())
}

/// Where the scheduler may switch in a cell. PREEMPT_RT's own modes differ for fair tasks only, and
/// so does lazy; before 6.12 the kernel did not tell.
pub fn opportunities(cell: &CellInputs, report: &Report) -> Opportunities {
    let preempt: Option<PreemptMode> = cell.job.preempt.parse().ok();
    match preempt {
        Some(PreemptMode::None | PreemptMode::Voluntary) if !report.system.realtime => {
            Opportunities::Voluntary
        }
        _ => Opportunities::Everywhere,
    }
}

/// The window in which the probes ran.
pub fn window(report: &Report) -> Window {
    Window { start_ns: report.window.start_ns, end_ns: report.window.end_ns }
}
