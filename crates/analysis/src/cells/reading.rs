//! The reading of cells: record, findings of a trace, and their metrics.

use preemptlab_experiment::{Manifest, Recording};
use preemptlab_model::{
    CellCost, CellInputs, CellRecord, Direction, Distribution, Instants, MeasuredCell, Metric,
    MetricName, ModeFile, NoResult, Outcome, Planned, PlannedCell, PreemptMode, Section,
    WakeupPart,
};
use preemptlab_recording::RecordingError;
use preemptlab_trace::{Bound, Curve, Delay, Delays, Findings, LongSection, Ranked, Splits};
use preemptlab_workload::{Latency, Measurements};

use super::{Keep, parallel};

/// A cell, and the parts of its measurements that are too large to keep of every cell.
pub struct Reading {
    /// The cell.
    pub cell: MeasuredCell,
    /// Latencies that its probes measured.
    pub latencies: Vec<Latency>,
    /// Instants that are later than each latency; empty where they were not measured.
    pub curve: Curve,
    /// The longest sections in detail; empty unless the caller asks for sections, and beside a probe.
    pub longest: Vec<LongSection>,
}

/// Reads every planned cell of recordings, in the order of their plans; the files are read on
/// several threads. `visit` gets the index of the recording with each cell.
///
/// # Errors
///
/// When a cell cannot be read.
pub fn for_each_cell(
    recordings: &[&Recording],
    keep: Keep,
    mut visit: impl FnMut(usize, Reading),
) -> Result<(), RecordingError> {
    for (at, recording) in recordings.iter().enumerate() {
        let run = (recordings.len() > 1).then(|| recording.path().display().to_string());
        let planned: Vec<(u32, &PlannedCell)> = recording.planned().collect();
        let read =
            |(look, planned): &(u32, &PlannedCell)| read(recording, &run, *look, planned, keep);
        parallel::for_each(&planned, read, |reading| visit(at, reading))?;
    }
    Ok(())
}

fn read(
    recording: &Recording,
    run: &Option<String>,
    look: u32,
    planned: &PlannedCell,
    keep: Keep,
) -> Result<Reading, RecordingError> {
    let record = recording.record(planned)?;
    let measured = measure(recording.manifest(), planned, record.as_ref());
    let findings = match &record {
        Some(record) if measured.is_ok() || keep == Keep::Sections => {
            recording.traces().findings(record.id)?
        }
        _ => None,
    };
    let reading = reading(recording, planned, record, measured, findings, keep);
    Ok(Reading { cell: MeasuredCell { run: run.clone(), look, ..reading.cell }, ..reading })
}

/// Measures a cell that was executed again otherwise than it was planned, under a name for how.
pub(crate) fn executed(
    recording: &Recording,
    run: String,
    planned: &PlannedCell,
    record: CellRecord,
) -> MeasuredCell {
    let measured = measure(recording.manifest(), planned, Some(&record));
    let reading = reading(recording, planned, Some(record), measured, None, Keep::Metrics);
    MeasuredCell { run: Some(run), ..reading.cell }
}

fn reading(
    recording: &Recording,
    planned: &PlannedCell,
    record: Option<CellRecord>,
    measured: Result<Measurements, NoResult>,
    findings: Option<Findings>,
    keep: Keep,
) -> Reading {
    let (metrics, latencies) = match measured {
        Ok(measured) => (Ok(measured.metrics()), measured.latencies),
        Err(why) => (Err(why), Vec::new()),
    };
    let mut cell = cell(recording.manifest(), planned, record, metrics);
    let each = latencies.iter();
    cell.samples = each.map(|latency| (latency.of.clone(), latency.histogram.count())).collect();
    let mut curve = Curve::default();
    let mut long_sections = Vec::new();
    let worst = findings.as_ref().and_then(Findings::worst_instant);
    if let Some(Findings { bound, delays, splits, sections, longest, .. }) = findings {
        if keep == Keep::Sections {
            long_sections = longest;
            cell.sections = Some(sections.into_iter().map(section).collect());
        }
        let reported_us = cell.reported_us().unwrap_or(0.0);
        if let Ok(metrics) = &mut cell.result {
            if let Some(bound) = bound {
                let (computed_ns, traced_ns) = (bound.computed_ns(), bound.observed_ns());
                // An observation is never above the bound.
                let bound = bound.observing((reported_us * 1e3) as u64);
                metrics.extend(metrics_of(&bound));
                let instants = bound.instants_ns.filter(|ns| *ns > 0);
                cell.samples.extend(instants.map(|instants| (Distribution::Bound, instants)));
                let (worst_ns, of) = (bound.max_ns(), worst.map(|worst| worst.to_string()));
                cell.instants = Some(Instants { computed_ns, traced_ns, worst_ns, of });
                curve = bound.curve;
            }
            let parts = splits.iter().flat_map(parts);
            for (of, delay) in delays.iter().flat_map(distributions).chain(parts) {
                metrics.extend(metrics_of_delay(&of, delay));
                cell.samples.push((of, delay.wakeups));
            }
        }
    }
    Reading { cell, latencies, curve, longest: long_sections }
}

/// Returns a cell with the data of its plan and its record.
fn cell(
    manifest: &Manifest,
    planned: &PlannedCell,
    record: Option<CellRecord>,
    result: Result<Vec<Metric>, NoResult>,
) -> MeasuredCell {
    let (factors, inputs) = (&planned.factors, planned.inputs());
    let kernel = manifest.kernel(&factors.kernel);
    let outcome = record.as_ref().map(|record| &record.outcome);
    let release = match outcome {
        Some(Outcome::Completed { report, .. }) => Some(&report.system.release),
        _ => kernel.map(|kernel| &kernel.release),
    };
    let first = manifest.experiment.replicates.seed;
    let would_be = first.wrapping_add(u64::from(factors.replicate)).wrapping_sub(1);
    MeasuredCell {
        cost: cost(manifest, planned),
        clocks: inputs.and_then(CellInputs::clocks),
        release: release.filter(|release| !release.is_empty()).cloned(),
        rt: kernel.and_then(|kernel| kernel.rt),
        observed: outcome.and_then(observed),
        seed: inputs.map_or(would_be, |inputs| inputs.job.seed),
        id: inputs.map(CellInputs::id),
        digest: outcome.and_then(Outcome::digest),
        conditions: record.and_then(|record| record.conditions),
        ..MeasuredCell::new(manifest.backend, factors.clone(), result)
    }
}

/// Returns the mode that the guest read from its kernel.
fn observed(outcome: &Outcome) -> Option<PreemptMode> {
    let Outcome::Completed { report, .. } = outcome else { return None };
    ModeFile::parse(report.system.preempt.as_deref()?).active
}

fn section(ranked: Ranked) -> Section {
    let Ranked { kind, function, callers, count, total_ns, max_ns, .. } = ranked;
    let kind = kind.as_str();
    Section { kind, function, callers, count, max_ns, total_ns }
}

/// Returns the cost that a cell's virtual time counts; `None` where no cell of the recording has
/// any.
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

/// Returns the distributions of scheduling delays: all together, and each program's.
fn distributions(delays: &Delays) -> impl Iterator<Item = (Distribution, &Delay)> {
    let of_program =
        |(name, delay)| (Distribution::Own(format!("{}.{name}", Distribution::Delay)), delay);
    let all = delays.all.iter().map(|delay| (Distribution::Delay, delay));
    all.chain(delays.programs.iter().map(of_program))
}

/// Returns the distributions of the parts of wakeups.
fn parts(splits: &Splits) -> impl Iterator<Item = (Distribution, &Delay)> {
    let parts = [&splits.irq, &splits.thread, &splits.user];
    WakeupPart::ALL.map(Distribution::Part).into_iter().zip(parts)
}

fn metrics_of_delay(of: &Distribution, delay: &Delay) -> impl Iterator<Item = Metric> {
    let values_ns = [delay.p50_ns, delay.p99_ns, delay.p99_9_ns, delay.max_ns];
    let values = MetricName::DELAYS.into_iter().zip(values_ns);
    values.map(|(statistic, ns)| traced(MetricName::Of(of.clone(), statistic), ns))
}

fn measure(
    manifest: &Manifest,
    planned: &PlannedCell,
    record: Option<&CellRecord>,
) -> Result<Measurements, NoResult> {
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
            .map_err(NoResult::Failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_wakeups_have_metrics() {
        let part =
            |p50_ns| Delay { wakeups: 9, p50_ns, p99_ns: 4_000, p99_9_ns: 5_000, max_ns: 5_001 };
        let splits = Splits { irq: part(1_000), thread: part(2_500), user: part(600) };
        let told: Vec<(String, f64)> = parts(&splits)
            .flat_map(|(of, delay)| metrics_of_delay(&of, delay).collect::<Vec<_>>())
            .map(|metric| (metric.name.to_string(), metric.value))
            .collect();
        assert_eq!(told.len(), 12);
        let expected =
            [("wakeup.irq.p50", 1.0), ("wakeup.irq.p99", 4.0), ("wakeup.irq.p99.9", 5.0)];
        assert_eq!(told[..3], expected.map(|(name, us)| (name.to_owned(), us)));
        assert_eq!(told[3], ("wakeup.irq.max".to_owned(), 5.001));
        assert_eq!(told[4], ("wakeup.thread.p50".to_owned(), 2.5));
        assert_eq!(told[11], ("wakeup.user.max".to_owned(), 5.001));
    }
}
