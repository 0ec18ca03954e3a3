use std::collections::BTreeSet;

use preemptlab_model::{
    BackendKind, CellCost, Clocks, Direction, Distribution, KernelRef, Label, MetricClass,
    MetricName, Name, PreemptMode, PricesOf, Settings, Statistic,
};
use schemars::JsonSchema;
use serde::Serialize;
use ts_rs::TS;

use crate::{Agreement, Baseline, MachineHistogram, Margin, Margins, Samples, Summary};

/// The version of [`Comparison`] as others read it. Fields may be added within a version.
pub const FORMAT: u32 = 2;

/// Configurations side by side. This value is the document: `compare --format json` prints it, and
/// the HTML page holds it.
#[derive(Clone, Debug, PartialEq, Serialize, TS, JsonSchema)]
pub struct Comparison {
    /// See [`FORMAT`].
    pub format: u32,
    /// Difference up to which two configurations are called the same: 0.05 is 5 % of the baseline. Metrics
    /// with another margin have theirs in `groups[].metrics[].margin`.
    #[serde(rename = "margin")]
    #[ts(rename = "margin", as = "f64")]
    #[schemars(with = "f64")]
    pub margins: Margins,
    /// Number of comparisons, of every metric of every configuration with its baseline's; p-values
    /// are adjusted for it.
    pub comparisons: usize,
    /// Number of looks at the results before each decision whether to go on; 1 when the number of
    /// replicates was fixed in advance.
    pub looks: u32,
    /// Costs that virtual time counts in the cells, for the caption.
    #[serde(skip)]
    #[ts(skip)]
    pub costs: BTreeSet<CellCost>,
    /// Times of several CPUs in the cells in virtual time, for the caption.
    #[serde(skip)]
    #[ts(skip)]
    pub clocks: BTreeSet<Clocks>,
    /// Groups of configurations that can be compared with each other, in the order of the first
    /// cell of each.
    pub groups: Vec<Group>,
    /// Configurations that were measured in two kinds of time, and whether these agree.
    pub agreements: Vec<Agreement>,
    /// Disturbances of the cells in a machine's own time, a sentence each; none in virtual time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<String>>", optional)]
    pub disturbances: Vec<String>,
    /// Histograms from machines, which stand beside the groups: they have no ratio to any of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<MachineHistogram>>", optional)]
    pub histograms: Vec<MachineHistogram>,
}

/// The configurations of one workload on one number of CPUs, all in the same kind of time: a
/// nanosecond that counts instructions, one that adds prices up and one of a clock have no ratio.
#[derive(Clone, Debug, PartialEq, Serialize, TS, JsonSchema)]
pub struct Group {
    /// The workload's name in the experiment.
    pub workload: String,
    /// Virtual CPUs, or those of the machine itself.
    pub cpus: u32,
    /// Backend that executed the cells.
    pub backend: BackendKind,
    /// The profile that instructions have their prices from, with caches or without; absent where each
    /// takes the same time, or time is the machine's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>", optional)]
    pub profile: Option<PricesOf>,
    /// Machine of the cells in the plan, where machines are a factor.
    #[serde(skip)]
    #[ts(skip)]
    pub machine: Option<Name>,
    /// The index of the configuration that ratios refer to; absent when there is none here.
    pub baseline: Option<usize>,
    /// The metrics that any configuration has, in the order in which the workload gives them.
    pub metrics: Vec<MetricInfo>,
    /// The configurations, in the order of the first cell of each.
    pub configurations: Vec<Configuration>,
}

/// Description of a metric.
#[derive(Clone, Debug, PartialEq, Serialize, TS, JsonSchema)]
pub struct MetricInfo {
    /// Such as `wakeup.fifo.p99`.
    #[ts(as = "String")]
    pub name: MetricName,
    /// Kind of the metric.
    pub kind: MetricClass,
    /// Distribution of the statistic, such as `wakeup.fifo`; absent for a metric that is none.
    #[ts(as = "Option<String>")]
    pub of: Option<Distribution>,
    /// The statistic, such as `p99`, `max` or `omitted`.
    #[ts(as = "Option<String>")]
    pub statistic: Option<Statistic>,
    /// Such as `us`.
    pub unit: String,
    /// Direction in which the metric is better.
    pub better: Direction,
    /// Smallest difference that its instrument tells, in the unit; 0 for a metric that is exact.
    pub resolution: f64,
    /// Difference up to which two configurations are called the same; absent where it is the comparison's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>", optional)]
    #[schemars(with = "Option<String>")]
    pub margin: Option<Margin>,
    /// Whether it is one of those that tell configurations apart, and is shown before all others.
    pub headline: bool,
    /// Name of the metric for people: `FIFO wakeup p99`.
    pub title: String,
    /// Meaning of the metric, in a sentence; empty for a number of a workload's own.
    pub meaning: String,
}

/// Cells that differ in nothing but the replicate.
#[derive(Clone, Debug, PartialEq, Serialize, TS, JsonSchema)]
pub struct Configuration {
    /// The recording it is from, when several are compared.
    pub run: Option<String>,
    /// The kernel's name in the experiment.
    #[ts(as = "String")]
    pub kernel: KernelRef,
    /// Name that the experiment gives to the kernel; absent where it gives none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>", optional)]
    pub label: Option<Label>,
    /// Whether its kernel is built with `PREEMPT_RT`; absent where nothing tells.
    pub rt: Option<bool>,
    /// Requested mode.
    pub preempt: PreemptMode,
    /// Settings besides the mode, separated by blanks.
    #[ts(as = "String")]
    pub settings: Settings,
    /// The modes that its cells observed; one, unless something is wrong.
    pub observed: BTreeSet<PreemptMode>,
    /// Number of its cells.
    pub replicates: usize,
    /// Reason why it cannot exist.
    pub unavailable: Option<String>,
    /// The replicates that failed.
    pub failures: Vec<Failure>,
    /// Number of its cells that were not executed yet.
    pub missing: usize,
    /// Samples of its distributions, in the order in which the workload gives them.
    pub samples: Vec<Samples>,
    /// The worst instant of all its cells; absent where none was measured at every instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub worst: Option<Worst>,
    /// Summaries of its metrics over the replicates, in the order in which the workload gives them;
    /// empty when no replicate has any.
    #[serde(rename = "metrics")]
    pub summaries: Vec<Summary>,
}

/// The instant at which a real-time task would have been latest, and what makes it so.
#[derive(Clone, Debug, PartialEq, Serialize, TS, JsonSchema)]
pub struct Worst {
    /// Latency at that instant, in microseconds.
    pub us: f64,
    /// The state of the CPU, and the function: `preemption off in free_unref_folios`.
    pub of: String,
}

/// A replicate that has no metrics although it ran or tried to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS, JsonSchema)]
pub struct Failure {
    /// Index of the replicate, from 1.
    pub replicate: u32,
    /// Reason, in words.
    pub reason: String,
}

impl Comparison {
    /// Gives the kernels of recordings their labels.
    #[must_use]
    pub fn labelled<'a>(
        mut self,
        label: impl Fn(Option<&str>, &KernelRef) -> Option<&'a Label>,
    ) -> Self {
        for each in self.groups.iter_mut().flat_map(|group| &mut group.configurations) {
            each.label = label(each.run.as_deref(), &each.kernel).cloned();
        }
        self
    }
}

impl Configuration {
    /// Returns its name in the notation of a baseline.
    pub fn name(&self) -> Baseline {
        Baseline {
            kernel: self.kernel.clone(),
            preempt: self.preempt,
            settings: self.settings.clone(),
        }
    }

    /// Returns the summary of a metric.
    pub fn summary(&self, metric: &MetricName) -> Option<&Summary> {
        self.summaries.iter().find(|summary| summary.name == *metric)
    }

    /// Returns the samples behind a metric; `None` for a metric that is not a statistic of samples.
    pub fn samples(&self, metric: &MetricName) -> Option<&Samples> {
        let (of, _) = metric.statistic()?;
        self.samples.iter().find(|samples| samples.of == *of)
    }

    /// Replicates with metrics, or in which nothing happened that would have one.
    pub fn measured(&self) -> usize {
        let with_samples = self.samples.iter().map(|samples| samples.cells);
        self.summaries.iter().map(|summary| summary.n).chain(with_samples).max().unwrap_or(0)
    }
}

impl MetricInfo {
    fn new(of: &Summary, margins: &Margins) -> Self {
        let margin = margins.of(&of.name, &of.unit);
        let statistic = of.name.statistic();
        Self {
            name: of.name.clone(),
            kind: of.name.class(),
            of: statistic.map(|(of, _)| of.clone()),
            statistic: statistic.map(|(_, statistic)| statistic),
            unit: of.unit.clone(),
            better: of.direction,
            resolution: of.resolution,
            margin: (margin != Margin::Share(margins.share())).then_some(margin),
            headline: false,
            title: of.name.title(),
            meaning: of.name.meaning(),
        }
    }

    /// Returns the descriptions of the metrics of configurations, each once.
    pub(crate) fn all(of: &[Configuration], margins: &Margins) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for summary in of.iter().flat_map(|configuration| &configuration.summaries) {
            match all.iter_mut().find(|known| known.name == summary.name) {
                Some(known) => known.resolution = known.resolution.max(summary.resolution),
                None => all.push(Self::new(summary, margins)),
            }
        }
        let names: Vec<MetricName> = all.iter().map(|info| info.name.clone()).collect();
        for info in &mut all {
            info.headline = info.name.is_headline(names.iter());
        }
        all
    }
}

impl Group {
    /// Returns the configuration that ratios refer to.
    pub fn baseline(&self) -> Option<&Configuration> {
        self.configurations.get(self.baseline?)
    }

    /// Returns whether both are of one workload, number of CPUs and kind of time.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        (&self.workload, self.cpus, self.backend, &self.profile)
            == (&other.workload, other.cpus, other.backend, &other.profile)
    }

    /// Returns the names of its metrics, in the order in which the workload gives them.
    pub fn metrics(&self) -> Vec<&MetricName> {
        self.metrics.iter().map(|metric| &metric.name).collect()
    }
}
