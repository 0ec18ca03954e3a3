//! From an experiment to its recording.

use preemptlab_analysis::{Cells, Keep, available, named};
use preemptlab_experiment::RecordingWriter;
use preemptlab_files::OutFolder;
use preemptlab_model::{Arch, BackendKind, CellInputs, counted};
use preemptlab_recording::{Claim, TraceFolder};
use preemptlab_runner::{Backend, Kept, Options, Order, Summary, Traces};
use preemptlab_stats::Baseline;

use crate::{
    Error, Kernels, Lab, OnEngine, Prepared, Result, UntilDecided, Wanted, bench::Bench,
    check_host, finished_cells, looks::looks, meter::Meter, spread::Spread,
};

/// An experiment, the place of its recording, and the executor of its cells.
pub struct Execution<'a> {
    /// The experiment.
    pub wanted: Wanted,
    /// The recording's folder.
    pub out: &'a OutFolder,
    /// The backend that executes cells.
    pub backend: BackendKind,
    /// Executes cells even if the cache has their results.
    pub no_cache: bool,
    /// Executes failed cells again.
    pub retry_failed: bool,
    /// Keeps the traces of kernels, besides their findings about every instant.
    pub trace: bool,
    /// The engine that executes the cells elsewhere.
    pub engine: Option<OnEngine<'a>>,
}

/// A recording whose planned cells were executed. No other process writes to it as long as this lives.
pub struct Executed {
    /// The recording.
    pub writer: RecordingWriter,
    /// The number of its cells by outcome.
    pub summary: Summary,
}

/// A recording whose planned cells were executed and read. No other process writes to it as long as this lives.
pub struct Ran {
    /// The recording.
    pub writer: RecordingWriter,
    /// The number of its cells by outcome.
    pub summary: Summary,
    /// Its cells, with their metrics.
    pub cells: Cells,
}

/// Executes the cells of an experiment that its recording lacks.
///
/// # Errors
///
/// When something that they need is unavailable, the recording is one of something else, or the machine
/// or the user ends it. A failed cell is not an error but a record.
pub fn execute(lab: &Lab<'_>, execution: &Execution<'_>) -> Result<Executed> {
    let (writer, summary) = open(lab, execution, |writer, bench| Ok(bench.execute(writer)?.0))?;
    Ok(Executed { writer, summary })
}

/// Does the same for an experiment whose configurations are compared with a baseline, and adds replicates
/// until the comparisons are decided, where that is asked for.
///
/// # Errors
///
/// Those of [`execute`]; and when nothing is planned of the baseline, or a metric is not one of the
/// experiment's.
pub fn run(
    lab: &Lab<'_>,
    execution: &Execution<'_>,
    baseline: Option<&Baseline>,
    until: Option<&UntilDecided<'_>>,
) -> Result<Ran> {
    let (writer, (summary, cells)) = open(lab, execution, |writer, bench| {
        for note in available::known_before(writer.recording()) {
            lab.note(note);
        }
        if let Some(baseline) = baseline {
            named::check_planned(baseline, writer.recording())?;
        }
        Ok(match until {
            Some(until) => {
                let (summary, compared) = looks(lab, until, until.budget, writer, bench)?;
                (summary, compared.cells)
            }
            None => {
                let (summary, _) = bench.execute(writer)?;
                (summary, Cells::read(&[writer.recording()], Keep::Metrics)?)
            }
        })
    })?;
    Ok(Ran { writer, summary, cells })
}

/// Submits the cells to the engine, and leaves them to it.
///
/// # Errors
///
/// Those of [`execute`].
pub fn submit(lab: &Lab<'_>, execution: &Execution<'_>) -> Result<()> {
    let (prepared, writer) = prepare(lab, execution)?;
    match spread(lab, execution, &prepared, &writer)? {
        Some(spread) => spread.submit(&writer),
        None => Ok(()),
    }
}

/// Continues the recording, or begins it, with everything that its cells need.
pub(crate) fn prepare(
    lab: &Lab<'_>,
    execution: &Execution<'_>,
) -> Result<(Prepared, RecordingWriter)> {
    let Wanted { experiment, folders, overrides } = &execution.wanted;
    if execution.backend == BackendKind::Host {
        // Before anything is downloaded.
        check_host(experiment)?;
    }
    check_arch(execution.backend, experiment.machine.arch)?;
    let store = lab.open_store()?;
    if execution.trace && !execution.backend.is_vm() {
        let message = "only virtual time can be traced: leave --trace or --backend out";
        return Err(Error::user(message));
    }
    // Before anything is downloaded, too.
    let claim = Claim::new(execution.out)?;
    let prepared = lab.provide(store, experiment.machine.arch, |provision| {
        let preparation = lab.preparation(provision).on(execution.backend);
        let preparation = preparation.with_folders(folders).overridden(overrides);
        Ok(preparation.begin_or_go_on(experiment.clone(), &execution.out.path())?)
    });
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            claim.abandon();
            return Err(error);
        }
    };
    let mut writer = claim.open(&prepared.manifest)?;
    writer.keep(folders)?;
    Ok((prepared, writer))
}

/// Refuses guests of another architecture where this machine's own processor executes them.
fn check_arch(backend: BackendKind, guest: Arch) -> Result<()> {
    if backend.is_vm() || guest == Arch::HOST {
        return Ok(());
    }
    let [guest, host] = [guest, Arch::HOST].map(|arch| arch.platform().debian);
    let backend = backend.as_str();
    Err(Error::user(format!(
        "--backend {backend} executes guests of this machine's architecture, {host}, and these are of {guest}: \
         leave --backend out"
    )))
}

/// Makes the recording ready for the engine that was asked for; `None` for this machine.
fn spread<'b>(
    lab: &'b Lab<'b>,
    execution: &'b Execution<'_>,
    prepared: &'b Prepared,
    writer: &RecordingWriter,
) -> Result<Option<Spread<'b>>> {
    let Execution { trace, retry_failed, .. } = *execution;
    let engine = execution.engine.as_ref();
    let begin = |engine| Spread::begin(lab, engine, (trace, retry_failed), prepared, writer);
    engine.map(begin).transpose()
}

/// Continues the recording, or begins it, and hands it to `work` together with the executor of cells.
pub(crate) fn open<T>(
    lab: &Lab<'_>,
    execution: &Execution<'_>,
    work: impl FnOnce(&mut RecordingWriter, &mut Bench<'_>) -> Result<T>,
) -> Result<(RecordingWriter, T)> {
    let (prepared, mut writer) = prepare(lab, execution)?;
    if let Some(spread) = spread(lab, execution, &prepared, &writer)? {
        let mut execute = |writer: &RecordingWriter| spread.execute(writer);
        let result = work(&mut writer, &mut Bench::new(spread.jobs(), &mut execute))?;
        spread.end()?;
        return Ok((writer, result));
    }
    let cancel = lab.watch.cancel()?;
    let is_vm = execution.backend.is_vm();
    // A cell in the machine's own time is not a function of its inputs.
    let cache = (is_vm && !execution.no_cache).then(|| finished_cells(prepared.store()));
    // Cells that share a machine in its own time would measure each other.
    let jobs = if is_vm { lab.jobs() } else { 1 };
    let backend = {
        let planned = writer.recording().planned();
        let cells: Vec<&CellInputs> = planned.filter_map(|(_, cell)| cell.inputs()).collect();
        prepared.backend(&cells)?
    };
    let backend = backend.as_ref();
    let folder = writer.recording().traces();
    let scratch = scratch(&prepared);
    let kernels = Kernels::new(&prepared, backend, execution.trace.then_some(&folder));
    let kernel = |cell: &CellInputs| kernels.of_cell(cell, &cancel);
    let kept = if execution.trace { Kept::Stream } else { Kept::Findings(&scratch) };
    // Only virtual time knows every instant.
    let traces = is_vm.then_some(Traces { folder: &folder, kernel: &kernel, kept });
    if is_vm {
        folder.create()?;
        scratch.create()?;
    }
    let seed = prepared.manifest.experiment.replicates.seed;
    let order = if is_vm { Order::Planned } else { Order::Interleaved(seed) };
    let retry_failed = execution.retry_failed;
    let options = Options { jobs, cache, retry_failed, traces, order, only: None };
    let mut execute = |writer: &RecordingWriter| {
        let meter = Meter::new(lab.watch, &prepared, execution.trace, jobs);
        let on_event = |event: preemptlab_runner::Event<'_>| meter.on_event(&event);
        let result = preemptlab_runner::run(writer, backend, &options, &on_event, &cancel);
        meter.finish();
        tell_boots(lab, writer, backend);
        Ok((result?, meter.cell_wall()))
    };
    let result = work(&mut writer, &mut Bench::new(jobs, &mut execute))?;
    Ok((writer, result))
}

/// Returns the folder in which streams grow that are not kept: on the disk of the store, where a recording may be on
/// one of the network.
pub(crate) fn scratch(prepared: &Prepared) -> TraceFolder {
    TraceFolder::new(prepared.store().layouts())
}

/// Says which boots the cells that are left wait for.
fn tell_boots(lab: &Lab<'_>, writer: &RecordingWriter, backend: &dyn Backend) {
    let boots = preemptlab_runner::boots_waiting(writer, backend);
    for (needed, count) in &boots {
        let wait = if *count == 1 { "waits" } else { "wait" };
        lab.note(format!("{} {wait} for a boot with {needed}", counted(*count, "cell")));
    }
    if !boots.is_empty() {
        lab.note("after that boot the same command resumes from here");
    }
}
