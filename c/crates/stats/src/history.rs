//! Kernels in the order of their versions, and between which of them a metric changed.
//!
//! Neighbours are decided on by [`gate`], at its levels and with its margins.

use preemptlab_model::{
    Direction, Factors, MeasuredCell, Metric, MetricName, Name, NoResult, PreemptMode, Settings,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Gate, GateRow, GateRule, Looks, Margins, SectionRow, Verdict, gate, summary::median};

/// The version of [`History`] as others read it. Fields may be added within a version.
pub const HISTORY_FORMAT: u32 = 1;

/// A kernel of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HistoryKernel {
    /// Name of the kernel, which no other kernel of the history has.
    pub name: String,
    /// The part of the name that tells it from its neighbours: `6.12`.
    pub series: String,
    /// Line of kernels that it belongs to: `generic`, `-rt`. Only kernels of a line are neighbours.
    pub line: String,
    /// Release of the kernel; absent for one that could not be had.
    pub release: Option<String>,
    /// Reason why the kernel could not be had.
    pub absent: Option<String>,
    /// Worst wakeup of each mode, with its cause.
    pub causes: Vec<HistoryCause>,
}

/// Why a kernel was late at worst, from a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HistoryCause {
    /// Mode of the cell.
    pub preempt: PreemptMode,
    /// Workload of the cell.
    pub workload: String,
    /// Whether it is the bound: a wakeup that would have been, had it been due then.
    pub is_bound: bool,
    /// Cause in a sentence, which names the latency.
    pub sentence: String,
}

/// Kernels, their metrics, and the changes between neighbours.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct History {
    /// See [`HISTORY_FORMAT`].
    pub format: u32,
    /// Kernels by line, each line from the oldest to the newest.
    pub kernels: Vec<HistoryKernel>,
    /// Metrics of each workload.
    pub panels: Vec<HistoryPanel>,
    /// Decisions on neighbours.
    pub steps: Vec<HistoryStep>,
    /// Number of comparisons: a metric of a mode between two neighbours each.
    pub comparisons: usize,
    /// Number of change points that chance is expected to make, at most.
    pub expected_false: f64,
    /// Cells without measurements, with their reasons.
    pub troubles: Vec<HistoryTrouble>,
    /// Words for the time of the numbers; the reader of the cells sets them.
    pub caption: String,
}

/// A metric of a workload, over all kernels and modes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HistoryPanel {
    /// Workload, number of CPUs and settings.
    #[serde(flatten)]
    pub of: HistoryGroup,
    /// Metric.
    pub metric: MetricName,
    /// Metric for people.
    pub title: String,
    /// Unit of the metric.
    pub unit: String,
    /// Direction in which it is better.
    pub better: Direction,
    /// Values of the kernels that have the metric.
    pub points: Vec<HistoryPoint>,
}

/// Cells that differ in kernel, mode and seed alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HistoryGroup {
    /// Name of the workload in the experiment.
    pub workload: String,
    /// Number of CPUs.
    pub cpus: u32,
    /// The machine whose time it has; absent where the experiment has only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<Name>,
    /// Settings besides the mode.
    pub settings: Settings,
}

/// Values of a metric of one kernel in one mode.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HistoryPoint {
    /// Position of the kernel in [`History::kernels`].
    pub kernel: usize,
    /// Mode.
    pub preempt: PreemptMode,
    /// Number of seeds.
    pub seeds: usize,
    /// Median over the seeds.
    pub median: f64,
    /// Least value of a seed.
    pub min: f64,
    /// Largest value of a seed.
    pub max: f64,
}

/// Decision on a kernel and the one before it in its line.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HistoryStep {
    /// Position of the earlier kernel.
    pub from: usize,
    /// Position of the later kernel.
    pub to: usize,
    /// Decision.
    pub gate: Gate,
}

/// Cells of a kernel that have no measurements, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HistoryTrouble {
    /// Position of the kernel.
    pub kernel: usize,
    /// Status: `unavailable`, `failed`, `missing`.
    pub status: &'static str,
    /// Reason.
    pub reason: String,
    /// Modes of the cells.
    pub modes: Vec<PreemptMode>,
    /// Workloads of the cells.
    pub workloads: Vec<String>,
    /// Number of cells.
    pub cells: usize,
}

/// A metric that changed between two neighbours.
#[derive(Clone, Copy, Debug)]
pub struct HistoryChange<'a> {
    /// Decision that it is a part of.
    pub step: &'a HistoryStep,
    /// Metric, with its verdict.
    pub row: &'a GateRow,
    /// The function whose sections changed most in the same direction, where both have traces.
    pub section: Option<&'a SectionRow>,
}

/// Relates the kernels of each line to their neighbours. The order of kernels is kept; those of a line
/// stand together. Each metric that the cells have decides.
pub fn history(kernels: Vec<(HistoryKernel, Vec<MeasuredCell>)>, margins: &Margins) -> History {
    let is_measured = |cells: &[MeasuredCell]| cells.iter().any(|cell| cell.result.is_ok());
    let mut metrics: Vec<MetricName> = Vec::new();
    for metric in kernels.iter().flat_map(|(_, cells)| cells).flat_map(measured) {
        if !metrics.contains(&metric.name) {
            metrics.push(metric.name.clone());
        }
    }
    let has_looks = kernels.iter().flat_map(|(_, cells)| cells).any(|cell| cell.look > 0);
    let looks = if has_looks { Looks::Any } else { Looks::One };
    let rule = GateRule { metrics, margins: margins.clone(), looks, followed: None };
    let mut steps = Vec::new();
    let mut before: Option<usize> = None;
    for (to, (kernel, cells)) in kernels.iter().enumerate() {
        if !is_measured(cells) {
            continue;
        }
        if let Some(from) = before.filter(|from| kernels[*from].0.line == kernel.line) {
            let (base, of_base) = &kernels[from];
            let gate = gate([&base.name, &kernel.name], of_base, cells, &rule);
            steps.push(HistoryStep { from, to, gate });
        }
        before = Some(to);
    }
    steps.retain(|step| !step.gate.rows.is_empty());
    History {
        format: HISTORY_FORMAT,
        panels: panels(&kernels),
        comparisons: steps.iter().map(|step| step.gate.rows.len()).sum(),
        expected_false: steps.len() as f64 * Gate::ALPHA,
        troubles: troubles(&kernels),
        caption: String::new(),
        kernels: kernels.into_iter().map(|(kernel, _)| kernel).collect(),
        steps,
    }
}

fn measured(cell: &MeasuredCell) -> impl Iterator<Item = &Metric> {
    cell.result.iter().flatten().filter(|metric| metric.value.is_finite())
}

/// Values of a metric on a kernel, by its place, in a mode.
type Values = (usize, PreemptMode, Vec<f64>);

fn panels(kernels: &[(HistoryKernel, Vec<MeasuredCell>)]) -> Vec<HistoryPanel> {
    let mut found: Vec<(HistoryPanel, Vec<Values>)> = Vec::new();
    for (kernel, (_, cells)) in kernels.iter().enumerate() {
        for cell in cells {
            let Factors { workload, machine, cpus, preempt, settings, .. } = cell.factors.clone();
            let of = HistoryGroup { workload, machine, cpus, settings };
            for metric in measured(cell) {
                let is_it = |(panel, _): &&mut (HistoryPanel, _)| {
                    (&panel.of, &panel.metric) == (&of, &metric.name)
                };
                let points = match found.iter_mut().find(is_it) {
                    Some((_, points)) => points,
                    None => {
                        let panel = HistoryPanel {
                            of: of.clone(),
                            metric: metric.name.clone(),
                            title: metric.name.title(),
                            unit: metric.unit.clone(),
                            better: metric.direction,
                            points: Vec::new(),
                        };
                        found.push((panel, Vec::new()));
                        &mut found.last_mut().expect("it was pushed").1
                    }
                };
                match points.iter_mut().find(|(of, mode, _)| (*of, *mode) == (kernel, preempt)) {
                    Some((.., values)) => values.push(metric.value),
                    None => points.push((kernel, preempt, vec![metric.value])),
                }
            }
        }
    }
    // Those of a workload stand together, in the order of the first cell that has them.
    let mut groups: Vec<HistoryGroup> = Vec::new();
    for (panel, _) in &found {
        if !groups.contains(&panel.of) {
            groups.push(panel.of.clone());
        }
    }
    found.sort_by_key(|(panel, _)| groups.iter().position(|of| *of == panel.of));
    let point = |(kernel, preempt, values): (usize, PreemptMode, Vec<f64>)| {
        Some(HistoryPoint {
            kernel,
            preempt,
            seeds: values.len(),
            median: median(&values)?,
            min: values.iter().copied().fold(f64::MAX, f64::min),
            max: values.iter().copied().fold(f64::MIN, f64::max),
        })
    };
    let panels = found.into_iter().map(|(panel, points)| HistoryPanel {
        points: points.into_iter().filter_map(point).collect(),
        ..panel
    });
    panels.collect()
}

fn troubles(kernels: &[(HistoryKernel, Vec<MeasuredCell>)]) -> Vec<HistoryTrouble> {
    let mut troubles: Vec<HistoryTrouble> = Vec::new();
    for (kernel, (_, cells)) in kernels.iter().enumerate() {
        for cell in cells {
            let Err(why) = &cell.result else { continue };
            let status = NoResult::status(Some(why));
            let reason = why.reason().unwrap_or("not executed yet");
            let is_it = |of: &&mut HistoryTrouble| {
                (of.kernel, of.status, of.reason.as_str()) == (kernel, status, reason)
            };
            let index = match troubles.iter_mut().find(is_it) {
                Some(trouble) => trouble,
                None => {
                    troubles.push(HistoryTrouble {
                        kernel,
                        status,
                        reason: reason.to_owned(),
                        modes: Vec::new(),
                        workloads: Vec::new(),
                        cells: 0,
                    });
                    troubles.last_mut().expect("it was pushed")
                }
            };
            index.cells += 1;
            if !index.modes.contains(&cell.factors.preempt) {
                index.modes.push(cell.factors.preempt);
            }
            if !index.workloads.contains(&cell.factors.workload) {
                index.workloads.push(cell.factors.workload.clone());
            }
        }
    }
    troubles
}

impl History {
    /// Lists the metrics that changed between neighbours, in the order of the kernels.
    pub fn changes(&self) -> Vec<HistoryChange<'_>> {
        let is_change = |row: &&GateRow| matches!(row.verdict, Verdict::Worse | Verdict::Better);
        let changes = self.steps.iter().flat_map(|step| {
            let rows = step.gate.rows.iter().filter(is_change);
            rows.map(move |row| HistoryChange { step, row, section: section(step, row) })
        });
        changes.collect()
    }

    /// Returns the modes that a metric of the history was measured in, in the kernel's order.
    pub fn modes(&self) -> Vec<PreemptMode> {
        let points = || self.panels.iter().flat_map(|panel| &panel.points);
        let is_there = |mode: &PreemptMode| points().any(|point| point.preempt == *mode);
        PreemptMode::ALL.into_iter().filter(is_there).collect()
    }

    /// Returns the change of a metric from the kernel before it, where it was decided.
    pub fn change(&self, panel: &HistoryPanel, point: &HistoryPoint) -> Option<&GateRow> {
        let step = self.steps.iter().find(|step| step.to == point.kernel)?;
        let HistoryGroup { workload, machine, cpus, settings } = &panel.of;
        step.gate.rows.iter().find(|row| {
            let place = &row.place;
            (&place.workload, &place.machine, &place.cpus, &place.settings)
                == (workload, machine, cpus, settings)
                && place.preempt == point.preempt
                && row.metric == panel.metric
        })
    }
}

/// Returns the function of a place whose sections changed most in the direction of a metric: by their
/// longest for a latency, and by all of a cell for another metric.
fn section<'a>(step: &'a HistoryStep, row: &GateRow) -> Option<&'a SectionRow> {
    let is_worse = row.verdict == Verdict::Worse;
    let grown = |section: &SectionRow| {
        let grown = match row.metric.statistic() {
            Some(_) => section.new_us - section.base_us,
            None => section.new_total_us - section.base_total_us,
        };
        if is_worse { grown } else { -grown }
    };
    let of_place = step.gate.sections.iter().filter(|section| section.place == row.place);
    of_place.filter(|of| grown(of) > 0.0).max_by(|a, b| grown(a).total_cmp(&grown(b)))
}

#[cfg(test)]
mod tests {
    use preemptlab_model::{BackendKind, Section};

    use super::*;

    fn cells(modes: &[PreemptMode], throughput: f64, held_ns: u64) -> Vec<MeasuredCell> {
        let cell = |preempt: PreemptMode, seed: u64| MeasuredCell {
            sections: Some(vec![Section {
                kind: "preemption",
                function: "held".into(),
                callers: vec![],
                count: 1,
                max_ns: held_ns,
                total_ns: held_ns,
            }]),
            ..MeasuredCell::new(
                BackendKind::Vm,
                Factors {
                    workload: "load".into(),
                    machine: None,
                    cpus: 1,
                    preempt,
                    settings: Settings::default(),
                    kernel: "debian:6.12".parse().unwrap(),
                    replicate: seed as u32,
                },
                Ok(vec![Metric {
                    name: MetricName::Throughput,
                    value: throughput + (seed % 3) as f64,
                    unit: "messages/s".into(),
                    direction: Direction::Higher,
                    resolution: 0.0,
                }]),
            )
        };
        modes.iter().flat_map(|mode| (1..=6).map(|seed| cell(*mode, seed))).collect()
    }

    fn kernel(name: &str, line: &str) -> HistoryKernel {
        HistoryKernel { name: name.into(), line: line.into(), ..HistoryKernel::default() }
    }

    use PreemptMode::{Full, Lazy, None as No};

    #[test]
    fn neighbours_of_a_line_and_mode_are_compared() {
        let absent = vec![MeasuredCell {
            result: Err(NoResult::Unavailable("no package".into())),
            ..cells(&[Full], 0.0, 0)[0].clone()
        }];
        let of = history(
            vec![
                (kernel("6.1", ""), cells(&[No, Full], 1000.0, 1_000)),
                (kernel("6.2", ""), absent),
                (kernel("6.12", ""), cells(&[No, Full], 900.0, 90_000)),
                (kernel("7.2", ""), cells(&[Full, Lazy], 901.0, 90_000)),
                (kernel("6.12-rt", "-rt"), cells(&[Lazy], 500.0, 0)),
            ],
            &Margins::gate(),
        );
        let steps: Vec<_> = of.steps.iter().map(|step| (step.from, step.to)).collect();
        assert_eq!(steps, [(0, 2), (2, 3)], "what cannot be had is passed over");
        assert_eq!(of.comparisons, 3, "none ends with 6.12, and lazy begins with 7.2");
        assert!((of.expected_false - 0.02).abs() < 1e-12);
        let changes = of.changes();
        let words: Vec<_> =
            changes.iter().map(|of| (of.step.to, of.row.place.preempt, of.row.changed())).collect();
        assert_eq!(words, [(2, No, "-10.0%".into()), (2, Full, "-10.0%".into())]);
        assert_eq!(changes[0].section.unwrap().function, "held");
        assert_eq!(of.modes(), [No, Full, Lazy]);
        let [panel] = of.panels.as_slice() else { panic!() };
        assert_eq!(panel.points.len(), 7);
        assert_eq!((panel.points[0].median, panel.points[0].max), (1001.0, 1002.0));
        assert_eq!(of.troubles[0].reason, "no package");
    }

    #[test]
    fn few_seeds_change_nothing() {
        let few = |throughput| cells(&[Full], throughput, 0)[..4].to_vec();
        let kernels = vec![(kernel("a", ""), few(1000.0)), (kernel("b", ""), few(500.0))];
        let of = history(kernels, &Margins::gate());
        assert_eq!((of.comparisons, of.changes().len()), (1, 0));
    }
}
