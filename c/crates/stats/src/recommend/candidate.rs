use preemptlab_model::{Direction, KernelRef, MetricName, PreemptMode, Settings};

use super::{
    combined::{geometric_mean, mean_interval},
    judgement::{Answer, Constraint, Judgement},
};
use crate::{Baseline, Comparison, Configuration, Interval, MetricKind, Samples};

/// Metric that is to be as large or as small as possible.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// Metric of the objective.
    pub metric: MetricKind,
    /// `Higher` to maximize, `Lower` to minimize.
    pub direction: Direction,
    /// Whether it is the default, because the user named none.
    pub is_default: bool,
    /// The groups that it is over, by index. Where there are several, it is the geometric mean of
    /// the ratios to the baseline of each.
    pub groups: Vec<usize>,
}

/// A configuration that might be recommended: the same kernel and mode in every group.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The recording it is from, when there are several.
    pub run: Option<String>,
    /// The kernel's name in the experiment.
    pub kernel: KernelRef,
    /// Requested mode.
    pub preempt: PreemptMode,
    /// Settings besides the mode.
    pub settings: Settings,
    /// Index among the configurations of each group; `None` where it was not planned.
    pub places: Vec<Option<usize>>,
    /// Judgements of the constraints, by constraint and then by group.
    pub judgements: Vec<Judgement>,
    /// Value of the objective; `None` where it is not known.
    pub standing: Option<Standing>,
    /// Missing measurements. With any the candidate cannot be recommended.
    pub missing: Vec<Missing>,
}

/// Value of a configuration's objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// In one group the median, in the metric's unit; in several the geometric mean of its ratios
    /// to the baselines.
    pub value: f64,
    /// 95 % interval of the value; `None` for single replicates.
    pub interval: Option<Interval>,
    /// Groups that it is over.
    pub groups: usize,
}

/// Something that was not measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The index of the group; `None` for all groups in which the configuration was planned.
    pub group: Option<usize>,
    /// The metric; `None` when nothing at all was measured there.
    pub metric: Option<MetricName>,
}

impl Candidate {
    /// Returns its name in the notation of a baseline.
    pub fn name(&self) -> Baseline {
        Baseline {
            kernel: self.kernel.clone(),
            preempt: self.preempt,
            settings: self.settings.clone(),
        }
    }

    /// Returns whether it may be recommended: everything is known, and no constraint fails.
    pub fn is_eligible(&self) -> bool {
        self.missing.is_empty()
            && self.standing.is_some()
            && self.judgements.iter().all(|judgement| judgement.answer != Answer::Fails)
    }

    /// Returns the failure of a limit with the largest ratio, and the number of groups with a
    /// failure; `None` where there is none.
    pub fn worst_failure(&self, constraint: usize) -> Option<(&Judgement, usize)> {
        let fails = |it: &&Judgement| it.constraint == constraint && it.answer == Answer::Fails;
        let failures = self.judgements.iter().filter(fails);
        let worst = failures.clone().min_by(|one, other| other.excess().total_cmp(&one.excess()));
        Some((worst?, failures.count()))
    }

    /// Returns its configuration in a group.
    pub fn configuration<'a>(
        &self,
        comparison: &'a Comparison,
        group: usize,
    ) -> Option<&'a Configuration> {
        comparison.groups.get(group)?.configurations.get((*self.places.get(group)?)?)
    }

    /// Returns whether a configuration is this candidate's.
    pub(crate) fn is(&self, configuration: &Configuration) -> bool {
        (&configuration.run, configuration.name()) == (&self.run, self.name())
    }
}

/// Returns every configuration of a comparison once, judged.
pub fn candidates(
    comparison: &Comparison,
    constraints: &[Constraint],
    objective: &Objective,
) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = Vec::new();
    for (group, of) in comparison.groups.iter().enumerate() {
        for (place, configuration) in of.configurations.iter().enumerate() {
            let known = candidates.iter().position(|candidate| candidate.is(configuration));
            let index = known.unwrap_or_else(|| {
                candidates.push(unjudged(configuration, comparison.groups.len()));
                candidates.len() - 1
            });
            candidates[index].places[group] = Some(place);
        }
    }
    for candidate in &mut candidates {
        judge(candidate, comparison, constraints);
        stand(candidate, comparison, objective);
    }
    candidates
}

fn unjudged(configuration: &Configuration, groups: usize) -> Candidate {
    let Configuration { run, kernel, preempt, settings, .. } = configuration;
    Candidate {
        run: run.clone(),
        kernel: kernel.clone(),
        preempt: *preempt,
        settings: settings.clone(),
        places: vec![None; groups],
        judgements: Vec::new(),
        standing: None,
        missing: Vec::new(),
    }
}

/// Judges a candidate. A metric that no configuration of a group has is not required there, but it
/// is in some group.
fn judge(candidate: &mut Candidate, comparison: &Comparison, constraints: &[Constraint]) {
    let measured = |group: usize| {
        let configuration = candidate.configuration(comparison, group)?;
        Some((group, configuration)).filter(|(_, each)| each.measured() > 0)
    };
    let groups = 0..comparison.groups.len();
    let is_unmeasured =
        |group: &usize| candidate.places[*group].is_some() && measured(*group).is_none();
    let mut missing: Vec<Missing> = groups
        .clone()
        .filter(is_unmeasured)
        .map(|group| Missing { group: Some(group), metric: None })
        .collect();
    let mut judgements = Vec::new();
    for (index, constraint) in constraints.iter().enumerate() {
        let name = &constraint.metric.name;
        let before = (judgements.len(), missing.len());
        for (group, configuration) in groups.clone().filter_map(measured) {
            let of = &comparison.groups[group];
            let is_about = |each: &Configuration| {
                constraint.is_about(each.summary(name))
                    || each.samples(name).is_some_and(Samples::are_none)
            };
            if !of.configurations.iter().any(is_about) {
                continue;
            }
            let is_baseline = candidate.places[group] == of.baseline;
            let judged =
                Judgement::new((index, constraint), (group, of), (configuration, is_baseline));
            match judged {
                Some(judgement) => judgements.push(judgement),
                None => missing.push(Missing { group: Some(group), metric: Some(name.clone()) }),
            }
        }
        let is_measured = groups.clone().any(|group| measured(group).is_some());
        if is_measured && before == (judgements.len(), missing.len()) {
            missing.push(Missing { group: None, metric: Some(name.clone()) });
        }
    }
    candidate.judgements = judgements;
    candidate.missing = missing;
}

fn stand(candidate: &mut Candidate, comparison: &Comparison, objective: &Objective) {
    let name = &objective.metric.name;
    let mut summaries = Vec::new();
    let mut missing = Vec::new();
    for &group in &objective.groups {
        let Some(configuration) = candidate.configuration(comparison, group) else { continue };
        match configuration.summary(name) {
            Some(summary) => summaries.push((group, summary)),
            None if configuration.measured() == 0 => {}
            None => missing.push(Missing { group: Some(group), metric: Some(name.clone()) }),
        }
    }
    if objective.groups.len() == 1 {
        candidate.standing = summaries.first().map(|(_, summary)| Standing {
            value: summary.median,
            interval: summary.interval,
            groups: 1,
        });
    } else {
        let ratios: Vec<_> = summaries
            .iter()
            .map(|(group, summary)| {
                let itself = candidate.places[*group] == comparison.groups[*group].baseline;
                if itself { (Some(1.0), None) } else { ratio(summary.effect.as_ref()) }
            })
            .collect();
        let values: Option<Vec<f64>> = ratios.iter().map(|(ratio, _)| *ratio).collect();
        let intervals: Option<Vec<(f64, Interval)>> =
            ratios.iter().map(|(ratio, interval)| ratio.zip(*interval)).collect();
        candidate.standing = values.and_then(geometric_mean).map(|value| Standing {
            value,
            interval: intervals.and_then(|intervals| mean_interval(&intervals)),
            groups: ratios.len(),
        });
    }
    if candidate.standing.is_none() && missing.is_empty() && candidate.missing.is_empty() {
        missing.push(Missing { group: None, metric: Some(name.clone()) });
    }
    candidate.missing.extend(missing);
}

fn ratio(effect: Option<&crate::Effect>) -> (Option<f64>, Option<Interval>) {
    effect.map_or((None, None), |effect| (effect.ratio, effect.interval))
}
