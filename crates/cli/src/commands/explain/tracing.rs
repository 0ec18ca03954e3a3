//! Cells that have to be executed again to be explained.

use std::{
    collections::BTreeSet,
    fs::File,
    io::Seek,
    path::{Path, PathBuf},
};

use preemptlab_analysis::{available::only_virtual, explain::Chosen};
use preemptlab_experiment::{Derived, Recording};
use preemptlab_lab::{Kernels, Prepared};
use preemptlab_model::CellInputs;
use preemptlab_protocol::trace::TraceProgram;
use preemptlab_recording::RecordingError;
use preemptlab_runner::{Backend, Cancel, Kept, RunError, Traces, Tracing as Request};

use crate::{
    args::{Machines, Packages},
    exit::{self, OrExit},
    lab,
    output::Output,
    progress::Progress,
};

/// A recording, and the means to trace its cells.
pub struct Tracing<'a> {
    /// The recording.
    pub recording: &'a Recording,
    /// The folder of the recording.
    pub path: &'a Path,
    /// Settings of virtual machines.
    pub machines: &'a Machines,
    /// The source of packages.
    pub packages: &'a Packages,
    /// The store that was named.
    pub store: Option<PathBuf>,
    /// The stream for progress.
    pub output: &'a Output,
}

impl Tracing<'_> {
    /// Makes sure that cells have traces; those that have none are executed again.
    pub fn ensure(&self, cells: &[&Chosen]) -> exit::Result<()> {
        let folder = self.recording.explained();
        // A trace without the layout of its kernel cannot be read.
        let is_traced = |cell: &&&Chosen| {
            folder.contains(cell.id) && folder.has_layout(cell.inputs.snapshot.id())
        };
        let missing: BTreeSet<_> =
            cells.iter().filter(|cell| !is_traced(cell)).map(|cell| cell.id).collect();
        if missing.is_empty() {
            return Ok(());
        }
        only_virtual(self.recording, "can be traced")?;
        let again = cells.iter().filter(|cell| missing.contains(&cell.id));
        again.map(|cell| &cell.inputs).try_for_each(check_clocks)?;
        // Before anything is fetched or executed in vain.
        folder.create().and_then(|()| folder.scratch()).map_err(|error| self.unwritable(error))?;
        let cancel = lab::cancel()?;
        let recording = self.derived()?;
        let prepared = self.prepare(recording)?;
        let vm = prepared.vm();
        let kernels = Kernels::new(&prepared, &vm, Some(&folder));
        let kernel = |cell: &CellInputs| kernels.of_cell(cell, &cancel);
        let traces = Traces { folder: &folder, kernel: &kernel, kept: Kept::Stream };
        let jobs = lab::jobs(self.machines.jobs);
        let progress = Progress::new(&prepared, true, jobs);
        let traced = preemptlab_runner::trace(
            recording,
            &missing,
            &vm,
            traces,
            jobs,
            &|event| progress.on_event(&event),
            &cancel,
        );
        progress.finish();
        traced.map_err(exit::Failure::from)
    }

    /// Executes a cell with a program of its own, and returns the stream.
    pub fn execute(&self, cell: &CellInputs, program: &TraceProgram) -> exit::Result<File> {
        check_clocks(cell)?;
        let executor = self.executor()?;
        executor.prepare(cell)?;
        self.output.note("executing the cell again");
        executor.execute(cell, program)
    }

    /// Brings everything here that cells need to be executed again, with programs of their own.
    pub fn executor(&self) -> exit::Result<Executor<'_>> {
        let cancel = lab::cancel()?;
        let vm = Box::new(self.prepare(self.derived()?)?.vm());
        Ok(Executor { recording: self.recording, vm, cancel })
    }

    fn unwritable(&self, error: RecordingError) -> exit::Failure {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        match &error {
            RecordingError::Io { error: reason, .. }
                if matches!(reason.kind(), PermissionDenied | ReadOnlyFilesystem) =>
            {
                let path = self.path.display();
                exit::host(format!(
                    "the cell has no trace yet, and {path} cannot be written to ({reason}); \
                         copy the recording to where you may write (`cp -r {path} COPY`) and \
                         explain the copy"
                ))
            }
            _ => exit::Failure::from(error),
        }
    }

    /// Returns the recording to execute: checked before anything is asked for in its name.
    fn derived(&self) -> exit::Result<Derived<'_>> {
        Derived::check(self.recording).or_exit(exit::UNUSABLE)
    }

    fn prepare(&self, recording: Derived<'_>) -> exit::Result<Prepared> {
        lab::pinned(recording, self.store.clone(), self.packages, self.machines, self.output)
    }
}

/// Refuses a cell that an earlier preemptlab recorded and this one does not execute, before anything
/// is fetched for it.
fn check_clocks(cell: &CellInputs) -> exit::Result<()> {
    let refused = |error| exit::unusable(format!("cell {} cannot be traced: {error}", cell.id()));
    cell.snapshot.check_clocks().map_err(refused)
}

/// Executes cells of a recording again. What they say is not kept.
pub struct Executor<'a> {
    recording: &'a Recording,
    vm: Box<dyn Backend>,
    cancel: Cancel,
}

impl Executor<'_> {
    /// Boots a cell's machine, unless its snapshot is there. It comes before the cell's first execution.
    pub fn prepare(&self, cell: &CellInputs) -> exit::Result<()> {
        check_clocks(cell)?;
        self.vm.prepare(&cell.snapshot, &self.cancel).map_err(RunError::from)?;
        Ok(())
    }

    /// Executes a cell with a program of its own, and returns the stream.
    pub fn execute(&self, cell: &CellInputs, program: &TraceProgram) -> exit::Result<File> {
        // What is shown and not kept needs no recording that can be written to.
        let mut stream = match self.recording.explained().scratch() {
            Ok(stream) => stream,
            Err(_) => tempfile::tempfile().or_exit(exit::HOST)?,
        };
        let request = Request { program, out: &stream };
        self.vm.execute(cell, Some(request), &self.cancel).map_err(RunError::from)?;
        stream.rewind().or_exit(exit::HOST)?;
        Ok(stream)
    }
}
