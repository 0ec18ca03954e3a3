//! From an experiment to its recording.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use preemptlab_experiment::{Derived, Experiment, Recording, RecordingWriter};
use preemptlab_files::Folders;
use preemptlab_model::{BackendKind, CellInputs, KernelRef, Setting, Settings, settable};
use preemptlab_preparation::{Kernels, Lab, LabError, Prepared};
use preemptlab_recording::{CellFolder, Claim, RecordingError};
use preemptlab_runner::{Backend, Cancel, Stop};
use preemptlab_runner::{Options, Order, RunError, Summary, Traces, Untraceable};
use preemptlab_trace::Kernel;

use crate::{
    args::{Machines, Packages},
    commands::plan,
    exit::{self, OrExit},
    lab,
    output::Output,
    progress::Progress,
};

/// An experiment, where its recording is, and with what its cells are executed.
pub struct Session<'a> {
    /// The experiment.
    pub experiment: Experiment,
    /// The folders of its workloads.
    pub folders: Folders,
    /// The recording's folder.
    pub out: &'a Path,
    /// The store that was named.
    pub store: Option<PathBuf>,
    /// Virtual machines.
    pub machines: &'a Machines,
    /// Packages.
    pub packages: &'a Packages,
    /// What executes cells.
    pub backend: BackendKind,
    /// Whether cells are executed whatever was executed before.
    pub no_cache: bool,
    /// Whether failed cells are executed again.
    pub retry_failed: bool,
    /// Whether what kernels do is recorded.
    pub trace: bool,
}

/// Executes the planned cells that a recording lacks, and tells the host time that a cell takes.
pub type Execute<'a> = dyn FnMut(&RecordingWriter) -> exit::Result<(Summary, Duration)> + 'a;

impl Session<'_> {
    /// Goes on with the recording, or begins it, and hands it to `work` together with the number
    /// of virtual machines at a time and what executes cells.
    pub fn open<T>(
        self,
        output: &Output,
        work: impl FnOnce(&mut RecordingWriter, usize, &mut Execute<'_>) -> exit::Result<T>,
    ) -> exit::Result<T> {
        if self.backend == BackendKind::Host {
            refuse_unsettable(&self.experiment)?;
            // Before anything is brought here in vain.
            preemptlab_backend_host::check().or_exit(exit::HOST)?;
        }
        let store = lab::store(self.store)?;
        let is_vm = self.backend.is_vm();
        // What a cell comes to in the machine's own time is no function of its inputs.
        let cache = (is_vm && !self.no_cache).then(|| CellFolder::of_store(store.cells()));
        if self.trace && !is_vm {
            let message = "only virtual time can be traced: leave --trace or --backend out";
            return Err(exit::failure(exit::UNUSABLE, message));
        }
        let cancel = lab::cancel()?;
        // Before anything is brought here in vain, too.
        let claim = Claim::new(self.out).map_err(recording_failure)?;
        let prepared = lab::with_provision(store, self.packages, output, |provision| {
            let lab = Lab::new(
                provision.with_build_scripts(self.machines.allow_build_scripts),
                self.machines.qemu.clone(),
            )
            .on(self.backend);
            let experiment = with_running_kernel(self.experiment, self.backend);
            prepare(&lab.with_folders(&self.folders), experiment, self.backend, self.out)
        });
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(failure) => {
                claim.abandon();
                return Err(failure);
            }
        };
        let mut writer = claim.open(&prepared.manifest).map_err(recording_failure)?;
        writer.keep(&self.folders).map_err(recording_failure)?;
        // Cells that share a machine in its own time would measure each other.
        let jobs = if is_vm { lab::jobs(self.machines.jobs) } else { 1 };
        let backend = {
            let planned = writer.recording().planned();
            let cells: Vec<&CellInputs> = planned.filter_map(|(_, cell)| cell.inputs()).collect();
            prepared.backend(&cells).map_err(lab::failure)?
        };
        let backend = backend.as_ref();
        let folder = writer.recording().traces();
        let kernels = Kernels::new(&prepared, backend, &folder);
        let kernel = |cell: &CellInputs| kernel_of(&kernels, cell, &cancel);
        if self.trace {
            folder.create().map_err(recording_failure)?;
        }
        let traces = self.trace.then_some(Traces { folder: &folder, kernel: &kernel });
        let seed = prepared.manifest.experiment.replicates.seed;
        let order = if is_vm { Order::Planned } else { Order::Interleaved(seed) };
        let options = Options { jobs, cache, retry_failed: self.retry_failed, traces, order };
        let mut cell_wall = plan::mean_cell_wall(&prepared.manifest);
        let mut execute = |writer: &RecordingWriter| {
            let progress = Progress::new(jobs, cell_wall);
            let on_event = |event: preemptlab_runner::Event<'_>| progress.on_event(&event);
            let result = preemptlab_runner::run(writer, backend, &options, &on_event, &cancel);
            progress.finish();
            tell_boots(writer, backend, output);
            cell_wall = progress.cell_wall();
            Ok((result.map_err(run_failure)?, cell_wall))
        };
        work(&mut writer, jobs, &mut execute)
    }
}

/// The kernel of a cell, ready to be traced.
pub fn kernel_of(
    kernels: &Kernels<'_>,
    cell: &CellInputs,
    cancel: &Cancel,
) -> Result<Arc<Kernel>, Untraceable> {
    kernels.get(cell, cancel).map_err(|error| match error {
        LabError::Stopped(Stop::Cancelled) => Untraceable::Run(RunError::Cancelled),
        LabError::Stopped(Stop::Host { reason }) => Untraceable::Run(RunError::Host(reason)),
        LabError::Recording(error) => Untraceable::Run(RunError::Recording(error)),
        error => Untraceable::Kernel(error.to_string()),
    })
}

/// Says what has to be booted for the cells that are left.
fn tell_boots(writer: &RecordingWriter, backend: &dyn Backend, output: &Output) {
    let mut boots = BTreeMap::<String, usize>::new();
    for (_, planned) in writer.recording().planned() {
        let Some(cell) = planned.inputs() else { continue };
        if let Some(needed) = backend.boot_needed(cell)
            && !writer.cells().contains(cell.id())
        {
            *boots.entry(needed).or_default() += 1;
        }
    }
    for (needed, count) in &boots {
        output.note(format!("{count} cells wait for a boot with {needed}"));
    }
    if !boots.is_empty() {
        output.note("after that boot the same command goes on from here");
    }
}

/// The kernel `host` by its release: a recording is of that, whatever is booted later.
fn with_running_kernel(mut experiment: Experiment, backend: BackendKind) -> Experiment {
    for kernel in &mut experiment.factors.kernel {
        if let KernelRef::Host { release: release @ None } = kernel
            && backend == BackendKind::Host
        {
            *release = Some(preemptlab_host::release());
        }
    }
    experiment
}

/// Refuses an experiment that would tell the machine what no stranger may tell it. A kernel parameter
/// takes a boot, which is another's to prepare.
fn refuse_unsettable(experiment: &Experiment) -> exit::Result<()> {
    let levels = experiment.factors.settings.iter();
    let mut run_time = levels
        .flat_map(Settings::iter)
        .filter(|setting| !matches!(setting, Setting::Parameter { .. }));
    run_time.try_for_each(settable).or_exit(exit::UNUSABLE)
}

/// Goes on with the recording in `out` exactly as it was begun, or begins one.
fn prepare(
    lab: &Lab<'_>,
    experiment: Experiment,
    backend: BackendKind,
    out: &Path,
) -> exit::Result<Prepared> {
    if !preemptlab_recording::exists(out) {
        return lab.resolve(experiment).map_err(lab::failure);
    }
    let recording = Recording::open(out).map_err(recording_failure)?;
    let manifest = recording.manifest();
    if manifest.backend != backend {
        let (path, what) = (out.to_owned(), format!("made with --backend {}", manifest.backend));
        return Err(recording_failure(RecordingError::Other { path, what }));
    }
    if manifest.experiment != experiment {
        let mut of_its_kernel = experiment.clone();
        of_its_kernel.factors.kernel.clone_from(&manifest.experiment.factors.kernel);
        let what = if manifest.experiment == of_its_kernel {
            let names = manifest.experiment.factors.kernel.iter().map(ToString::to_string);
            format!("on {}", names.collect::<Vec<_>>().join(", "))
        } else if manifest.experiment.name == experiment.name {
            "the file was changed since".to_owned()
        } else {
            format!("`{}`", manifest.experiment.name)
        };
        let path = out.to_owned();
        return Err(recording_failure(RecordingError::Other { path, what }));
    }
    // Before anything is asked for in its name.
    let recording = Derived::check(&recording).or_exit(exit::UNUSABLE)?;
    lab.go_on(recording).map_err(lab::failure)
}

/// Refuses a recording in the machine's own time for what only virtual time can do.
pub fn only_virtual(recording: &Recording, can: &str) -> exit::Result<()> {
    let backend = recording.manifest().backend;
    if backend.is_vm() {
        return Ok(());
    }
    let path = recording.path().display();
    let message = format!("{path} was made with --backend {backend}, and only virtual time {can}");
    Err(exit::failure(exit::UNUSABLE, message))
}

/// A disk that is full is the machine's fault, a folder of something else the user's.
pub fn recording_failure(error: RecordingError) -> exit::Failure {
    let code = match error {
        RecordingError::Io { .. } | RecordingError::Busy { .. } => exit::HOST,
        _ => exit::UNUSABLE,
    };
    exit::Failure { code, report: miette::Report::from_err(error) }
}

/// Why a run ended early.
pub fn run_failure(error: RunError) -> exit::Failure {
    match error {
        RunError::Recording(error) => recording_failure(error),
        RunError::NotOfExperiment(_) => exit::failure(exit::UNUSABLE, error),
        RunError::Cancelled => exit::failure(exit::INTERRUPTED, error),
        RunError::Host(_) | RunError::Different(_) => exit::failure(exit::HOST, error),
    }
}
