use std::cmp::Ordering;

use preemptlab_model::{Direction, Factors, MeasuredCell, MetricName};

use super::{
    candidate::{Candidate, Objective},
    combined::{Combined, InGroup, combine},
    judgement::{Answer, Constraint},
};
use crate::{Comparison, MetricKind, Rule, Summary, UnknownBaseline, Verdict, compare};

/// Recommended candidate with its runners-up, by the indices of candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Index of the recommended candidate.
    pub candidate: usize,
    /// Reason why it is preferred to those that are as good.
    pub preference: Preference,
    /// The others that satisfy all constraints, the best first.
    pub runners_up: Vec<RunnerUp>,
}

/// Reason why a configuration is preferred to those that are the same within the margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// The configuration has the best objective.
    Objective,
    /// This many are the same, and it is better in this constraint's metric.
    Constraint {
        /// Index of the constraint.
        constraint: usize,
    },
    /// Others are the same, and it changes the least against the baseline.
    FewestChanges,
}

/// Another configuration that satisfies all constraints, related to the recommended one.
#[derive(Clone, Debug, PartialEq)]
pub struct RunnerUp {
    /// Index of the candidate.
    pub candidate: usize,
    /// Relation of its objective.
    pub objective: Option<Combined>,
    /// The other metrics with constraints, in the order of [`constrained`].
    pub constrained: Vec<Option<Combined>>,
}

/// Certainty that the recommended configuration is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// There is no other candidate.
    Only,
    /// All others are worse.
    Sure,
    /// Some are the same within the margin, all others are worse.
    Tied {
        /// Number of them.
        others: usize,
    },
    /// Some might be better.
    Undecided {
        /// Number of them.
        others: usize,
        /// About how many more replicates would tell; `None` where that cannot be estimated.
        more: Option<u32>,
    },
}

impl Choice {
    /// Returns the certainty of the choice.
    pub fn certainty(&self) -> Certainty {
        let verdicts = self.runners_up.iter().map(|each| each.objective.map(|it| it.verdict));
        let open: Vec<Option<u32>> = verdicts
            .clone()
            .filter_map(|verdict| match verdict {
                Some(Verdict::Undecided { more }) => Some(more),
                None => Some(None),
                _ => None,
            })
            .collect();
        if !open.is_empty() {
            let more = open.iter().copied().collect::<Option<Vec<u32>>>();
            return Certainty::Undecided {
                others: open.len(),
                more: more.and_then(|more| more.into_iter().max()),
            };
        }
        match verdicts.filter(|verdict| *verdict != Some(Verdict::Worse)).count() {
            _ if self.runners_up.is_empty() => Certainty::Only,
            0 => Certainty::Sure,
            others => Certainty::Tied { others },
        }
    }
}

/// Returns the metrics with constraints other than the objective's, each once.
pub fn constrained<'a>(
    constraints: &'a [Constraint],
    objective: &Objective,
) -> Vec<&'a MetricKind> {
    let mut metrics = Vec::new();
    for Constraint { metric, .. } in constraints {
        if metric.name != objective.metric.name && !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    metrics
}

/// Candidates of a choice, with its rule and constraints.
pub struct Field<'a> {
    pub cells: &'a [MeasuredCell],
    pub rule: Rule<'a>,
    pub comparison: &'a Comparison,
    pub constraints: &'a [Constraint],
    pub objective: &'a Objective,
    pub candidates: &'a [Candidate],
}

impl Field<'_> {
    /// Chooses among the candidates for which `is_eligible` holds; `None` where there are none.
    ///
    /// # Errors
    ///
    /// When the baseline has no measurements.
    pub fn choose(
        &self,
        is_eligible: impl Fn(&Candidate) -> bool,
    ) -> Result<Option<Choice>, UnknownBaseline> {
        let ranking = self.ranking(is_eligible);
        let Some(&best) = ranking.first() else { return Ok(None) };
        let others = self.runners_up(best, &ranking)?;
        let (candidate, preference) = self.prefer(best, &others);
        let runners_up = match candidate == best {
            true => others,
            false => self.runners_up(candidate, &ranking)?,
        };
        Ok(Some(Choice { candidate, preference, runners_up }))
    }

    /// Ranks the candidates for which `is_eligible` holds, the best first; of equals the one that
    /// was planned first.
    pub fn ranking(&self, is_eligible: impl Fn(&Candidate) -> bool) -> Vec<usize> {
        let all = self.candidates.iter().enumerate().filter(|(_, each)| is_eligible(each));
        let mut ranking: Vec<(usize, f64)> =
            all.filter_map(|(index, candidate)| Some((index, candidate.standing?.value))).collect();
        ranking.sort_by(|(_, left), (_, right)| self.order(*left, *right));
        ranking.into_iter().map(|(index, _)| index).collect()
    }

    fn order(&self, left: f64, right: f64) -> Ordering {
        match self.objective.direction {
            Direction::Lower => left.total_cmp(&right),
            Direction::Higher => right.total_cmp(&left),
        }
    }

    /// Prefers one of those that are the same as the best within the margin: one that is better in
    /// a constrained metric; or else, among those that are not worse in it, the one with the
    /// smallest change.
    fn prefer(&self, best: usize, others: &[RunnerUp]) -> (usize, Preference) {
        let is_same = |each: &&RunnerUp| each.objective.is_some_and(|it| it.verdict.is_alike());
        let ties: Vec<&RunnerUp> = others.iter().filter(is_same).collect();
        let metrics = constrained(self.constraints, self.objective);
        for (index, metric) in metrics.iter().enumerate() {
            let ratio = |tie: &&&RunnerUp| tie.constrained[index].and_then(|it| it.ratio);
            let order = |one: &&&RunnerUp, other: &&&RunnerUp| {
                let (one, other) =
                    (ratio(one).unwrap_or(f64::INFINITY), ratio(other).unwrap_or(f64::INFINITY));
                match metric.direction {
                    Direction::Lower => one.total_cmp(&other),
                    Direction::Higher => other.total_cmp(&one),
                }
            };
            let is_better = |tie: &&&RunnerUp| {
                tie.constrained[index].is_some_and(|it| it.verdict == Verdict::Better)
            };
            let constraint = self.constraints.iter().position(|each| each.metric == **metric);
            if let (Some(tie), Some(constraint)) =
                (ties.iter().filter(is_better).min_by(order), constraint)
            {
                return (tie.candidate, Preference::Constraint { constraint });
            }
        }
        let is_not_worse = |tie: &&&RunnerUp| {
            tie.constrained.iter().flatten().all(|it| it.verdict != Verdict::Worse)
        };
        let least = ties
            .iter()
            .filter(is_not_worse)
            .map(|tie| (self.changes(tie.candidate), tie.candidate))
            .min_by_key(|(changes, _)| *changes);
        match least {
            Some((changes, tie)) if changes < self.changes(best) => {
                (tie, Preference::FewestChanges)
            }
            _ => (best, Preference::Objective),
        }
    }

    /// Returns the size of the change against the baseline: nothing, a parameter, or the kernel.
    fn changes(&self, candidate: usize) -> u32 {
        let candidate = &self.candidates[candidate];
        let group = self.objective.groups.first().map(|group| &self.comparison.groups[*group]);
        let Some(baseline) = group.and_then(|group| group.baseline()) else { return 2 };
        if candidate.is(baseline) {
            return 0;
        }
        let is_its_kernel =
            (&candidate.run, &candidate.kernel) == (&baseline.run, &baseline.kernel);
        if is_its_kernel { 1 } else { 2 }
    }

    /// Relates all others to one, in this order.
    fn runners_up(&self, to: usize, ranking: &[usize]) -> Result<Vec<RunnerUp>, UnknownBaseline> {
        let others: Vec<usize> = ranking.iter().copied().filter(|index| *index != to).collect();
        let against = self.against(to)?;
        let relate = |metric: &MetricKind, groups: Option<&[usize]>| {
            let relations: Vec<Vec<InGroup>> = others
                .iter()
                .map(|other| self.relation(&against, to, *other, &metric.name, groups))
                .collect();
            let alpha = self.rule.looks.alpha(self.comparison.looks - 1);
            let margin = self.rule.margins.of(&metric.name, &metric.unit);
            combine(&relations, metric.direction, margin, alpha)
        };
        let objective = relate(&self.objective.metric, Some(&self.objective.groups));
        let constrained: Vec<Vec<Option<Combined>>> = constrained(self.constraints, self.objective)
            .into_iter()
            .map(|metric| relate(metric, None))
            .collect();
        let runner_up = |(place, candidate): (usize, &usize)| RunnerUp {
            candidate: *candidate,
            objective: objective[place].map(|it| self.in_its_direction(it)),
            constrained: constrained.iter().map(|metric| metric[place]).collect(),
        };
        Ok(others.iter().enumerate().map(runner_up).collect())
    }

    /// Words are for the metric's own direction, and the user may want the opposite one.
    fn in_its_direction(&self, combined: Combined) -> Combined {
        let verdict = match combined.verdict {
            Verdict::Better if self.is_reversed() => Verdict::Worse,
            Verdict::Worse if self.is_reversed() => Verdict::Better,
            verdict => verdict,
        };
        Combined { verdict, ..combined }
    }

    fn is_reversed(&self) -> bool {
        self.objective.direction != self.objective.metric.direction
    }

    /// Returns the comparison with this candidate as the baseline. Its cells come first, so that it
    /// is meant even if another recording has a configuration of the same name.
    fn against(&self, candidate: usize) -> Result<Comparison, UnknownBaseline> {
        let candidate = &self.candidates[candidate];
        let (mut own, others): (Vec<_>, Vec<_>) = self.cells.iter().cloned().partition(|cell| {
            let Factors { kernel, preempt, settings, .. } = &cell.factors;
            (&cell.run, kernel, *preempt, settings)
                == (&candidate.run, &candidate.kernel, candidate.preempt, &candidate.settings)
        });
        own.extend(others);
        let name = candidate.name();
        compare(&own, Rule { baseline: Some(&name), ..self.rule.clone() })
    }

    /// Relates one candidate to another, in every group in which both have the metric.
    fn relation(
        &self,
        against: &Comparison,
        to: usize,
        other: usize,
        metric: &MetricName,
        groups: Option<&[usize]>,
    ) -> Vec<InGroup> {
        let is_wanted = |index: &usize| groups.is_none_or(|groups| groups.contains(index));
        let in_group = |index: usize| {
            let group = &self.comparison.groups[index];
            let of = against.groups.iter().find(|of| of.is_alike(group))?;
            let summary = |candidate: usize| -> Option<&Summary> {
                let candidate = &self.candidates[candidate];
                of.configurations.iter().find(|each| candidate.is(each))?.summary(metric)
            };
            let (summary, base) = (summary(other)?, summary(to)?);
            Some(InGroup { effect: summary.effect?, n: summary.n.min(base.n) })
        };
        (0..self.comparison.groups.len()).filter(is_wanted).filter_map(in_group).collect()
    }
}

/// Returns whether a candidate satisfies all constraints but one.
pub fn is_eligible_without(candidate: &Candidate, constraint: usize) -> bool {
    let fails = |judgement: &&super::Judgement| judgement.answer == Answer::Fails;
    candidate.missing.is_empty()
        && candidate.judgements.iter().filter(fails).all(|it| it.constraint == constraint)
}
