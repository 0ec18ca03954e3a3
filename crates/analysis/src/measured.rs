//! From recordings to the measurements of their cells.

use std::{num::NonZero, thread};

use preemptlab_experiment::{Manifest, Recording};
use preemptlab_model::{
    CellCost, CellInputs, CellRecord, Direction, Distribution, Metric, MetricName, ModeFile,
    NoResult, Outcome, Planned, PlannedCell, PreemptMode,
};
use preemptlab_recording::RecordingError;
use preemptlab_stats::{MeasuredCell, Worst};
use preemptlab_trace::{Bound, Delay, Delays, WorstInstant};
use preemptlab_workload::Latency;

/// Number of cells that are in memory at a time, with all of their output.
const CELLS_AT_A_TIME: usize = 256;

/// Planned cell with its record and measurements.
pub struct Reading<'a> {
    /// The recording that it is from.
    pub recording: &'a Recording,
    /// Name of the recording, when there are several.
    pub run: Option<String>,
    /// The number of looks at the results before it was planned.
    pub look: u32,
    /// Planned cell.
    pub planned: &'a PlannedCell,
    /// Record of the cell, if it was executed.
    pub record: Option<CellRecord>,
    /// Measurements of the cell, or the reason why there are none.
    pub result: Result<Measured, NoResult>,
}

/// Measurements of a cell.
pub struct Measured {
    /// Metrics of the cell, with those of its trace, if it has one.
    pub metrics: Vec<Metric>,
    /// Latencies that its probes measured.
    pub latencies: Vec<Latency>,
    /// Latencies of the wakeups that did not happen.
    pub bound: Option<Bound>,
    /// Cause and function of the worst instant.
    pub worst: Option<WorstInstant>,
    /// Scheduling delays of the fair tasks.
    pub delays: Option<Delays>,
}

/// Returns the measured cells of recordings, in the order of their plans.
///
/// # Errors
///
/// When a cell cannot be read.
pub fn cells(recordings: &[&Recording]) -> Result<Vec<MeasuredCell>, RecordingError> {
    let mut cells = Vec::new();
    for_each(recordings, |reading| cells.push(reading.into_cell()))?;
    Ok(cells)
}

/// Reads every planned cell of recordings, in the order of their plans; the files are read on
/// several threads.
///
/// # Errors
///
/// When a cell cannot be read.
pub fn for_each<'a>(
    recordings: &[&'a Recording],
    mut visit: impl FnMut(Reading<'a>),
) -> Result<(), RecordingError> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    for recording in recordings {
        let run = (recordings.len() > 1).then(|| recording.path().display().to_string());
        let planned: Vec<(u32, &PlannedCell)> = recording.planned().collect();
        for some in planned.chunks(CELLS_AT_A_TIME) {
            let read = |share: &[(u32, &'a PlannedCell)]| -> Vec<_> {
                share.iter().map(|(look, planned)| read(recording, &run, *look, planned)).collect()
            };
            let readings: Vec<_> = thread::scope(|scope| {
                let shares = some.chunks(some.len().div_ceil(threads));
                let read = &read;
                let spawn = |share| {
                    let worker = thread::Builder::new().spawn_scoped(scope, move || read(share));
                    // Where the machine gives no more threads, this one does it.
                    worker.map_err(|_| read(share))
                };
                let workers: Vec<_> = shares.map(spawn).collect();
                workers
                    .into_iter()
                    .flat_map(|worker| match worker {
                        Ok(worker) => {
                            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                        }
                        Err(read) => read,
                    })
                    .collect()
            });
            for reading in readings {
                visit(reading?);
            }
        }
    }
    Ok(())
}

fn read<'a>(
    recording: &'a Recording,
    run: &Option<String>,
    look: u32,
    planned: &'a PlannedCell,
) -> Result<Reading<'a>, RecordingError> {
    let record = recording.record(planned)?;
    let mut result = measure(recording.manifest(), planned, record.as_ref());
    if let (Ok(measured), Some(record)) = (&mut result, &record) {
        let findings = recording.traces().findings(record.id)?;
        measured.worst = findings.as_ref().and_then(|findings| findings.worst.clone());
        measured.delays = findings.as_ref().and_then(|findings| findings.delays.clone());
        measured.bound =
            findings.and_then(|it| it.bound).map(|it| observing(it, &measured.metrics));
        measured.metrics.extend(measured.bound.iter().flat_map(metrics_of));
        measured.metrics.extend(measured.delays.iter().flat_map(metrics_of_delays));
    }
    Ok(Reading { recording, run: run.clone(), look, planned, record, result })
}

/// Returns what a cell's virtual time counts; `None` where no cell of the recording has any.
pub(crate) fn cost<'a>(manifest: &'a Manifest, planned: &'a PlannedCell) -> Option<CellCost> {
    // The cells of one machine have one cost. One that cannot exist is a row among those that do.
    let machine = &planned.factors.machine;
    let mut of_machine = manifest.plan.cells.iter().filter(|cell| cell.factors.machine == *machine);
    let costed = planned.inputs().or_else(|| of_machine.find_map(PlannedCell::inputs));
    let cost = costed.and_then(CellInputs::cost)?;
    let profile = manifest.experiment.cost_of(machine.as_ref()).profile();
    Some(match profile.and_then(|profile| profile.check.as_ref()) {
        Some(check) => cost.checked_by(check),
        None => cost,
    })
}

impl<'a> Reading<'a> {
    /// Reads a cell that was executed again otherwise than it was planned, under a name for how.
    pub fn executed(
        recording: &'a Recording,
        run: String,
        planned: &'a PlannedCell,
        record: CellRecord,
    ) -> Self {
        let result = measure(recording.manifest(), planned, Some(&record));
        Self { recording, run: Some(run), look: 0, planned, record: Some(record), result }
    }

    /// Returns the cell in the form of a comparison.
    pub fn into_cell(self) -> MeasuredCell {
        let manifest = self.recording.manifest();
        let kernel = manifest.kernel(&self.planned.factors.kernel);
        let cost = cost(manifest, self.planned);
        MeasuredCell {
            rt: kernel.and_then(|kernel| kernel.rt),
            observed: self.observed(),
            run: self.run,
            backend: manifest.backend,
            cost,
            clocks: self.planned.inputs().and_then(CellInputs::clocks),
            factors: self.planned.factors.clone(),
            look: self.look,
            samples: self.result.as_ref().map_or_else(|_| Vec::new(), samples_of),
            worst: self.result.as_ref().ok().and_then(worst_of),
            result: self.result.map(|measured| measured.metrics),
        }
    }

    /// Returns the mode that the guest read from its kernel.
    pub fn observed(&self) -> Option<PreemptMode> {
        let Outcome::Completed { report, .. } = &self.record.as_ref()?.outcome else { return None };
        ModeFile::parse(report.system.preempt.as_deref()?).active
    }
}

/// Returns the number of samples of each distribution; of every instant, one a nanosecond.
fn samples_of(measured: &Measured) -> Vec<(Distribution, u64)> {
    let each = measured.latencies.iter();
    let samples = each.map(|latency| (latency.of.clone(), latency.histogram.count()));
    let instants = measured.bound.as_ref().and_then(|bound| bound.instants_ns).filter(|ns| *ns > 0);
    let delays = measured.delays.iter().flat_map(distributions);
    let wakeups = delays.map(|(of, delay)| (of, delay.wakeups));
    let instants = instants.map(|instants| (Distribution::Bound, instants));
    samples.chain(instants).chain(wakeups).collect()
}

/// Returns the worst instant of a cell in words.
fn worst_of(measured: &Measured) -> Option<Worst> {
    let (bound, worst) = (measured.bound.as_ref()?, measured.worst.as_ref()?);
    Some(Worst { us: bound.max_ns() as f64 / 1e3, of: worst.to_string() })
}

/// Returns the bound of a cell, raised to its probe's maximum: an observation is never above the bound.
fn observing(bound: Bound, metrics: &[Metric]) -> Bound {
    let reported = metrics.iter().find(|metric| metric.name == MetricName::FIFO_MAX);
    bound.observing(reported.map_or(0, |metric| (metric.value * 1e3) as u64))
}

/// Returns the metrics of all instants that a cell's findings tell; those of an older trace lack some.
fn metrics_of(bound: &Bound) -> Vec<Metric> {
    let quantiles_ns = [bound.p50_ns, bound.p99_ns, bound.p99_9_ns].map(Some);
    let values_ns = quantiles_ns.into_iter().chain([bound.p99_999_ns, Some(bound.max_ns())]);
    let known = MetricName::BOUNDS.into_iter().zip(values_ns);
    known.filter_map(|(name, ns)| Some(traced(name, ns?))).collect()
}

/// Returns the metric of a time that a trace tells: times are whole nanoseconds; quantiles are of lengths that
/// are kept to one in 2048.
fn traced(name: MetricName, ns: u64) -> Metric {
    let value = ns as f64 / 1e3;
    let resolution = if name.is_maximum() { 1e-3 } else { f64::max(1e-3, value / 2048.0) };
    Metric { name, value, unit: "us".to_owned(), direction: Direction::Lower, resolution }
}

/// Returns what scheduling delays are distributions of: all together, and each program's.
fn distributions(delays: &Delays) -> impl Iterator<Item = (Distribution, &Delay)> {
    let of_program =
        |(name, delay)| (Distribution::Own(format!("{}.{name}", Distribution::Delay)), delay);
    let all = delays.all.iter().map(|delay| (Distribution::Delay, delay));
    all.chain(delays.programs.iter().map(of_program))
}

fn metrics_of_delays(delays: &Delays) -> Vec<Metric> {
    let metrics = distributions(delays).flat_map(|(of, delay)| {
        let values_ns = [delay.p50_ns, delay.p99_ns, delay.p99_9_ns, delay.max_ns];
        MetricName::DELAYS.into_iter().zip(values_ns).filter_map(move |(name, ns)| {
            let (_, statistic) = name.statistic()?;
            Some(traced(MetricName::Of(of.clone(), statistic), ns))
        })
    });
    metrics.collect()
}

fn measure(
    manifest: &Manifest,
    planned: &PlannedCell,
    record: Option<&CellRecord>,
) -> Result<Measured, NoResult> {
    if let Planned::Unavailable { reason } = &planned.planned {
        return Err(NoResult::Unavailable(reason.clone()));
    }
    let Some(CellRecord { inputs, outcome, .. }) = record else {
        return Err(NoResult::Missing);
    };
    match outcome {
        Outcome::Unavailable { reason, .. } => Err(NoResult::Unavailable(reason.clone())),
        Outcome::Failed { reason, .. } => Err(NoResult::Failed(reason.clone())),
        Outcome::Completed { report, .. } => manifest
            .experiment
            .workload
            .get(planned.factors.workload.as_str())
            .ok_or_else(|| "its workload is not in the experiment".to_owned())
            .and_then(|workload| {
                workload.measure(inputs, report).map_err(|error| error.to_string())
            })
            .map(|measurements| Measured {
                metrics: measurements.metrics(),
                latencies: measurements.latencies,
                bound: None,
                worst: None,
                delays: None,
            })
            .map_err(NoResult::Failed),
    }
}
