use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use preemptlab_backend::{Cancel, Stop};
use preemptlab_lab::{Kernels, Lab, LabError, Prepared};
use preemptlab_model::CellInputs;
use preemptlab_recording::{CellFolder, Recording, RecordingError, RecordingWriter};
use preemptlab_report::View;
use preemptlab_runner::{Options, RunError, Summary, Traces};
use preemptlab_spec::Experiment;
use preemptlab_stats::Margin;
use preemptlab_trace::Kernel;

use crate::{
    args::Run,
    commands::{compare, plan, until},
    exit::{self, OrExit},
    lab,
    output::Output,
    progress::Progress,
};

/// Runs an experiment, or goes on with it, and compares.
pub fn execute(args: &Run, store: Option<PathBuf>, output: &Output) -> exit::Result<ExitCode> {
    let (experiment, folders) = lab::experiment(&args.experiment)?;
    let out = args.out.clone().unwrap_or_else(|| Path::new("runs").join(&experiment.name));
    let store = lab::store(store)?;
    let cache = (!args.no_cache).then(|| CellFolder::new(store.cells()));
    let cancel = lab::cancel()?;

    let prepared = lab::with_provision(store, &args.packages, output, |provision| {
        let lab = Lab::new(provision, args.machines.qemu.clone());
        prepare(&lab.with_folders(&folders), experiment, &out)
    })?;
    let mut writer = RecordingWriter::open(&out, &prepared.manifest).map_err(recording_failure)?;
    writer.keep(&folders).map_err(recording_failure)?;
    let jobs = lab::jobs(args.machines.jobs);
    let vm = prepared.vm();
    let folder = writer.recording().traces();
    let kernels = Kernels::new(&prepared, &vm, &folder);
    let kernel = |cell: &CellInputs| kernel_of(&kernels, cell, &cancel);
    let traces = Traces { folder: &folder, kernel: &kernel };
    if args.trace {
        folder.create().map_err(recording_failure)?;
    }
    let traces = args.trace.then_some(traces);
    let options = Options { jobs, cache, retry_failed: args.retry_failed, traces };
    let mut cell_wall = plan::mean_cell_wall(&prepared.manifest);
    let mut run = |writer: &RecordingWriter| {
        let progress = Progress::new(jobs, cell_wall);
        let on_event = |event: preemptlab_runner::Event<'_>| progress.on_event(&event);
        let result = preemptlab_runner::run(writer, &vm, &options, &on_event, &cancel);
        progress.finish();
        cell_wall = progress.cell_wall();
        Ok((result.map_err(run_failure)?, cell_wall))
    };
    let summary = match args.until {
        Some(margin) => until::execute(margin, args, &mut writer, jobs, output, &mut run)?,
        None => run(&writer)?.0,
    };

    let until = writer.recording().until();
    let margin = until.and_then(|until| Margin::new(until.margin)).unwrap_or_default();
    let before = until.and_then(|until| until.baseline.as_deref());
    let before = before.map(str::parse).transpose().or_exit(exit::UNUSABLE)?;
    let baseline = args.baseline.clone().or(before);
    let comparison = compare::comparison(&[writer.recording()], baseline.as_ref(), margin)?;
    output.data(&preemptlab_report::terminal(&comparison, View::Overview, output.terminal()))?;
    conclude(summary, args, &out, output)
}

/// The kernel of a cell, ready to be traced.
pub fn kernel_of(
    kernels: &Kernels<'_>,
    cell: &CellInputs,
    cancel: &Cancel,
) -> Result<Arc<Kernel>, RunError> {
    kernels.get(cell, cancel).map_err(|error| match error {
        LabError::Stopped(Stop::Cancelled) => RunError::Cancelled,
        LabError::Recording(error) => RunError::Recording(error),
        error => RunError::Host(error.to_string()),
    })
}

/// Goes on with the recording in `out` exactly as it was begun, or begins one.
fn prepare(lab: &Lab<'_>, experiment: Experiment, out: &Path) -> exit::Result<Prepared> {
    if !Recording::exists(out) {
        return lab.resolve(experiment).map_err(lab::failure);
    }
    let manifest = Recording::open(out).map_err(recording_failure)?.manifest().clone();
    if manifest.experiment != experiment {
        let what = if manifest.experiment.name == experiment.name {
            "the file was changed since".to_owned()
        } else {
            format!("`{}`", manifest.experiment.name)
        };
        let path = out.to_owned();
        return Err(recording_failure(RecordingError::Other { path, what }));
    }
    lab.pin(manifest).map_err(lab::failure)
}

fn conclude(summary: Summary, args: &Run, out: &Path, output: &Output) -> exit::Result<ExitCode> {
    let Summary { completed, failed, unavailable } = summary;
    output.note(format!(
        "{completed} cells completed, {failed} failed, {unavailable} unavailable: {}/",
        out.display()
    ));
    output.note(format!("  {}    what was run", out.join("recording.json").display()));
    output.note(format!("  {}    one file a cell", out.join("cells/").display()));
    if args.trace {
        output.note(format!("  {}    what their kernels did", out.join("traces/").display()));
        output.note(format!("next: preemptlab explain {0}", out.display()));
    }
    output.note(format!(
        "next: preemptlab compare {0} --all, preemptlab report {0}, preemptlab verify {0} --cells 3",
        out.display()
    ));
    Ok(ExitCode::from(if failed > 0 { exit::CELLS_FAILED } else { exit::OK }))
}

/// A disk that is full is the machine's fault, a folder of something else the user's.
pub fn recording_failure(error: RecordingError) -> exit::Failure {
    let code = match error {
        RecordingError::Io { .. } | RecordingError::Busy(_) => exit::HOST,
        _ => exit::UNUSABLE,
    };
    exit::Failure { code, report: miette::Report::from_err(error) }
}

/// Why a run ended early.
pub fn run_failure(error: RunError) -> exit::Failure {
    match error {
        RunError::Recording(error) => recording_failure(error),
        RunError::Cancelled => exit::failure(exit::INTERRUPTED, error),
        RunError::Host(_) | RunError::Different(_) => exit::failure(exit::HOST, error),
    }
}
