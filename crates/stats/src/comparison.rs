use std::collections::BTreeSet;

use preemptlab_model::{Factors, KernelRef, PreemptMode};

use crate::{Baseline, Metric, Summary, UnknownBaseline};

/// A cell and what it measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCell {
    /// The recording it is from, when several are compared.
    pub run: Option<String>,
    /// Its place in its experiment.
    pub factors: Factors,
    /// Whether its kernel is built with `PREEMPT_RT`; `None` where nothing tells.
    pub rt: Option<bool>,
    /// The mode that the guest observed; `None` where the kernel does not tell.
    pub observed: Option<PreemptMode>,
    /// Its metrics, or why there are none.
    pub result: Result<Vec<Metric>, NoResult>,
}

/// Why a cell has no metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoResult {
    /// It ran, or tried to.
    Failed(String),
    /// It cannot exist.
    Unavailable(String),
}

/// Configurations side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What can be compared with each other, in the order of the first cell of each.
    pub groups: Vec<Group>,
}

/// The configurations of one workload on one number of CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The workload's name in the experiment.
    pub workload: String,
    /// Virtual CPUs.
    pub cpus: u32,
    /// The index of the configuration that ratios refer to; `None` when there is none here.
    pub baseline: Option<usize>,
    /// The configurations, in the order of the first cell of each.
    pub configurations: Vec<Configuration>,
}

/// Cells that differ in nothing but the replicate.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// The recording it is from, when several are compared.
    pub run: Option<String>,
    /// The kernel's name in the experiment.
    pub kernel: KernelRef,
    /// The requested mode.
    pub preempt: PreemptMode,
    /// Whether its kernel is built with `PREEMPT_RT`; `None` where nothing tells.
    pub rt: Option<bool>,
    /// The modes that its cells observed; one, unless something is wrong.
    pub observed: BTreeSet<PreemptMode>,
    /// Its cells.
    pub replicates: usize,
    /// Its metrics over the replicates, in the order in which the workload gives them; empty when
    /// no replicate has any.
    pub summaries: Vec<Summary>,
    /// The replicates that failed.
    pub failures: Vec<Failure>,
    /// Why it cannot exist.
    pub unavailable: Option<String>,
}

/// A replicate that has no metrics although it ran or tried to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Counts from 1.
    pub replicate: u32,
    /// Why.
    pub reason: String,
}

impl Configuration {
    /// The summary of a metric.
    pub fn summary(&self, metric: &str) -> Option<&Summary> {
        self.summaries.iter().find(|summary| summary.name == metric)
    }

    /// Replicates with metrics.
    pub fn measured(&self) -> usize {
        self.summaries.iter().map(Summary::n).max().unwrap_or(0)
    }
}

impl Group {
    /// The configuration that ratios refer to.
    pub fn baseline(&self) -> Option<&Configuration> {
        self.configurations.get(self.baseline?)
    }

    /// The names of its metrics, in the order in which the workload gives them.
    pub fn metrics(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for summary in self.configurations.iter().flat_map(|configuration| &configuration.summaries)
        {
            if !names.contains(&summary.name.as_str()) {
                names.push(&summary.name);
            }
        }
        names
    }
}

/// Groups cells into configurations and relates each to the baseline of its group: the wanted one,
/// or else the first that has measurements.
///
/// The order of the cells, which is that of the plan, is the order of everything in the result.
///
/// # Errors
///
/// [`UnknownBaseline`] when the wanted one has measurements in no group.
pub fn compare(
    cells: &[MeasuredCell],
    baseline: Option<&Baseline>,
) -> Result<Comparison, UnknownBaseline> {
    let mut groups = by_key(cells, |cell| (&cell.factors.workload, cell.factors.cpus))
        .into_iter()
        .map(|((workload, cpus), cells)| Group {
            workload: workload.clone(),
            cpus,
            baseline: None,
            configurations: configurations(&cells),
        })
        .collect::<Vec<_>>();
    for group in &mut groups {
        group.baseline = group.configurations.iter().position(|configuration| {
            !configuration.summaries.is_empty()
                && baseline.is_none_or(|wanted| *wanted == name(configuration))
        });
        relate(group);
    }
    match baseline {
        Some(baseline) if groups.iter().all(|group| group.baseline.is_none()) => {
            Err(UnknownBaseline { baseline: baseline.clone(), offered: offered(&groups) })
        }
        _ => Ok(Comparison { groups }),
    }
}

fn name(configuration: &Configuration) -> Baseline {
    Baseline { kernel: configuration.kernel.clone(), preempt: configuration.preempt }
}

fn offered(groups: &[Group]) -> Vec<String> {
    let measured = groups
        .iter()
        .flat_map(|group| &group.configurations)
        .filter(|configuration| !configuration.summaries.is_empty())
        .map(|configuration| name(configuration).to_string());
    measured.collect::<BTreeSet<_>>().into_iter().collect()
}

fn configurations(cells: &[&MeasuredCell]) -> Vec<Configuration> {
    by_key(cells.iter().copied(), |cell| (&cell.run, &cell.factors.kernel, cell.factors.preempt))
        .into_iter()
        .map(|((run, kernel, preempt), cells)| Configuration {
            run: run.clone(),
            kernel: kernel.clone(),
            preempt,
            rt: cells.iter().find_map(|cell| cell.rt),
            observed: cells.iter().filter_map(|cell| cell.observed).collect(),
            replicates: cells.len(),
            summaries: summaries(&cells),
            failures: failures(&cells),
            unavailable: cells.iter().find_map(|cell| match &cell.result {
                Err(NoResult::Unavailable(reason)) => Some(reason.clone()),
                _ => None,
            }),
        })
        .collect()
}

fn summaries(cells: &[&MeasuredCell]) -> Vec<Summary> {
    let metrics = cells
        .iter()
        .filter_map(|cell| cell.result.as_ref().ok())
        .flatten()
        .filter(|metric| metric.value.is_finite());
    by_key(metrics, |metric| &metric.name)
        .into_iter()
        .filter_map(|(name, metrics)| {
            let values = metrics.iter().map(|metric| metric.value).collect();
            Summary::new(name.clone(), metrics[0].unit, metrics[0].direction, values)
        })
        .collect()
}

fn failures(cells: &[&MeasuredCell]) -> Vec<Failure> {
    cells
        .iter()
        .filter_map(|cell| match &cell.result {
            Err(NoResult::Failed(reason)) => {
                Some(Failure { replicate: cell.factors.replicate, reason: reason.clone() })
            }
            _ => None,
        })
        .collect()
}

/// Sets the ratios of a group to its baseline.
fn relate(group: &mut Group) {
    let Some(baseline) = group.baseline().cloned() else { return };
    for summary in group.configurations.iter_mut().flat_map(|each| &mut each.summaries) {
        summary.ratio = baseline
            .summary(&summary.name)
            .map(|of_baseline| summary.median / of_baseline.median)
            .filter(|ratio| ratio.is_finite());
    }
}

/// Items with equal keys together, in the order of the first of each key.
fn by_key<'a, T: 'a, K: PartialEq>(
    items: impl IntoIterator<Item = &'a T>,
    key: impl Fn(&'a T) -> K,
) -> Vec<(K, Vec<&'a T>)> {
    let mut groups: Vec<(K, Vec<&T>)> = Vec::new();
    for item in items {
        let key = key(item);
        match groups.iter_mut().find(|(of, _)| *of == key) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;

    fn cell(kernel: &str, preempt: PreemptMode, replicate: u32, p99: f64) -> MeasuredCell {
        let metric = |name: &str, value| Metric {
            name: name.into(),
            value,
            unit: "us",
            direction: Direction::Lower,
        };
        MeasuredCell {
            run: None,
            factors: Factors {
                workload: "hackbench".into(),
                kernel: kernel.parse().unwrap(),
                preempt,
                cpus: 1,
                replicate,
            },
            rt: Some(false),
            observed: Some(preempt),
            result: Ok(vec![metric("p99", p99), metric("omitted", 0.0)]),
        }
    }

    fn without(mut cell: MeasuredCell, result: NoResult) -> MeasuredCell {
        cell.result = Err(result);
        cell.observed = None;
        cell
    }

    use PreemptMode::{Full, Lazy, None as No};

    fn cells() -> Vec<MeasuredCell> {
        let unavailable = NoResult::Unavailable("7.2 offers full, lazy only".into());
        vec![
            without(cell("debian:7.2", No, 1, 0.0), unavailable),
            cell("debian:6.12", No, 1, 300.0),
            cell("debian:6.12", No, 2, 200.0),
            cell("debian:6.12", No, 3, 100.0),
            cell("debian:7.2", Lazy, 1, 50.0),
            without(cell("debian:7.2", Lazy, 2, 0.0), NoResult::Failed("it hung".into())),
        ]
    }

    #[test]
    fn the_first_measured_configuration_is_the_baseline() {
        let comparison = compare(&cells(), None).unwrap();
        let [group] = comparison.groups.as_slice() else { panic!("{comparison:?}") };
        assert_eq!(group.baseline, Some(1));
        let [unavailable, none, lazy] = group.configurations.as_slice() else { panic!() };
        assert_eq!(unavailable.unavailable.as_deref(), Some("7.2 offers full, lazy only"));
        assert!(unavailable.summaries.is_empty());
        let p99 = none.summary("p99").unwrap();
        assert_eq!((p99.n(), p99.median, p99.min, p99.max), (3, 200.0, 100.0, 300.0));
        assert_eq!(p99.ratio, Some(1.0));
        assert_eq!(lazy.summary("p99").unwrap().ratio, Some(0.25));
        assert_eq!((lazy.replicates, lazy.measured()), (2, 1));
        assert_eq!(lazy.failures, [Failure { replicate: 2, reason: "it hung".into() }]);
    }

    #[test]
    fn a_baseline_of_zero_gives_no_ratio() {
        let comparison = compare(&cells(), None).unwrap();
        for configuration in &comparison.groups[0].configurations {
            assert_eq!(configuration.summary("omitted").and_then(|omitted| omitted.ratio), None);
        }
    }

    #[test]
    fn the_baseline_can_be_chosen_and_must_be_measured() {
        let ratio = |baseline: &str| {
            let comparison = compare(&cells(), Some(&baseline.parse().unwrap()))?;
            Ok(comparison.groups[0].configurations[1].summary("p99").unwrap().ratio)
        };
        assert_eq!(ratio("debian:7.2/lazy"), Ok(Some(4.0)));
        let error: UnknownBaseline = ratio("debian:7.2/none").unwrap_err();
        assert_eq!(error.offered, ["debian:6.12/none", "debian:7.2/lazy"]);
    }

    #[test]
    fn workloads_cpus_and_runs_stay_apart() {
        let mut cells = vec![cell("debian:6.12", Full, 1, 1.0); 4];
        cells[1].factors.cpus = 2;
        cells[2].factors.workload = "other".into();
        cells[3].run = Some("B".into());
        let comparison = compare(&cells, None).unwrap();
        let sizes: Vec<_> = comparison.groups.iter().map(|g| g.configurations.len()).collect();
        assert_eq!(sizes, [2, 1, 1]);
    }

    #[test]
    fn nothing_compares_to_nothing() {
        assert_eq!(compare(&[], None).unwrap().groups, []);
    }

    #[test]
    fn numbers_that_are_not_finite_are_left_out() {
        let comparison = compare(&[cell("debian:6.12", Full, 1, f64::NAN)], None).unwrap();
        assert_eq!(comparison.groups[0].metrics(), ["omitted"]);
    }
}
