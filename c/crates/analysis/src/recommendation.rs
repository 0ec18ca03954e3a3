//! A recommendation as a document.

use std::collections::BTreeMap;

use preemptlab_model::{KernelRef, MetricName, PreemptMode, PricesOf};
use preemptlab_stats::{
    Candidate, Certainty, Combined, Interval, Judgement, Limit, MachineHistogram, Margin,
    Preference, Recommendation, RunnerUp, Verdict,
};
use preemptlab_system::tune::{Command, Measures, Refusal, Settings, Target, emit};
use schemars::JsonSchema;
use serde::Serialize;

use crate::advice::Advice;

/// Version of the output of `recommend --format json`. Fields may be added within a version.
const FORMAT: u32 = 1;

/// A recommendation, with its grounds and its settings.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RecommendationDocument<'a> {
    /// Version of the document.
    pub format: u32,
    /// Difference up to which two configurations are called the same: 0.05 is 5 % of the baseline.
    pub margin: f64,
    /// Margins of the metrics of the objective and the requirements, where they are others.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub margins: BTreeMap<String, Margin>,
    /// Workloads, each on a number of CPUs.
    pub groups: Vec<RecommendationGroup<'a>>,
    /// Requirements.
    pub requirements: Vec<RecommendationRequirement<'a>>,
    /// Metric that decides.
    pub objective: RecommendationObjective<'a>,
    /// The patterns that limit the candidates; absent where every configuration is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub among: Option<Vec<String>>,
    /// Defaults that took part: `objective`, `margin`, `baseline`.
    pub defaults: Vec<&'static str>,
    /// The index of the recommended one among the candidates.
    pub recommended: Option<usize>,
    /// `only`, `sure`, `tied` or `undecided`.
    pub certainty: Option<&'static str>,
    /// Estimate of the further replicates that would decide an undecided comparison.
    pub more: Option<u32>,
    /// `objective`, `requirement` or `fewest_changes`.
    pub preferred_by: Option<&'static str>,
    /// Command that would decide what is undecided.
    pub next: Option<&'a str>,
    /// Configurations that could be recommended.
    pub candidates: Vec<CandidateDocument<'a>>,
    /// Effect of each requirement alone, where nothing is recommended.
    pub obstacles: Vec<Obstacle>,
    /// Configuration that comes closest, where nothing is recommended.
    pub closest: Option<usize>,
    /// Settings of the recommended configuration.
    pub settings: Option<&'a Settings>,
    /// Reason why the settings cannot be given.
    pub settings_error: Option<&'a str>,
    /// Settings of the configuration that `apply` refuses; the settings do not hold them.
    pub refused: &'a [Refusal],
    /// Command that installs the kernel.
    pub install: Option<Command>,
    /// The settings of each boot loader.
    pub targets: Vec<(Target, Measures)>,
    /// Histograms of machines, which decide nothing; absent where none was named.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub histograms: &'a [MachineHistogram],
}

/// Workload on a number of CPUs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RecommendationGroup<'a> {
    /// The workload's name in the experiment.
    pub workload: &'a str,
    /// Number of CPUs.
    pub cpus: u32,
    /// Profile that instructions have their prices from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<&'a PricesOf>,
    /// Name of the baseline; absent where the group has none.
    pub baseline: Option<String>,
}

/// Requirement that every candidate is held against.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RecommendationRequirement<'a> {
    /// Name of the metric.
    pub metric: &'a MetricName,
    /// Unit of the metric.
    pub unit: &'a str,
    /// Relation to the limit: `<=`, `>=`.
    pub comparator: &'static str,
    /// Limit in the metric's unit.
    pub limit: Option<f64>,
    /// Limit as a share of the baseline's median.
    pub of_baseline: Option<f64>,
}

/// Metric that decides among the candidates that satisfy every requirement.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RecommendationObjective<'a> {
    /// Name of the metric.
    pub metric: &'a MetricName,
    /// Unit of the metric.
    pub unit: &'a str,
    /// `higher` or `lower`.
    pub wanted: &'static str,
    /// Indices of the groups in which it is compared.
    pub groups: &'a [usize],
}

/// Configuration that could be recommended.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CandidateDocument<'a> {
    /// The recording it is from, when there are several.
    pub run: Option<&'a str>,
    /// Name of the kernel.
    pub kernel: &'a KernelRef,
    /// Preemption mode.
    pub preempt: PreemptMode,
    /// Settings besides the mode.
    pub settings: &'a preemptlab_model::Settings,
    /// `recommended`, `satisfies`, `fails` or `unmeasured`.
    pub status: &'static str,
    /// Value of the objective: in one group in its unit, in several a geometric mean of ratios to
    /// the baselines.
    pub value: Option<f64>,
    /// 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// Requirements, with their answers.
    pub requirements: Vec<JudgementDocument<'a>>,
    /// Measurements that it lacks.
    pub missing: Vec<MissingMetric<'a>>,
    /// Relations to the recommended configuration, by metric.
    pub relations: Vec<(&'a MetricName, Option<RelationDocument>)>,
}

/// Requirement that a candidate was held against, with the answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JudgementDocument<'a> {
    /// Index of the requirement.
    pub requirement: usize,
    /// Index of the group.
    pub group: usize,
    /// Number of replicates.
    pub n: usize,
    /// Number of samples in the replicates; absent for a metric that is not a statistic of samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// `largest`, `worst_instant`, `no_event` or `median`.
    pub statistic: &'static str,
    /// Unit of the metric.
    pub unit: &'a str,
    /// Value that was measured.
    pub value: f64,
    /// 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// Limit in the unit.
    pub limit: f64,
    /// `holds`, `unclear` or `fails`.
    pub answer: &'static str,
    /// The largest share of further cells that may exceed the limit, with 95% confidence.
    pub further_cells: Option<f64>,
}

/// Measurement that a candidate lacks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MissingMetric<'a> {
    /// Index of the group; absent for all of them.
    pub group: Option<usize>,
    /// Name of the metric; absent for all of them.
    pub metric: Option<&'a MetricName>,
}

/// Relation of a candidate to the recommended one in a metric.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RelationDocument {
    /// Ratio to the recommended configuration.
    pub ratio: Option<f64>,
    /// 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// The verdict on the difference.
    pub verdict: &'static str,
    /// Estimate of the further replicates that would decide it.
    pub more: Option<u32>,
}

/// Effect of a requirement alone.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Obstacle {
    /// Index of the requirement.
    pub requirement: usize,
    /// Number of candidates that fail it.
    pub failing: usize,
    /// The best candidate if this requirement alone is dropped.
    pub without: Option<usize>,
}

/// Returns the relation of a candidate to the recommended one, if it satisfies every requirement
/// too.
pub fn runner_up(recommendation: &Recommendation, index: usize) -> Option<&RunnerUp> {
    let choice = recommendation.choice.as_ref()?;
    choice.runners_up.iter().find(|runner_up| runner_up.candidate == index)
}

/// Returns the status of a candidate, in a word.
pub fn status(recommendation: &Recommendation, index: usize) -> &'static str {
    let candidate = &recommendation.candidates[index];
    match &recommendation.choice {
        Some(choice) if choice.candidate == index => "recommended",
        _ if !candidate.missing.is_empty() => "unmeasured",
        _ if candidate.is_eligible() => "satisfies",
        _ => "fails",
    }
}

/// Returns a recommendation as a document.
pub fn document(advice: &Advice) -> RecommendationDocument<'_> {
    let recommendation = &advice.recommendation;
    let Recommendation { comparison, constraints, objective, candidates, choice, .. } =
        recommendation;
    let groups = comparison.groups.iter().map(|group| RecommendationGroup {
        workload: &group.workload,
        cpus: group.cpus,
        profile: group.profile.as_ref(),
        baseline: group.baseline().map(|baseline| baseline.name().to_string()),
    });
    let requirements = constraints.iter().map(|constraint| RecommendationRequirement {
        metric: &constraint.metric.name,
        unit: &constraint.metric.unit,
        comparator: constraint.comparator.as_str(),
        limit: match constraint.limit {
            Limit::Value(value) => Some(value),
            Limit::OfBaseline(_) => None,
        },
        of_baseline: match constraint.limit {
            Limit::OfBaseline(share) => Some(share),
            Limit::Value(_) => None,
        },
    });
    let certainty = choice.as_ref().map(|choice| choice.certainty());
    let proposal = advice.settings.as_ref().and_then(|settings| settings.as_ref().ok());
    let settings = proposal.map(|proposal| &proposal.settings);
    let is_unanswered = choice.is_none();
    let obstacles = recommendation.obstacles().into_iter().filter(|_| is_unanswered);
    RecommendationDocument {
        format: FORMAT,
        margin: comparison.margins.share().number(),
        margins: margins(recommendation),
        groups: groups.collect(),
        requirements: requirements.collect(),
        objective: RecommendationObjective {
            metric: &objective.metric.name,
            unit: &objective.metric.unit,
            wanted: objective.direction.as_str(),
            groups: &objective.groups,
        },
        among: recommendation
            .among
            .as_ref()
            .map(|among| among.patterns.iter().map(ToString::to_string).collect()),
        defaults: defaults(advice),
        recommended: choice.as_ref().map(|choice| choice.candidate),
        certainty: certainty.map(word),
        more: match certainty {
            Some(Certainty::Undecided { more, .. }) => more,
            _ => None,
        },
        preferred_by: choice.as_ref().map(|choice| match choice.preference {
            Preference::Objective => "objective",
            Preference::Constraint { .. } => "requirement",
            Preference::FewestChanges => "fewest_changes",
        }),
        next: advice.next.as_deref(),
        candidates: candidates
            .iter()
            .enumerate()
            .map(|(index, of)| candidate(recommendation, index, of))
            .collect(),
        obstacles: obstacles
            .map(|obstacle| Obstacle {
                requirement: obstacle.constraint,
                failing: obstacle.failing,
                without: obstacle.without,
            })
            .collect(),
        closest: recommendation.closest().filter(|_| is_unanswered),
        settings,
        settings_error: match &advice.settings {
            Some(Err(reason)) => Some(reason),
            _ => None,
        },
        refused: proposal.map(|proposal| proposal.refused.as_slice()).unwrap_or_default(),
        install: settings.and_then(Settings::install),
        targets: settings
            .map(|settings| Target::BOOT.map(|target| (target, emit(settings, target))).to_vec())
            .unwrap_or_default(),
        histograms: &comparison.histograms,
    }
}

fn defaults(advice: &Advice) -> Vec<&'static str> {
    let defaults = [
        ("objective", advice.recommendation.objective.is_default),
        ("margin", advice.is_margin_default),
        ("baseline", advice.is_baseline_default),
    ];
    defaults.into_iter().filter(|(_, is_default)| *is_default).map(|(name, _)| name).collect()
}

fn word(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Only => "only",
        Certainty::Sure => "sure",
        Certainty::Tied { .. } => "tied",
        Certainty::Undecided { .. } => "undecided",
    }
}

fn candidate<'a>(
    recommendation: &'a Recommendation,
    index: usize,
    of: &'a Candidate,
) -> CandidateDocument<'a> {
    let constrained = recommendation.constrained();
    let names = [&recommendation.objective.metric].into_iter().chain(constrained);
    let relations = runner_up(recommendation, index).into_iter().flat_map(|runner_up| {
        [runner_up.objective].into_iter().chain(runner_up.constrained.iter().copied())
    });
    CandidateDocument {
        run: of.run.as_deref(),
        kernel: &of.kernel,
        preempt: of.preempt,
        settings: &of.settings,
        status: status(recommendation, index),
        value: of.standing.map(|standing| standing.value),
        interval: of.standing.and_then(|standing| standing.interval).map(ends),
        requirements: of.judgements.iter().map(judgement).collect(),
        missing: of
            .missing
            .iter()
            .map(|it| MissingMetric { group: it.group, metric: it.metric.as_ref() })
            .collect(),
        relations: names
            .zip(relations)
            .map(|(metric, it)| (&metric.name, it.map(relation)))
            .collect(),
    }
}

fn judgement(of: &Judgement) -> JudgementDocument<'_> {
    JudgementDocument {
        requirement: of.constraint,
        group: of.group,
        n: of.n,
        samples: of.samples,
        statistic: of.statistic.as_str(),
        unit: &of.unit,
        value: of.value,
        interval: of.interval.map(ends),
        limit: of.limit,
        answer: of.answer.as_str(),
        further_cells: of.further_cells(),
    }
}

/// Returns the margins that differ from the share of all metrics.
fn margins(of: &Recommendation) -> BTreeMap<String, Margin> {
    let metrics = [&of.objective.metric].into_iter().chain(of.constrained());
    let margins = metrics.map(|metric| (metric.name.to_string(), of.margin(metric)));
    margins.filter(|(_, margin)| *margin != Margin::Share(of.comparison.margins.share())).collect()
}

fn relation(of: Combined) -> RelationDocument {
    RelationDocument {
        ratio: of.ratio,
        interval: of.interval.map(ends),
        verdict: of.verdict.as_str(),
        more: match of.verdict {
            Verdict::Undecided { more } => more,
            _ => None,
        },
    }
}

fn ends(Interval { low, high }: Interval) -> [f64; 2] {
    [low, high]
}
