//! From an experiment to its recording.

use std::{path::PathBuf, time::Duration};

use preemptlab_durable::OutFolder;
use preemptlab_experiment::{Experiment, RecordingWriter};
use preemptlab_files::Folders;
use preemptlab_lab::{Kernels, Preparation, Prepared, check_host, finished_cells};
use preemptlab_model::{BackendKind, CellInputs, counted};
use preemptlab_recording::{Claim, Override, TraceFolder};
use preemptlab_runner::{Backend, Kept, Options, Order, Summary, Traces};

use crate::{
    args::{Machines, Packages},
    exit, lab,
    output::Output,
    progress::Progress,
    spread::{OnEngine, Spread},
};

/// An experiment, where its recording is, and with what its cells are executed.
pub struct Session<'a> {
    /// The experiment.
    pub experiment: Experiment,
    /// The folders of its workloads.
    pub folders: Folders,
    /// What the experiment's file says otherwise.
    pub overrides: Vec<Override>,
    /// The recording's folder.
    pub out: &'a OutFolder,
    /// The store that was named.
    pub store: Option<PathBuf>,
    /// Virtual machines.
    pub machines: &'a Machines,
    /// Packages.
    pub packages: &'a Packages,
    /// The backend that executes cells.
    pub backend: BackendKind,
    /// Executes cells even if the cache has their results.
    pub no_cache: bool,
    /// Executes failed cells again.
    pub retry_failed: bool,
    /// Keeps what kernels do, besides what it tells of every instant.
    pub trace: bool,
    /// The engine that executes the cells elsewhere.
    pub engine: Option<OnEngine<'a>>,
}

/// Executes the planned cells that a recording lacks, and tells the host time that a cell takes.
pub type Execute<'a> = dyn FnMut(&RecordingWriter) -> exit::Result<(Summary, Duration)> + 'a;

impl Session<'_> {
    /// Goes on with the recording, or begins it, with everything at hand that its cells need.
    pub fn prepare(&self, output: &Output) -> exit::Result<(Prepared, RecordingWriter)> {
        if self.backend == BackendKind::Host {
            // Before anything is brought here in vain.
            check_host(&self.experiment)?;
        }
        let store = lab::store(self.store.clone())?;
        if self.trace && !self.backend.is_vm() {
            let message = "only virtual time can be traced: leave --trace or --backend out";
            return Err(exit::unusable(message));
        }
        lab::cancel()?;
        // Before anything is brought here in vain, too.
        let claim = Claim::new(self.out)?;
        let prepared = lab::with_provision(store, self.packages, output, |provision| {
            let lab = Preparation::new(
                provision.with_build_scripts(self.machines.allow_build_scripts),
                self.machines.qemu.clone(),
            )
            .on(self.backend);
            let lab = lab.with_folders(&self.folders).overridden(&self.overrides);
            Ok(lab.begin_or_go_on(self.experiment.clone(), &self.out.path())?)
        });
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(failure) => {
                claim.abandon();
                return Err(failure);
            }
        };
        let mut writer = claim.open(&prepared.manifest)?;
        writer.keep(&self.folders)?;
        Ok((prepared, writer))
    }

    /// Makes the recording ready for the engine that was asked for; `None` for this machine.
    fn spread<'b>(
        &'b self,
        prepared: &'b Prepared,
        writer: &RecordingWriter,
        output: &'b Output,
    ) -> exit::Result<Option<Spread<'b>>> {
        let wanted = self.engine.as_ref();
        wanted.map(|wanted| Spread::begin(wanted, prepared, writer, output)).transpose()
    }

    /// Submits the cells to the engine, and leaves them to it.
    pub fn submit(&self, output: &Output) -> exit::Result<()> {
        let (prepared, writer) = self.prepare(output)?;
        match self.spread(&prepared, &writer, output)? {
            Some(spread) => spread.submit(&writer),
            None => Ok(()),
        }
    }

    /// Goes on with the recording, or begins it, and hands it to `work` together with the number
    /// of virtual machines at a time and what executes cells.
    pub fn open<T>(
        self,
        output: &Output,
        work: impl FnOnce(&mut RecordingWriter, usize, &mut Execute<'_>) -> exit::Result<T>,
    ) -> exit::Result<T> {
        let (prepared, mut writer) = self.prepare(output)?;
        if let Some(spread) = self.spread(&prepared, &writer, output)? {
            let result = work(&mut writer, spread.jobs(), &mut |writer| spread.execute(writer))?;
            spread.end()?;
            return Ok(result);
        }
        let cancel = lab::cancel()?;
        let is_vm = self.backend.is_vm();
        // What a cell comes to in the machine's own time is no function of its inputs.
        let cache = (is_vm && !self.no_cache).then(|| finished_cells(prepared.store()));
        // Cells that share a machine in its own time would measure each other.
        let jobs = if is_vm { lab::jobs(self.machines.jobs) } else { 1 };
        let backend = {
            let planned = writer.recording().planned();
            let cells: Vec<&CellInputs> = planned.filter_map(|(_, cell)| cell.inputs()).collect();
            prepared.backend(&cells)?
        };
        let backend = backend.as_ref();
        let folder = writer.recording().traces();
        let scratch = scratch(&prepared);
        let kernels = Kernels::new(&prepared, backend, self.trace.then_some(&folder));
        let kernel = |cell: &CellInputs| kernels.of_cell(cell, &cancel);
        let kept = if self.trace { Kept::Stream } else { Kept::Findings(&scratch) };
        // Only virtual time knows every instant.
        let traces = is_vm.then_some(Traces { folder: &folder, kernel: &kernel, kept });
        if is_vm {
            folder.create()?;
            scratch.create()?;
        }
        let seed = prepared.manifest.experiment.replicates.seed;
        let order = if is_vm { Order::Planned } else { Order::Interleaved(seed) };
        let options =
            Options { jobs, cache, retry_failed: self.retry_failed, traces, order, only: None };
        let mut execute = |writer: &RecordingWriter| {
            let progress = Progress::new(&prepared, self.trace, jobs);
            let on_event = |event: preemptlab_runner::Event<'_>| progress.on_event(&event);
            let result = preemptlab_runner::run(writer, backend, &options, &on_event, &cancel);
            progress.finish();
            tell_boots(writer, backend, output);
            Ok((result?, progress.cell_wall()))
        };
        work(&mut writer, jobs, &mut execute)
    }
}

/// Returns the folder in which streams grow that are not kept: on the disk of the store, where a recording may be on
/// one of the network.
pub fn scratch(prepared: &Prepared) -> TraceFolder {
    TraceFolder::new(prepared.store().layouts())
}

/// Says what has to be booted for the cells that are left.
fn tell_boots(writer: &RecordingWriter, backend: &dyn Backend, output: &Output) {
    let boots = preemptlab_runner::boots_waiting(writer, backend);
    for (needed, count) in &boots {
        let wait = if *count == 1 { "waits" } else { "wait" };
        output.note(format!("{} {wait} for a boot with {needed}", counted(*count, "cell")));
    }
    if !boots.is_empty() {
        output.note("after that boot the same command goes on from here");
    }
}
