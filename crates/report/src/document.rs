use preemptlab_model::{BackendKind, KernelRef, MetricName, PreemptMode, Settings};
use preemptlab_stats::{
    Agreement, Comparison, Configuration, Effect, Group, Interval, Summary, Verdict, agreements,
    fit,
};
use serde::{Deserialize, Serialize};

use crate::extremes;

/// The version of [`ComparisonDocument`]. Fields may be added within a version.
pub const FORMAT: u32 = 1;

/// A comparison as `compare --format json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonDocument {
    /// See [`FORMAT`].
    pub format: u32,
    /// How much may differ and still be called the same: 0.05 is 5 % of the baseline.
    pub margin: f64,
    /// The number of comparisons that p-values are adjusted for.
    pub comparisons: usize,
    /// How often the results were looked at before it was decided whether to go on; 1 when the
    /// number of replicates was fixed in advance.
    pub looks: u32,
    /// One per workload, number of CPUs and backend, in the order of the plan.
    pub groups: Vec<GroupDocument>,
    /// What was measured in two kinds of time, and whether both say the same; absent where there is
    /// only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agreements: Vec<AgreementDocument>,
}

/// A metric of a configuration against the baseline, in two kinds of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgreementDocument {
    /// The workload's name in the experiment.
    pub workload: String,
    /// CPUs.
    pub cpus: u32,
    /// The kinds of time.
    pub backends: [BackendKind; 2],
    /// The kernel in each.
    pub kernels: [KernelRef; 2],
    /// The mode that is compared.
    pub preempt: PreemptMode,
    /// What else is switched.
    pub settings: Settings,
    /// The mode that it is compared with.
    pub baseline: PreemptMode,
    /// The metric.
    pub metric: MetricName,
    /// Its ratio to the baseline's in each.
    pub ratios: [Option<f64>; 2],
    /// The 95 % intervals of these.
    pub intervals: [Option<[f64; 2]>; 2],
    /// `agree`, `disagree` or `open`.
    pub accord: String,
}

/// What can be compared with each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupDocument {
    /// The workload's name in the experiment.
    pub workload: String,
    /// Virtual CPUs, or those of the machine itself.
    pub cpus: u32,
    /// What executed the cells; absent for virtual time.
    #[serde(default, skip_serializing_if = "BackendKind::is_vm")]
    pub backend: BackendKind,
    /// The index in `configurations` of the one that ratios refer to.
    pub baseline: Option<usize>,
    /// In the order of the plan.
    pub configurations: Vec<ConfigurationDocument>,
}

/// Cells that differ in nothing but the replicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfigurationDocument {
    /// The recording, when several are compared.
    pub run: Option<String>,
    /// The kernel's name in the experiment.
    pub kernel: KernelRef,
    /// Whether the kernel is built with `PREEMPT_RT`, where that is known.
    pub rt: Option<bool>,
    /// The requested mode.
    pub preempt: PreemptMode,
    /// What else is switched, settings separated by blanks.
    pub settings: Settings,
    /// The modes that the guest observed.
    pub observed: Vec<PreemptMode>,
    /// Planned replicates.
    pub replicates: usize,
    /// Why there can be no measurements.
    pub unavailable: Option<String>,
    /// The replicates that failed.
    pub failures: Vec<FailureDocument>,
    /// How many of its cells were not executed yet.
    pub missing: usize,
    /// The metrics; none if no replicate was measured.
    pub metrics: Vec<MetricDocument>,
}

/// A replicate that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureDocument {
    /// Counts from 1.
    pub replicate: u32,
    /// Why.
    pub reason: String,
}

/// One metric over the replicates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricDocument {
    /// Such as `wakeup.fifo.p99`.
    pub name: MetricName,
    /// Such as `us`.
    pub unit: String,
    /// Which way is better: `lower` or `higher`.
    pub better: String,
    /// Replicates with a value.
    pub n: usize,
    /// The median of `values`.
    pub median: f64,
    /// The least of `values`.
    pub min: f64,
    /// The largest of `values`.
    pub max: f64,
    /// The 95 % interval of the median; absent for a single replicate.
    pub interval: Option<[f64; 2]>,
    /// How it relates to the baseline; absent for the baseline itself, and without one.
    pub effect: Option<EffectDocument>,
    /// The distribution of the cells' maxima; absent for what is no maximum.
    pub extreme: Option<ExtremeDocument>,
    /// One per replicate with a value.
    pub values: Vec<f64>,
    /// The replicates that `values` are of.
    pub replicates: Vec<u32>,
}

/// The generalised extreme value distribution of maxima, by maximum likelihood; with 95 % intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtremeDocument {
    /// It was fitted.
    Fit {
        /// The location.
        location: f64,
        /// Its interval.
        location_interval: [f64; 2],
        /// The scale.
        scale: f64,
        /// Its interval.
        scale_interval: [f64; 2],
        /// The shape; a positive one is a heavy tail, a negative one a tail that ends.
        shape: f64,
        /// Its interval.
        shape_interval: [f64; 2],
        /// What one cell in 100 exceeds, where that can be told.
        level_100: Option<f64>,
        /// Its interval.
        level_100_interval: Option<[f64; 2]>,
        /// How far the maxima are from the fit.
        anderson_darling: f64,
        /// From which value of that on the fit would be refused.
        anderson_darling_critical: f64,
    },
    /// The data do not carry it.
    Refused(String),
}

/// How a metric relates to the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectDocument {
    /// The median divided by the baseline's; absent where the baseline's is zero.
    pub ratio: Option<f64>,
    /// The 95 % interval of the ratio.
    pub interval: Option<[f64; 2]>,
    /// Of a difference as large as this where there is none, adjusted for `comparisons`.
    pub p_adjusted: f64,
    /// `better`, `worse`, `same` or `undecided`.
    pub verdict: String,
    /// About how many more replicates would decide it, where it is undecided and that can be told.
    pub more: Option<u32>,
}

impl From<&Comparison> for ComparisonDocument {
    fn from(comparison: &Comparison) -> Self {
        Self {
            format: FORMAT,
            margin: comparison.margin.share(),
            comparisons: comparison.comparisons,
            looks: comparison.looks,
            groups: comparison.groups.iter().map(Into::into).collect(),
            agreements: agreements(comparison).iter().flat_map(shared).collect(),
        }
    }
}

fn shared(agreement: &Agreement) -> Vec<AgreementDocument> {
    let documents = agreement.shared.iter().map(|shared| AgreementDocument {
        workload: agreement.workload.clone(),
        cpus: agreement.cpus,
        backends: agreement.backends,
        kernels: shared.kernels.clone(),
        preempt: shared.preempt,
        settings: shared.settings.clone(),
        baseline: agreement.baseline.preempt,
        metric: shared.metric.clone(),
        ratios: shared.effects.map(|effect| effect.ratio),
        intervals: shared.effects.map(|effect| effect.interval.map(ends)),
        accord: shared.accord().as_str().to_owned(),
    });
    documents.collect()
}

impl From<&Group> for GroupDocument {
    fn from(group: &Group) -> Self {
        Self {
            workload: group.workload.clone(),
            cpus: group.cpus,
            backend: group.backend,
            baseline: group.baseline,
            configurations: group.configurations.iter().map(Into::into).collect(),
        }
    }
}

impl From<&Configuration> for ConfigurationDocument {
    fn from(configuration: &Configuration) -> Self {
        let failures = configuration.failures.iter().map(|failure| FailureDocument {
            replicate: failure.replicate,
            reason: failure.reason.clone(),
        });
        Self {
            run: configuration.run.clone(),
            kernel: configuration.kernel.clone(),
            rt: configuration.rt,
            preempt: configuration.preempt,
            settings: configuration.settings.clone(),
            observed: configuration.observed.iter().copied().collect(),
            replicates: configuration.replicates,
            unavailable: configuration.unavailable.clone(),
            failures: failures.collect(),
            missing: configuration.missing,
            metrics: configuration.summaries.iter().map(Into::into).collect(),
        }
    }
}

impl From<&Summary> for MetricDocument {
    fn from(summary: &Summary) -> Self {
        Self {
            name: summary.name.clone(),
            unit: summary.unit.to_owned(),
            better: summary.direction.as_str().to_owned(),
            n: summary.n(),
            median: summary.median,
            min: summary.min,
            max: summary.max,
            interval: summary.interval.map(ends),
            effect: summary.effect.as_ref().map(Into::into),
            extreme: summary.name.is_maximum().then(|| extreme(&summary.values)),
            values: summary.values.clone(),
            replicates: summary.replicates.clone(),
        }
    }
}

impl From<&Effect> for EffectDocument {
    fn from(effect: &Effect) -> Self {
        Self {
            ratio: effect.ratio,
            interval: effect.interval.map(ends),
            p_adjusted: effect.p_adjusted,
            verdict: effect.verdict.as_str().to_owned(),
            more: match effect.verdict {
                Verdict::Undecided { more } => more,
                _ => None,
            },
        }
    }
}

fn extreme(maxima: &[f64]) -> ExtremeDocument {
    let fit = match fit(maxima) {
        Ok(fit) => fit,
        Err(reason) => return ExtremeDocument::Refused(reason.to_string()),
    };
    let level = fit.level(extremes::CELLS).ok();
    ExtremeDocument::Fit {
        location: fit.location.value,
        location_interval: ends(fit.location.interval),
        scale: fit.scale.value,
        scale_interval: ends(fit.scale.interval),
        shape: fit.shape.value,
        shape_interval: ends(fit.shape.interval),
        level_100: level.map(|level| level.value),
        level_100_interval: level.map(|level| ends(level.interval)),
        anderson_darling: fit.anderson_darling,
        anderson_darling_critical: fit.anderson_darling_critical,
    }
}

fn ends(Interval { low, high }: Interval) -> [f64; 2] {
    [low, high]
}
