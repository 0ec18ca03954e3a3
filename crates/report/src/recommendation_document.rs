use preemptlab_analysis::advice::Advice;
use preemptlab_model::{KernelRef, MetricName, PreemptMode, PricesOf, plain};
use preemptlab_stats::{
    Candidate, Certainty, Combined, Interval, Judgement, Limit, MachineHistogram, Preference,
    Recommendation, Verdict,
};
use preemptlab_system::tune::{Command, Measures, Refusal, Settings, Target, emit};
use serde::Serialize;

use crate::recommendation_csv::{runner_up, status};

/// Version of the output of `recommend --format json`. Fields may be added within a version.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    margin: f64,
    groups: Vec<Group<'a>>,
    requirements: Vec<Requirement<'a>>,
    objective: Objective<'a>,
    /// The patterns that limit the candidates; absent where every configuration is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    among: Option<Vec<String>>,
    /// Defaults that took part: `objective`, `margin`, `baseline`.
    defaults: Vec<&'static str>,
    /// The index of the recommended one among the candidates.
    recommended: Option<usize>,
    /// `only`, `sure`, `tied` or `undecided`.
    certainty: Option<&'static str>,
    /// Estimate of the further replicates that would decide an undecided comparison.
    more: Option<u32>,
    /// `objective`, `requirement` or `fewest_changes`.
    preferred_by: Option<&'static str>,
    next: Option<&'a str>,
    candidates: Vec<CandidateDocument<'a>>,
    /// Effect of each requirement alone, where nothing is recommended.
    obstacles: Vec<Obstacle>,
    /// Configuration that comes closest, where nothing is recommended.
    closest: Option<usize>,
    settings: Option<&'a Settings>,
    settings_error: Option<&'a str>,
    /// Settings of the configuration that `apply` refuses; the settings do not hold them.
    refused: &'a [Refusal],
    install: Option<Command>,
    targets: Vec<(Target, Measures)>,
    /// Histograms of machines, which decide nothing; absent where none was named.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    histograms: &'a [MachineHistogram],
}

#[derive(Serialize)]
struct Group<'a> {
    workload: &'a str,
    cpus: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'a PricesOf>,
    baseline: Option<String>,
}

#[derive(Serialize)]
struct Requirement<'a> {
    metric: &'a MetricName,
    unit: &'a str,
    comparator: &'static str,
    /// Limit in the metric's unit.
    limit: Option<f64>,
    /// Limit as a share of the baseline's median.
    of_baseline: Option<f64>,
}

#[derive(Serialize)]
struct Objective<'a> {
    metric: &'a MetricName,
    unit: &'a str,
    /// `higher` or `lower`.
    wanted: &'static str,
    groups: &'a [usize],
}

#[derive(Serialize)]
struct CandidateDocument<'a> {
    run: Option<&'a str>,
    kernel: &'a KernelRef,
    preempt: PreemptMode,
    settings: &'a preemptlab_model::Settings,
    /// `recommended`, `satisfies`, `fails` or `unmeasured`.
    status: &'static str,
    /// Value of the objective: in one group in its unit, in several a geometric mean of ratios to
    /// the baselines.
    value: Option<f64>,
    interval: Option<[f64; 2]>,
    requirements: Vec<JudgementDocument<'a>>,
    missing: Vec<Missing<'a>>,
    /// Relations to the recommended configuration, by metric.
    relations: Vec<(&'a MetricName, Option<Relation>)>,
}

#[derive(Serialize)]
struct JudgementDocument<'a> {
    requirement: usize,
    group: usize,
    n: usize,
    /// Number of samples in the replicates; absent for what is no statistic of samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<u64>,
    /// `largest`, `worst_instant`, `no_event` or `median`.
    statistic: &'static str,
    unit: &'a str,
    value: f64,
    interval: Option<[f64; 2]>,
    limit: f64,
    /// `holds`, `unclear` or `fails`.
    answer: &'static str,
    /// The largest share of further cells that may exceed the limit, with 95% confidence.
    further_cells: Option<f64>,
}

#[derive(Serialize)]
struct Missing<'a> {
    group: Option<usize>,
    metric: Option<&'a MetricName>,
}

#[derive(Serialize)]
struct Relation {
    ratio: Option<f64>,
    interval: Option<[f64; 2]>,
    verdict: &'static str,
    more: Option<u32>,
}

#[derive(Serialize)]
struct Obstacle {
    requirement: usize,
    failing: usize,
    /// The best candidate if this requirement alone is dropped.
    without: Option<usize>,
}

/// Writes a recommendation as JSON.
///
/// # Panics
///
/// Never: the document has no maps, and its numbers are finite.
pub fn recommendation_json(advice: &Advice) -> String {
    let document = document(advice);
    let text = serde_json::to_string_pretty(&document).expect("the document has a JSON form");
    format!("{}\n", plain::json(&text))
}

fn document(advice: &Advice) -> Document<'_> {
    let recommendation = &advice.recommendation;
    let Recommendation { comparison, constraints, objective, candidates, choice, .. } =
        recommendation;
    let groups = comparison.groups.iter().map(|group| Group {
        workload: &group.workload,
        cpus: group.cpus,
        profile: group.profile.as_ref(),
        baseline: group.baseline().map(|baseline| baseline.name().to_string()),
    });
    let requirements = constraints.iter().map(|constraint| Requirement {
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
    Document {
        format: FORMAT,
        margin: comparison.margin.share(),
        groups: groups.collect(),
        requirements: requirements.collect(),
        objective: Objective {
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
            .map(|it| Missing { group: it.group, metric: it.metric.as_ref() })
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

fn relation(of: Combined) -> Relation {
    Relation {
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
