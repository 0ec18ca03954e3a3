//! Cells that have to be executed again to be explained.

use std::{collections::BTreeSet, fs::File, io::Seek};

use preemptlab_analysis::{available::only_virtual, explain::Chosen};
use preemptlab_experiment::{Derived, Recording};
use preemptlab_model::CellInputs;
use preemptlab_protocol::trace::TraceProgram;
use preemptlab_recording::RecordingError;
use preemptlab_runner::{Backend, Cancel, Kept, RunError, Traces, Tracing as Request};

use crate::{Blame, Error, Kernels, Lab, OrBlame, Result, meter::Meter};

/// A recording, and the means to trace its cells.
#[derive(Clone, Copy)]
pub struct Tracing<'a> {
    /// The lab that executes them.
    pub lab: &'a Lab<'a>,
    /// The recording.
    pub recording: &'a Recording,
}

impl Tracing<'_> {
    /// Makes sure that cells have traces; those that have none are executed again.
    ///
    /// # Errors
    ///
    /// When the recording cannot be written to, something that the cells need is unavailable now, or the
    /// machine or the user ends it.
    pub fn ensure(&self, cells: &[&Chosen]) -> Result<()> {
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
        // Before anything is downloaded or executed.
        folder.create().and_then(|()| folder.scratch()).map_err(|error| self.unwritable(error))?;
        let cancel = self.lab.watch.cancel()?;
        let recording = self.derived()?;
        let prepared = self.lab.pinned(recording)?;
        let vm = prepared.vm();
        let kernels = Kernels::new(&prepared, &vm, Some(&folder));
        let kernel = |cell: &CellInputs| kernels.of_cell(cell, &cancel);
        let traces = Traces { folder: &folder, kernel: &kernel, kept: Kept::Stream };
        let jobs = self.lab.jobs();
        let meter = Meter::new(self.lab.watch, &prepared, true, jobs);
        let traced = preemptlab_runner::trace(
            recording,
            &missing,
            &vm,
            traces,
            jobs,
            &|event| meter.on_event(&event),
            &cancel,
        );
        meter.finish();
        traced.map_err(Error::from)
    }

    /// Executes a cell with a program of its own, and returns the stream.
    ///
    /// # Errors
    ///
    /// When the cell cannot be executed to its end, or its stream not be kept.
    pub fn execute(&self, cell: &CellInputs, program: &TraceProgram) -> Result<File> {
        check_clocks(cell)?;
        let executor = self.executor()?;
        executor.prepare(cell)?;
        self.lab.note("executing the cell again");
        executor.execute(cell, program)
    }

    /// Brings everything here that cells need to be executed again, with programs of their own.
    ///
    /// # Errors
    ///
    /// When something of it is unavailable now.
    pub fn executor(&self) -> Result<Executor<'_>> {
        let cancel = self.lab.watch.cancel()?;
        let vm = Box::new(self.lab.pinned(self.derived()?)?.vm());
        Ok(Executor { recording: self.recording, vm, cancel })
    }

    fn unwritable(&self, error: RecordingError) -> Error {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        match &error {
            RecordingError::Io { error: reason, .. }
                if matches!(reason.kind(), PermissionDenied | ReadOnlyFilesystem) =>
            {
                let path = self.recording.path().display();
                Error::machine(format!(
                    "the cell has no trace yet, and {path} cannot be written to ({reason}); \
                         copy the recording to where you may write (`cp -r {path} COPY`) and \
                         explain the copy"
                ))
            }
            _ => Error::from(error),
        }
    }

    /// Returns the recording to execute: checked before anything is asked for in its name.
    fn derived(&self) -> Result<Derived<'_>> {
        Derived::check(self.recording).or_blame(Blame::User)
    }
}

/// Refuses a cell that an earlier preemptlab recorded and this one does not execute, before anything
/// is fetched for it.
fn check_clocks(cell: &CellInputs) -> Result<()> {
    let refused = |error| Error::user(format!("cell {} cannot be traced: {error}", cell.id()));
    cell.snapshot.check_clocks().map_err(refused)
}

/// Executes cells of a recording again, and does not keep their results.
pub struct Executor<'a> {
    recording: &'a Recording,
    vm: Box<dyn Backend>,
    cancel: Cancel,
}

impl Executor<'_> {
    /// Boots a cell's machine, unless its snapshot is there. It comes before the cell's first execution.
    ///
    /// # Errors
    ///
    /// When it does not boot.
    pub fn prepare(&self, cell: &CellInputs) -> Result<()> {
        check_clocks(cell)?;
        self.vm.prepare(&cell.snapshot, &self.cancel).map_err(RunError::from)?;
        Ok(())
    }

    /// Executes a cell with a program of its own, and returns the stream.
    ///
    /// # Errors
    ///
    /// When the cell cannot be executed to its end, or its stream not be kept.
    pub fn execute(&self, cell: &CellInputs, program: &TraceProgram) -> Result<File> {
        // A stream that is not kept needs no writable recording.
        let mut stream = match self.recording.explained().scratch() {
            Ok(stream) => stream,
            Err(_) => tempfile::tempfile().or_blame(Blame::Machine)?,
        };
        let request = Request { program, out: &stream };
        self.vm.execute(cell, Some(request), &self.cancel).map_err(RunError::from)?;
        stream.rewind().or_blame(Blame::Machine)?;
        Ok(stream)
    }
}
