//! The choice of a recording's cell.

use preemptlab_experiment::Recording;
use preemptlab_model::{
    CellCost, CellId, CellInputs, CellRecord, Factors, Label, MeasuredCell, Metric, MetricName,
    Outcome, PlannedCell, counted, of_machine,
};
use preemptlab_protocol::Report;
use preemptlab_stats::Baseline;

use crate::{
    Error, Result,
    cells::{cost, parallel},
};

/// Completed cell that was chosen.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// Factors of the cell.
    pub factors: Factors,
    /// Label of its kernel.
    pub label: Option<Label>,
    /// Identity of the cell.
    pub id: CellId,
    /// Everything that it depends on.
    pub inputs: CellInputs,
    /// Cost that its virtual time counts; `None` without virtual time.
    pub cost: Option<CellCost>,
    /// Report of the cell.
    pub report: Report,
    /// The largest latency that its probe saw, or its largest response time, in microseconds. Where the probe
    /// is not cyclictest, the largest of its trace.
    pub max_us: f64,
}

impl Chosen {
    /// Returns the name of the cell: its label, its factors and the beginning of its identity.
    pub fn name(&self) -> String {
        identified(&called(self.label.as_ref(), &self.factors), self.id)
    }

    /// Returns the name of the cell's configuration, which its replicates share.
    pub(crate) fn configuration(&self) -> String {
        let Factors { kernel, preempt, settings, workload, machine, cpus, .. } =
            self.factors.clone();
        let configuration = Baseline { kernel, preempt, settings };
        let machine = of_machine(machine.as_ref());
        format!("{configuration} {workload} on {}{machine}", counted(cpus as usize, "CPU"))
    }
}

impl Chosen {
    /// Reads a completed cell of a recording; `None` where it has gone.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub(crate) fn read(recording: &Recording, cell: &MeasuredCell) -> Result<Option<Self>> {
        let record = cell.id.map(|id| recording.cell(id)).transpose()?.flatten();
        let Some(CellRecord { id, inputs, outcome: Outcome::Completed { report, .. }, .. }) =
            record
        else {
            return Ok(None);
        };
        Ok(Some(Self {
            factors: cell.factors.clone(),
            label: recording.manifest().experiment.factors.label(&cell.factors.kernel).cloned(),
            id,
            inputs,
            cost: cell.cost.clone(),
            report: *report,
            max_us: latest_us(cell),
        }))
    }
}

/// Returns the cell whose real-time probe was latest, the first of equal ones.
pub(crate) fn latest<'a>(
    cells: impl Iterator<Item = &'a MeasuredCell>,
) -> Option<&'a MeasuredCell> {
    cells.reduce(|a, b| if latest_us(b) > latest_us(a) { b } else { a })
}

fn latest_us(cell: &MeasuredCell) -> f64 {
    cell.latest_us().unwrap_or(0.0)
}

/// Number of cells that are listed.
const SHOWN: usize = 12;

/// Returns the cell that was named by words of its name or the beginning of its identity, or else
/// the one with the worst wakeup of a probe. Of the replicates of one configuration it is the one with
/// the worst.
///
/// # Errors
///
/// When there is no such cell, or several configurations have such a name.
pub fn choose(recording: &Recording, name: Option<&str>, latency: &MetricName) -> Result<Chosen> {
    let mut cells = completed(recording, latency)?;
    let unusable = |message: String| Err(Error::Unusable(message));
    if cells.is_empty() {
        let path = recording.path().display();
        return unusable(format!(
            "{path} has no finished cell to explain; go on with it: preemptlab run {path}"
        ));
    }
    if let Some(name) = name {
        let named: Vec<Chosen> =
            cells.iter().filter(|cell| is_named(cell, name)).cloned().collect();
        let Some(first) = named.first() else {
            let names: Vec<String> = cells.iter().map(Chosen::name).collect();
            return Err(no_cell(name, &names));
        };
        if named.iter().any(|cell| !cell.factors.is_replicate_of(&first.factors)) {
            return unusable(format!(
                "`{}` names {} cells of several configurations; name one of them: {}",
                name.escape_debug(),
                named.len(),
                list(&named.iter().map(Chosen::name).collect::<Vec<_>>())
            ));
        }
        cells = named;
    }
    let worst = cells.into_iter().reduce(|a, b| if b.max_us > a.max_us { b } else { a });
    worst.ok_or_else(|| Error::unusable("there is no finished cell to explain"))
}

/// Says that no cell is called so, and how finished ones are.
pub(crate) fn no_cell(name: &str, names: &[String]) -> Error {
    Error::Unusable(format!(
        "no finished cell is called `{}`; name one of these with --cell: {}",
        name.escape_debug(),
        list(names)
    ))
}

/// Returns names of cells for the end of a sentence.
fn list(names: &[String]) -> String {
    let mut list = names[..names.len().min(SHOWN)].to_vec();
    if names.len() > SHOWN {
        list.push(format!("and {} more", names.len() - SHOWN));
    }
    list.join("; ")
}

/// Reads every completed cell, in the order of the plan.
pub(super) fn completed(recording: &Recording, latency: &MetricName) -> Result<Vec<Chosen>> {
    let planned: Vec<&PlannedCell> = recording.planned().map(|(_, planned)| planned).collect();
    let mut cells = Vec::new();
    let read = |planned: &&PlannedCell| if_completed(recording, planned, latency);
    parallel::for_each(&planned, read, |cell| cells.extend(cell))?;
    Ok(cells)
}

fn if_completed(
    recording: &Recording,
    planned: &PlannedCell,
    latency: &MetricName,
) -> Result<Option<Chosen>> {
    let experiment = &recording.manifest().experiment;
    let Some(CellRecord { id, inputs, outcome: Outcome::Completed { report, .. }, .. }) =
        recording.record(planned)?
    else {
        return Ok(None);
    };
    let workload = experiment.workload.get(planned.factors.workload.as_str());
    let measured = workload.and_then(|workload| workload.measure(&inputs, &report).ok());
    let metrics = measured.map(|measured| measured.metrics());
    let found = |metrics: &Vec<Metric>| {
        metrics.iter().find(|found| found.name.stands_for(latency)).map(|metric| metric.value)
    };
    let max_us = match metrics.as_ref().map(found) {
        Some(Some(value)) => value,
        Some(None) if latency.bound().is_some() => traced_us(recording, id)?,
        Some(None) | None => 0.0,
    };
    let factors = planned.factors.clone();
    let label = experiment.factors.label(&factors.kernel).cloned();
    let cost = cost(recording.manifest(), planned);
    Ok(Some(Chosen { factors, label, id, inputs, cost, report: *report, max_us }))
}

/// Returns the largest latency of a cell's real-time probe that its trace has, in microseconds; 0 without a
/// trace. Where the probe is not cyclictest nothing else tells.
fn traced_us(recording: &Recording, id: CellId) -> Result<f64> {
    let findings = recording.traces().findings(id)?;
    let bound = findings.and_then(|findings| findings.bound);
    Ok(bound.map_or(0.0, |bound| bound.observed_ns() as f64 / 1e3))
}

/// Returns the cells of each configuration. Replicates that were added later stand behind all others in a
/// recording.
pub(super) fn configurations(cells: Vec<Chosen>) -> Vec<Vec<Chosen>> {
    let mut configurations: Vec<Vec<Chosen>> = Vec::new();
    for cell in cells {
        let is_it = |known: &&mut Vec<Chosen>| known[0].factors.is_replicate_of(&cell.factors);
        match configurations.iter_mut().find(is_it) {
            Some(known) => known.push(cell),
            None => configurations.push(vec![cell]),
        }
    }
    configurations
}

/// Returns the words that say which cells were asked for: nothing where none were named.
pub(super) fn asked_for(name: Option<&str>) -> String {
    name.map(|name| format!(" called `{}`", name.escape_debug())).unwrap_or_default()
}

/// Returns whether a name means a cell: the first digits of its identity, or words of its label and factors.
pub(super) fn is_named(cell: &Chosen, name: &str) -> bool {
    means(name, Some(cell.id), &called(cell.label.as_ref(), &cell.factors))
}

/// Returns whether a name means a cell of this identity that is called so.
pub(crate) fn means(name: &str, id: Option<CellId>, called: &str) -> bool {
    let is_id = name.len() >= 4 && id.is_some_and(|id| id.to_string().starts_with(name));
    is_id || has_words(called, name)
}

/// Returns whether a cell that is called so has every one of some words in its name. `6.12` is a word of
/// `debian:6.12`: answers in sentences leave the distribution out.
fn has_words(called: &str, words: &str) -> bool {
    let is_word = |part: &str, word| {
        part == word || part.split_once(':').is_some_and(|(_, name)| name == word)
    };
    words.split_whitespace().all(|word| called.split_whitespace().any(|part| is_word(part, word)))
}

/// Returns how a cell is called: the label of its kernel, and its factors.
pub(crate) fn called(label: Option<&Label>, factors: &Factors) -> String {
    let label = label.map(|label| format!("{label} ")).unwrap_or_default();
    format!("{label}{factors}")
}

/// Returns what a cell is called with the beginning of its identity.
pub(crate) fn identified(called: &str, id: CellId) -> String {
    format!("{called} ({:.8})", id.to_string())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Replicates that `run --until` adds are behind those of all other configurations.
    #[test]
    fn replicates_are_together_wherever_they_stand() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/check");
        let recording = Recording::open(&path).unwrap();
        let first = completed(&recording, &MetricName::latest(false)).unwrap().remove(0);
        let cell = |cpus, replicate| {
            let factors = Factors { cpus, replicate, ..first.factors.clone() };
            Chosen { factors, ..first.clone() }
        };
        let configurations =
            configurations(vec![cell(1, 1), cell(1, 2), cell(2, 1), cell(1, 3), cell(2, 2)]);
        let replicates = |of: &Vec<Chosen>| {
            of.iter().map(|cell| (cell.factors.cpus, cell.factors.replicate)).collect::<Vec<_>>()
        };
        let found: Vec<_> = configurations.iter().map(replicates).collect();
        assert_eq!(found, [vec![(1, 1), (1, 2), (1, 3)], vec![(2, 1), (2, 2)]]);
    }
}
