//! The choice of a configuration: of those that satisfy all constraints the one with the best
//! objective, with the certainty of the choice.

mod among;
mod candidate;
mod choice;
mod combined;
mod judgement;
mod metrics;
mod requirement;
#[cfg(test)]
mod tests;

pub use among::{Among, NoMatch, Pattern};
pub use candidate::{Candidate, Missing, Objective, Standing};
pub use choice::{Certainty, Choice, Preference, RunnerUp};
pub use combined::Combined;
pub use judgement::{Answer, Constraint, Judgement, Statistic};
pub use metrics::{MetricKind, UnknownMetric};
pub(crate) use metrics::{find, known};
pub use requirement::{Comparator, Limit, ParseRequirementError, Requirement, UnitError};

use preemptlab_model::{Direction, Factors, MeasuredCell, MetricName};

use crate::{Baseline, Comparison, Margin, Rule, UnknownBaseline, compare};
use choice::{Field, constrained, is_eligible_without};

/// Question of a recommendation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Question {
    /// Requirements that a configuration must satisfy.
    pub requirements: Vec<Requirement>,
    /// The metric to optimize, and `Higher` to maximize or `Lower` to minimize it; `None` maximizes
    /// [`MetricName::OBJECTIVE`].
    pub objective: Option<(String, Direction)>,
    /// The configurations to choose from, by pattern; empty for every one. The baseline may be
    /// another.
    pub among: Vec<Pattern>,
}

/// The answer, and everything that it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Recommendation {
    /// Comparison of the measurements with the baseline.
    pub comparison: Comparison,
    /// Constraints that a configuration must satisfy.
    pub constraints: Vec<Constraint>,
    /// Objective of the choice.
    pub objective: Objective,
    /// Names that were short for others, each with the full name.
    pub short_names: Vec<(String, String)>,
    /// Patterns that limit the candidates; `None` where every configuration is one.
    pub among: Option<Among>,
    /// Every candidate, in the order of the plan.
    pub candidates: Vec<Candidate>,
    /// Recommended configuration; `None` where none satisfies all constraints.
    pub choice: Option<Choice>,
}

/// Constraint that stands in the way where no configuration satisfies all.
#[derive(Clone, Debug, PartialEq)]
pub struct Obstacle {
    /// Index of the constraint.
    pub constraint: usize,
    /// Number of configurations that fail it.
    pub failing: usize,
    /// The best configuration if this constraint alone is dropped, by index.
    pub without: Option<usize>,
}

/// Reason why there is no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecommendError {
    /// There is no such metric.
    #[error(transparent)]
    Metric(#[from] UnknownMetric),
    /// The default objective was not measured.
    #[error(
        "nothing says what to optimize, and the recordings lack `{}`, which is maximized by default; \
         add --maximize METRIC or --minimize METRIC with one of {}",
        MetricName::OBJECTIVE,
        known.join(", ")
    )]
    NoDefault {
        /// The metrics that there are.
        known: Vec<String>,
    },
    /// A pattern of candidates matches nothing.
    #[error(transparent)]
    NoMatch(#[from] NoMatch),
    /// The unit does not fit the metric.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// There is no such baseline.
    #[error(transparent)]
    Baseline(#[from] UnknownBaseline),
    /// No configuration has a measurement.
    #[error("nothing was measured: {}", reasons.join("; "))]
    NothingMeasured {
        /// Reasons, each once.
        reasons: Vec<String>,
    },
    /// The objective is over several groups, and there is no ratio in any.
    #[error(
        "{metric} has no ratio to the baseline in any of several workloads, and so no mean over \
         them; choose another objective, another --baseline, or recordings of one workload"
    )]
    NoRatio {
        /// Name of the metric.
        metric: MetricName,
    },
}

/// Recommends a configuration.
///
/// A configuration must satisfy every constraint in each group in which it was planned, and it must
/// have been measured there. The one with the best objective is recommended. Of several that are
/// the same within the margin, it is the one that is better in a constrained metric, or else the
/// one with the smallest change against the baseline.
///
/// # Errors
///
/// [`RecommendError`] where the question does not fit the measurements. That nothing satisfies the
/// constraints is not an error, but an answer.
pub fn recommend(
    cells: &[MeasuredCell],
    rule: Rule<'_>,
    question: &Question,
) -> Result<Recommendation, RecommendError> {
    let known = metrics::known(&compare(cells, Rule { baseline: None, ..rule.clone() })?);
    if known.is_empty() {
        return Err(RecommendError::NothingMeasured { reasons: reasons(cells) });
    }
    let mut short_names: Vec<(String, String)> = Vec::new();
    let mut find = |name: &str| {
        let kinds = metrics::find(&known, name)?;
        let pair = (name.to_owned(), kinds[0].name.to_string());
        if pair.0 != pair.1 && !short_names.contains(&pair) {
            short_names.push(pair);
        }
        Ok::<_, UnknownMetric>(kinds)
    };
    let mut constraints = Vec::new();
    for requirement in &question.requirements {
        let kinds = find(&requirement.metric)?;
        let units: Vec<&str> = kinds.iter().map(|kind| kind.unit.as_str()).collect();
        let (unit, limit) = requirement.limit(&units)?;
        let metric = kinds[unit].clone();
        constraints.push(Constraint { metric, comparator: requirement.comparator, limit });
    }
    let (metric, direction) = match &question.objective {
        Some((name, direction)) => (find(name)?[0].clone(), *direction),
        None => match find(&MetricName::OBJECTIVE.to_string()) {
            Ok(kinds) => (kinds[0].clone(), Direction::Higher),
            Err(UnknownMetric { known, .. }) => return Err(RecommendError::NoDefault { known }),
        },
    };
    let comparison = compare(cells, rule.clone())?;
    let groups = objective_groups(&comparison, &metric)?;
    let is_default = question.objective.is_none();
    let objective = Objective { metric, direction, is_default, groups };
    let candidates = candidate::candidates(&comparison, &constraints, &objective);
    let (candidates, among) = among::among(candidates, &question.among)?;
    let (comparison, constraints) = (&comparison, &constraints);
    let field = Field {
        cells,
        rule,
        comparison,
        constraints,
        objective: &objective,
        candidates: &candidates,
    };
    let choice = field.choose(Candidate::is_eligible)?;
    let (comparison, constraints) = (comparison.clone(), constraints.clone());
    Ok(Recommendation {
        comparison,
        constraints,
        objective,
        short_names,
        among,
        candidates,
        choice,
    })
}

/// Returns the groups that have the metric; of several those in which there is a ratio to a
/// baseline.
fn objective_groups(
    comparison: &Comparison,
    metric: &MetricKind,
) -> Result<Vec<usize>, RecommendError> {
    let groups = comparison.groups.iter().enumerate();
    let with: Vec<usize> = groups
        .filter(|(_, group)| group.metrics().contains(&&metric.name))
        .map(|(index, _)| index)
        .collect();
    if with.len() == 1 {
        return Ok(with);
    }
    let has_ratio = |index: &usize| {
        let baseline = comparison.groups[*index].baseline();
        baseline
            .and_then(|baseline| baseline.summary(&metric.name))
            .is_some_and(|summary| summary.median > 0.0)
    };
    let groups: Vec<usize> = with.into_iter().filter(has_ratio).collect();
    match groups.is_empty() {
        true => Err(RecommendError::NoRatio { metric: metric.name.clone() }),
        false => Ok(groups),
    }
}

fn reasons(cells: &[MeasuredCell]) -> Vec<String> {
    let mut reasons = Vec::new();
    for cell in cells {
        let Err(no_result) = &cell.result else { continue };
        let Factors { kernel, preempt, settings, .. } = cell.factors.clone();
        let name = Baseline { kernel, preempt, settings };
        let reason = format!("{name}: {no_result}");
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    if reasons.is_empty() {
        reasons.push("there is no cell with a metric".to_owned());
    }
    reasons
}

impl Recommendation {
    /// Returns the metrics with constraints other than the objective's, each once.
    pub fn constrained(&self) -> Vec<&MetricKind> {
        constrained(&self.constraints, &self.objective)
    }

    /// Returns the difference up to which two configurations have the same metric.
    pub fn margin(&self, metric: &MetricKind) -> Margin {
        self.comparison.margins.of(&metric.name, &metric.unit)
    }

    /// Returns the configuration that is nearest to satisfying everything, by the largest ratio by
    /// which it misses a limit; `None` where none was measured whole.
    pub fn closest(&self) -> Option<usize> {
        let excess = |candidate: &Candidate| {
            candidate.judgements.iter().map(Judgement::excess).fold(0.0, f64::max)
        };
        let measured = self.candidates.iter().enumerate();
        let measured = measured.filter(|(_, candidate)| candidate.missing.is_empty());
        let nearest = measured.min_by(|(_, one), (_, other)| excess(one).total_cmp(&excess(other)));
        nearest.map(|(index, _)| index)
    }

    /// Returns the effect of each constraint alone.
    pub fn obstacles(&self) -> Vec<Obstacle> {
        let better = |one: f64, other: f64| match self.objective.direction {
            Direction::Lower => one < other,
            Direction::Higher => one > other,
        };
        let obstacle = |constraint: usize| {
            let fails = |candidate: &&Candidate| {
                let judged = candidate.judgements.iter();
                judged.filter(|it| it.constraint == constraint).any(|it| it.answer == Answer::Fails)
            };
            let mut without: Option<(usize, f64)> = None;
            for (index, candidate) in self.candidates.iter().enumerate() {
                let Some(Standing { value, .. }) = candidate.standing else { continue };
                if is_eligible_without(candidate, constraint)
                    && without.is_none_or(|(_, best)| better(value, best))
                {
                    without = Some((index, value));
                }
            }
            Obstacle {
                constraint,
                failing: self.candidates.iter().filter(fails).count(),
                without: without.map(|(index, _)| index),
            }
        };
        (0..self.constraints.len()).map(obstacle).collect()
    }
}
