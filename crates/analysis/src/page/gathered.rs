use std::collections::BTreeMap;

use preemptlab_experiment::Recording;
use preemptlab_model::{
    CellCost, CellInputs, CellRecord, Distribution, Factors, Histogram, MetricName, Outcome,
    PricesOf,
};
use preemptlab_report_html::CellRow;
use preemptlab_stats::{Comparison, Configuration, Group, MeasuredCell};
use preemptlab_trace::Curve;

use crate::{
    Error,
    measured::{Reading, cost, for_each},
};

/// A configuration: the recording, when there are several, where its prices are from, and the factors
/// without the replicate and without the machine, which the prices say.
pub type Key = (Option<String>, Option<PricesOf>, Factors);

/// Data of the cells that the page needs; the cells are read once and not kept.
pub struct Gathered<'a> {
    /// Recordings of the page.
    pub recordings: Vec<&'a Recording>,
    /// Cells in the form of a comparison.
    pub cells: Vec<MeasuredCell>,
    /// Histograms of each configuration by probe, over all replicates together.
    pub histograms: BTreeMap<Key, Vec<(Distribution, Histogram)>>,
    /// Traced cell with the worst wakeup, of each configuration.
    pub worst: BTreeMap<Key, Worst<'a>>,
    instants: BTreeMap<Key, Instants>,
    rows: Vec<Row<'a>>,
}

/// Traced cell of a configuration.
pub struct Worst<'a> {
    pub recording: &'a Recording,
    pub record: CellRecord,
    pub factors: &'a Factors,
    /// Largest latency of the cell, in microseconds.
    pub max_us: f64,
}

/// Latencies at every instant of a configuration's cells together.
#[derive(Clone, Debug, Default)]
pub struct Instants {
    /// Instants that are later than each latency.
    pub curve: Curve,
    /// The worst instant, in nanoseconds.
    pub worst_ns: u64,
}

struct Row<'a> {
    key: Key,
    inputs: Option<&'a CellInputs>,
    row: CellRow,
}

/// Returns the key of a cell's configuration.
fn key(reading: &Reading<'_>) -> Key {
    let cost = cost(reading.recording.manifest(), reading.planned);
    let prices = cost.as_ref().and_then(CellCost::prices_of).cloned();
    let factors = reading.planned.factors.clone();
    (reading.run.clone(), prices, Factors { replicate: 0, machine: None, ..factors })
}

/// Returns the key of a comparison's configuration.
pub fn key_of(group: &Group, configuration: &Configuration) -> Key {
    let factors = Factors {
        machine: None,
        workload: group.workload.clone(),
        kernel: configuration.kernel.clone(),
        preempt: configuration.preempt,
        cpus: group.cpus,
        settings: configuration.settings.clone(),
        replicate: 0,
    };
    (configuration.run.clone(), group.profile.clone(), factors)
}

impl<'a> Gathered<'a> {
    /// Reads every cell of recordings.
    ///
    /// # Errors
    ///
    /// Where a recording cannot be read.
    pub fn new(recordings: Vec<&'a Recording>) -> Result<Self, Error> {
        let mut gathered = Self {
            cells: Vec::new(),
            histograms: BTreeMap::new(),
            worst: BTreeMap::new(),
            instants: BTreeMap::new(),
            rows: Vec::new(),
            recordings: recordings.clone(),
        };
        for_each(&recordings, |reading| gathered.take(reading))?;
        Ok(gathered)
    }

    fn take(&mut self, reading: Reading<'a>) {
        let key = key(&reading);
        if let Ok(measured) = &reading.result {
            let histograms = self.histograms.entry(key.clone()).or_default();
            for latency in &measured.latencies {
                match histograms.iter_mut().find(|(name, _)| *name == latency.of) {
                    Some((_, histogram)) => histogram.merge(&latency.histogram),
                    None => histograms.push((latency.of.clone(), latency.histogram.clone())),
                }
            }
        }
        if let Ok(measured) = &reading.result
            && let Some(bound) = &measured.bound
            && !bound.curve.later.is_empty()
        {
            let instants = self.instants.entry(key.clone()).or_default();
            instants.curve.merge(&bound.curve);
            instants.worst_ns = instants.worst_ns.max(bound.max_ns());
        }
        self.keep_if_worst(&key, &reading);
        self.rows.push(Row { inputs: reading.planned.inputs(), row: row(&reading), key });
        self.cells.push(reading.into_cell());
    }

    fn keep_if_worst(&mut self, key: &Key, reading: &Reading<'a>) {
        let (Some(record), Ok(measured)) = (&reading.record, &reading.result) else { return };
        let max = measured.metrics.iter().find(|metric| metric.name == MetricName::FIFO_MAX);
        let traced = || measured.bound.as_ref().map(|bound| bound.observed_ns() as f64 / 1e3);
        let Some(max_us) = max.map(|metric| metric.value).or_else(traced) else { return };
        let is_worse = self.worst.get(key).is_none_or(|worst| worst.max_us < max_us);
        if is_worse && reading.recording.traces().contains(record.id) {
            let (recording, factors) = (reading.recording, &reading.planned.factors);
            let record = record.clone();
            self.worst.insert(key.clone(), Worst { recording, record, factors, max_us });
        }
    }

    /// Returns the latencies of a configuration at every instant; `None` where they are not known.
    pub(crate) fn instants(
        &self,
        group: &Group,
        configuration: &Configuration,
    ) -> Option<&Instants> {
        self.instants.get(&key_of(group, configuration))
    }

    /// Returns the distinct command lines, and a row per cell that refers to them and to the
    /// comparison.
    pub fn rows(&self, comparison: &Comparison) -> (Vec<String>, Vec<CellRow>) {
        let mut places = BTreeMap::new();
        for (at, group) in comparison.groups.iter().enumerate() {
            for (of, configuration) in group.configurations.iter().enumerate() {
                places.insert(key_of(group, configuration), (at, of));
            }
        }
        let mut command_lines: Vec<String> = Vec::new();
        let mut rows = Vec::new();
        for Row { key, inputs, row } in &self.rows {
            let Some((group, configuration)) = places.get(key).copied() else { continue };
            let command_line = inputs.map(|inputs| {
                let wanted = &inputs.snapshot.cmdline;
                let known = command_lines.iter().position(|line| line == wanted);
                known.unwrap_or_else(|| {
                    command_lines.push(wanted.clone());
                    command_lines.len() - 1
                })
            });
            rows.push(CellRow { group, configuration, command_line, ..row.clone() });
        }
        (command_lines, rows)
    }
}

fn row(reading: &Reading<'_>) -> CellRow {
    let outcome = reading.record.as_ref().map(|record| &record.outcome);
    let digest = outcome.and_then(Outcome::digest).map(|digest| digest.to_string());
    let inputs = reading.planned.inputs();
    CellRow {
        group: 0,
        configuration: 0,
        replicate: reading.planned.factors.replicate,
        no_result: reading.result.as_ref().err().cloned(),
        id: inputs.map(|inputs| inputs.id().to_string()),
        digest,
        seed: inputs.map(|inputs| inputs.job.seed.to_string()),
        command_line: None,
    }
}
