use std::collections::BTreeSet;

use preemptlab_model::{BackendKind, KernelRef, MetricName, PreemptMode, Settings};

use crate::{Baseline, Margin, Summary};

/// Configurations side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What can be compared with each other, in the order of the first cell of each.
    pub groups: Vec<Group>,
    /// How much may differ and still be called the same.
    pub margin: Margin,
    /// How many comparisons there are, of every metric of every configuration with its baseline's;
    /// p-values are adjusted for their number.
    pub comparisons: usize,
    /// How often the results were looked at before it was decided whether to go on; 1 when their
    /// number was fixed in advance.
    pub looks: u32,
}

/// The configurations of one workload on one number of CPUs, all in the same kind of time: a
/// nanosecond that counts instructions and one of a clock have no ratio.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The workload's name in the experiment.
    pub workload: String,
    /// Virtual CPUs, or those of the machine itself.
    pub cpus: u32,
    /// What executed the cells.
    pub backend: BackendKind,
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
    /// What else is switched.
    pub settings: Settings,
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
    /// How many of its cells were not executed yet.
    pub missing: usize,
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
    /// Its name, as that of a baseline is given.
    pub fn name(&self) -> Baseline {
        Baseline {
            kernel: self.kernel.clone(),
            preempt: self.preempt,
            settings: self.settings.clone(),
        }
    }

    /// The summary of a metric.
    pub fn summary(&self, metric: &MetricName) -> Option<&Summary> {
        self.summaries.iter().find(|summary| summary.name == *metric)
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
    pub fn metrics(&self) -> Vec<&MetricName> {
        let mut names = Vec::new();
        for summary in self.configurations.iter().flat_map(|configuration| &configuration.summaries)
        {
            if !names.contains(&&summary.name) {
                names.push(&summary.name);
            }
        }
        names
    }
}
