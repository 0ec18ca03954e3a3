//! Which configuration to run: of those that satisfy all constraints the one with the best
//! objective, and how sure that is.

mod candidate;
mod choice;
mod combined;
mod judgement;
mod metrics;
mod requirement;
#[cfg(test)]
mod tests;

pub use candidate::{Candidate, Missing, Objective, Standing};
pub use choice::{Certainty, Choice, Preference, RunnerUp};
pub use combined::Combined;
pub use judgement::{Answer, Constraint, Judgement, Statistic};
pub use metrics::{MetricKind, UnknownMetric};
pub use requirement::{Comparator, Limit, ParseRequirementError, Requirement, UnitError};

use preemptlab_model::{Direction, Factors, MetricName};

use crate::{Baseline, Comparison, MeasuredCell, Rule, UnknownBaseline, compare};
use choice::{Field, constrained, is_eligible_without};

/// What is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// What must be satisfied.
    pub requirements: Vec<Requirement>,
    /// The metric to optimize.
    pub objective: String,
    /// `Higher` to maximize it, `Lower` to minimize it.
    pub direction: Direction,
}

/// The answer, and everything that it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Recommendation {
    /// What was measured, compared with the baseline.
    pub comparison: Comparison,
    /// What must be satisfied.
    pub constraints: Vec<Constraint>,
    /// What is to be optimized.
    pub objective: Objective,
    /// The names that were short for others, each with what it is short for.
    pub short_names: Vec<(String, String)>,
    /// Every configuration, in the order of the plan.
    pub candidates: Vec<Candidate>,
    /// What to run; `None` where nothing satisfies all constraints.
    pub choice: Option<Choice>,
}

/// What stands in the way where nothing satisfies all constraints.
#[derive(Clone, Debug, PartialEq)]
pub struct Obstacle {
    /// The constraint's index.
    pub constraint: usize,
    /// How many configurations fail it.
    pub failing: usize,
    /// The best configuration if this constraint alone is dropped, by index.
    pub without: Option<usize>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecommendError {
    /// There is no such metric.
    #[error(transparent)]
    Metric(#[from] UnknownMetric),
    /// The unit does not fit the metric.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// There is no such baseline.
    #[error(transparent)]
    Baseline(#[from] UnknownBaseline),
    /// No configuration has a measurement.
    #[error("nothing was measured: {}", reasons.join("; "))]
    NothingMeasured {
        /// Why not, each reason once.
        reasons: Vec<String>,
    },
    /// The objective is over several groups, and there is no ratio in any.
    #[error(
        "{metric} has no ratio to the baseline in any of several workloads, and so no mean over \
         them; choose another objective, another --baseline, or recordings of one workload"
    )]
    NoRatio {
        /// The metric.
        metric: MetricName,
    },
}

/// Recommends a configuration.
///
/// A configuration must satisfy every constraint in each group in which it was planned, and it must
/// have been measured there. The best objective is taken; of several that are the same within the
/// margin, the one that is better in a constrained metric, or else what changes the least against
/// the baseline.
///
/// # Errors
///
/// [`RecommendError`] where the question does not fit what was measured. That nothing satisfies the
/// constraints is no error, but an answer.
pub fn recommend(
    cells: &[MeasuredCell],
    rule: Rule<'_>,
    question: &Question,
) -> Result<Recommendation, RecommendError> {
    let known = metrics::known(&compare(cells, Rule { baseline: None, ..rule })?);
    if known.is_empty() {
        return Err(RecommendError::NothingMeasured { reasons: reasons(cells) });
    }
    let mut short_names: Vec<(String, String)> = Vec::new();
    let mut find = |name: &str| {
        let kind = metrics::find(&known, name)?;
        let pair = (name.to_owned(), kind.name.to_string());
        if kind.name != name && !short_names.contains(&pair) {
            short_names.push(pair);
        }
        Ok::<_, UnknownMetric>(kind.clone())
    };
    let mut constraints = Vec::new();
    for requirement in &question.requirements {
        let metric = find(&requirement.metric)?;
        let limit = requirement.limit(&metric.unit)?;
        constraints.push(Constraint { metric, comparator: requirement.comparator, limit });
    }
    let metric = find(&question.objective)?;
    let comparison = compare(cells, rule)?;
    let groups = objective_groups(&comparison, &metric)?;
    let objective = Objective { metric, direction: question.direction, groups };
    let candidates = candidate::candidates(&comparison, &constraints, &objective);
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
    Ok(Recommendation { comparison, constraints, objective, short_names, candidates, choice })
}

/// The groups that have the metric; of several those in which there is a ratio to a baseline.
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
    /// The metrics with constraints that are not what is to be optimized, each once.
    pub fn constrained(&self) -> Vec<&MetricKind> {
        constrained(&self.constraints, &self.objective)
    }

    /// The configuration that is nearest to satisfying everything, by the largest ratio by which it
    /// misses a limit; `None` where none was measured whole.
    pub fn closest(&self) -> Option<usize> {
        let excess = |candidate: &Candidate| {
            candidate.judgements.iter().map(Judgement::excess).fold(0.0, f64::max)
        };
        let measured = self.candidates.iter().enumerate();
        let measured = measured.filter(|(_, candidate)| candidate.missing.is_empty());
        let nearest = measured.min_by(|(_, one), (_, other)| excess(one).total_cmp(&excess(other)));
        nearest.map(|(index, _)| index)
    }

    /// What each constraint does, alone.
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
