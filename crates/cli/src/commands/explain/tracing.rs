//! Cells that have to be executed again to be explained.

use std::{collections::BTreeSet, fs::File, io::Seek, path::PathBuf};

use preemptlab_backend::{Backend, Cancel, Tracing as Request};
use preemptlab_lab::{Kernels, Lab, Prepared};
use preemptlab_model::CellInputs;
use preemptlab_protocol::trace::TraceProgram;
use preemptlab_recording::Recording;
use preemptlab_runner::{RunError, Traces};
use preemptlab_trace::Kernel;

use super::choice::Chosen;
use crate::{
    args::Explain,
    commands::{
        plan,
        run::{kernel_of, recording_failure, run_failure},
    },
    exit::{self, OrExit},
    lab,
    output::Output,
    progress::Progress,
};

/// What it takes to trace cells of a recording.
pub struct Tracing<'a> {
    /// The recording.
    pub recording: &'a Recording,
    /// The command line.
    pub args: &'a Explain,
    /// The store that was named.
    pub store: Option<PathBuf>,
    /// Where to say what is done.
    pub output: &'a Output,
}

impl Tracing<'_> {
    /// Makes sure that cells have traces; those that have none are executed again.
    pub fn ensure(&self, cells: &[&Chosen]) -> exit::Result<()> {
        let folder = self.recording.traces();
        let missing: BTreeSet<_> =
            cells.iter().map(|cell| cell.id).filter(|id| !folder.contains(*id)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let cancel = lab::cancel()?;
        let prepared = self.prepare()?;
        let vm = prepared.vm();
        folder.create().map_err(recording_failure)?;
        let kernels = Kernels::new(&prepared, &vm, &folder);
        let kernel = |cell: &CellInputs| kernel_of(&kernels, cell, &cancel);
        let traces = Traces { folder: &folder, kernel: &kernel };
        let jobs = lab::jobs(self.args.machines.jobs);
        let progress = Progress::new(jobs, plan::mean_cell_wall(self.recording.manifest()));
        let traced = preemptlab_runner::trace(
            self.recording,
            &missing,
            &vm,
            traces,
            jobs,
            &|event| progress.on_event(&event),
            &cancel,
        );
        progress.finish();
        traced.map_err(run_failure)
    }

    /// The kernel of a cell that has a trace.
    pub fn kernel(&self, cell: &Chosen) -> exit::Result<Kernel> {
        let kernel = self.recording.traces().kernel(cell.inputs.snapshot.id());
        kernel.map_err(recording_failure)?.ok_or_else(|| {
            exit::failure(
                exit::UNUSABLE,
                "the recording lacks the layout of the cell's kernel; remove its traces/ folder \
                 and run the same command again",
            )
        })
    }

    /// Executes a cell with a program of its own, and returns the stream.
    pub fn execute(&self, cell: &CellInputs, program: &TraceProgram) -> exit::Result<File> {
        let cancel = lab::cancel()?;
        let prepared = self.prepare()?;
        let mut stream = self.recording.traces().scratch().map_err(recording_failure)?;
        self.output.note("executing the cell again");
        let request = Request { program, out: &stream };
        executed(&prepared, cell, request, &cancel).map_err(run_failure)?;
        stream.rewind().or_exit(exit::HOST)?;
        Ok(stream)
    }

    fn prepare(&self) -> exit::Result<Prepared> {
        let store = lab::store(self.store.clone())?;
        lab::with_provision(store, &self.args.packages, self.output, |provision| {
            let lab = Lab::new(provision, self.args.machines.qemu.clone());
            lab.pin(self.recording.manifest().clone()).or_exit(exit::HOST)
        })
    }
}

fn executed(
    prepared: &Prepared,
    cell: &CellInputs,
    request: Request<'_>,
    cancel: &Cancel,
) -> Result<(), RunError> {
    let vm = prepared.vm();
    vm.prepare(&cell.snapshot, cancel)?;
    vm.execute(cell, Some(request), cancel)?;
    Ok(())
}
