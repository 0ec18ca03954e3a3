use crate::{
    Effect, Interval, Margin, REPLICATES_MIN, Verdict, bootstrap::ln_binomial,
    contrast::more_replicates, multiplicity::adjust,
};
use preemptlab_model::Direction;

/// Relation of a configuration to another one over several groups: the geometric mean of the ratios
/// in each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Combined {
    /// The geometric mean; `None` where some ratio is missing.
    pub ratio: Option<f64>,
    /// 95 % interval; `None` where some interval is missing.
    pub interval: Option<Interval>,
    /// Verdict on the difference.
    pub verdict: Verdict,
}

/// The relation in one group, with the least number of replicates of the two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InGroup {
    /// Relation in the group.
    pub effect: Effect,
    /// Number of replicates.
    pub n: usize,
}

/// Returns the geometric mean; `None` of nothing, and where some value is negative. A value of zero
/// makes it zero.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.into_iter().collect();
    if values.is_empty() || values.iter().any(|value| *value < 0.0 || !value.is_finite()) {
        return None;
    }
    if values.contains(&0.0) {
        return Some(0.0);
    }
    let sum: f64 = values.iter().map(|value| libm::log(*value)).sum();
    Some(libm::exp(sum / values.len() as f64)).filter(|mean| mean.is_finite())
}

/// Returns the interval of the geometric mean of ratios: distances from a ratio to the ends of its
/// interval, as logarithms, add up like independent standard errors (Zou and Donner, Statistics in
/// Medicine 27, 2008). A single ratio keeps its own interval.
pub fn mean_interval(ratios: &[(f64, Interval)]) -> Option<Interval> {
    let ratio =
        geometric_mean(ratios.iter().map(|(ratio, _)| *ratio)).filter(|mean| *mean > 0.0)?;
    if let [(_, interval)] = ratios {
        return Some(*interval);
    }
    let count = ratios.len() as f64;
    let distance = |end: fn(&Interval) -> f64| {
        let squares = ratios.iter().map(|(ratio, interval)| {
            let distance = libm::log(end(interval) / ratio);
            distance * distance
        });
        libm::sqrt(squares.sum::<f64>()) / count
    };
    let low = ratio * libm::exp(-distance(|interval| interval.low));
    let high = ratio * libm::exp(distance(|interval| interval.high));
    (low.is_finite() && high.is_finite()).then_some(Interval { low, high })
}

/// Relates several configurations to one, each over its groups. A relation in one group only keeps
/// its verdict there; the others are judged at `alpha` for all of them together. A margin that is a share is one
/// of the mean; one that is a time is that of every group.
pub fn combine(
    relations: &[Vec<InGroup>],
    direction: Direction,
    margin: Margin,
    alpha: f64,
) -> Vec<Option<Combined>> {
    let p_values: Vec<f64> = relations.iter().map(|relation| p(relation)).collect();
    let adjusted = adjust(&p_values);
    let combine = |(relation, p): (&Vec<InGroup>, f64)| {
        let [first, rest @ ..] = relation.as_slice() else { return None };
        let Effect { ratio, interval, verdict, .. } = first.effect;
        if rest.is_empty() {
            return Some(Combined { ratio, interval, verdict });
        }
        let (ratio, interval) = mean(relation);
        let verdict = verdict_of(relation, ratio.zip(interval), p, direction, margin, alpha);
        Some(Combined { ratio, interval, verdict })
    };
    relations.iter().zip(adjusted).map(combine).collect()
}

fn mean(relation: &[InGroup]) -> (Option<f64>, Option<Interval>) {
    let ratios = relation.iter().map(|each| each.effect.ratio).collect::<Option<Vec<_>>>();
    let ratio = ratios.and_then(geometric_mean);
    let intervals = relation.iter().map(|each| each.effect.ratio.zip(each.effect.interval));
    let interval =
        intervals.collect::<Option<Vec<_>>>().and_then(|intervals| mean_interval(&intervals));
    (ratio, interval)
}

fn verdict_of(
    relation: &[InGroup],
    mean: Option<(f64, Interval)>,
    p_adjusted: f64,
    direction: Direction,
    margin: Margin,
    alpha: f64,
) -> Verdict {
    let n = replicates(relation);
    let Some((ratio, interval)) = mean else {
        // There is no mean, but there is nothing to average either where all verdicts agree.
        let first = relation[0].effect.verdict;
        let alike = relation.iter().all(|each| each.effect.verdict == first);
        return if alike { first } else { Verdict::Undecided { more: None } };
    };
    let more = match margin {
        Margin::Share(share) => more_replicates(ratio, interval, n, share),
        Margin::Time(_) => relation.iter().filter_map(|each| each.effect.verdict.more()).max(),
    };
    let undecided = Verdict::Undecided { more };
    if n < REPLICATES_MIN {
        return undecided;
    }
    if relation.iter().all(|each| each.effect.verdict == Verdict::WithinResolution) {
        return Verdict::WithinResolution;
    }
    let is_within = match margin {
        Margin::Share(share) => share.contains(interval.low) && share.contains(interval.high),
        Margin::Time(_) => relation.iter().all(|each| each.effect.verdict == Verdict::WithinMargin),
    };
    if is_within {
        return Verdict::WithinMargin;
    }
    // The intervals hold all that the resolutions may hide.
    if p_adjusted > alpha || interval.contains(1.0) {
        return undecided;
    }
    match (ratio < 1.0, direction) {
        (true, Direction::Lower) | (false, Direction::Higher) => Verdict::Better,
        _ => Verdict::Worse,
    }
}

fn replicates(relation: &[InGroup]) -> usize {
    relation.iter().map(|each| each.n).min().unwrap_or(0)
}

/// Returns the probability of a mean as far from 1 where there is no difference: that of a normal
/// variable which has the interval.
fn p(relation: &[InGroup]) -> f64 {
    let (Some(ratio), Some(interval)) = mean(relation) else { return 1.0 };
    let distance = libm::log(ratio);
    let towards_one = if distance < 0.0 { interval.high } else { interval.low };
    let standard_error = libm::log(towards_one / ratio).abs() / 1.96;
    // No difference is less probable than that two equal samples stand apart.
    let n = replicates(relation);
    let p_min = 2.0 * libm::exp(-ln_binomial(2 * n, n));
    let p = match (distance == 0.0, standard_error > 0.0) {
        (true, _) => 1.0,
        (false, true) => libm::erfc(distance.abs() / standard_error / std::f64::consts::SQRT_2),
        (false, false) => 0.0,
    };
    p.max(p_min).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Share;

    const FIVE: Margin = Margin::Share(Share::COMPARISON);

    fn in_group(ratio: f64, low: f64, high: f64, n: usize) -> InGroup {
        let effect = Effect {
            ratio: Some(ratio),
            interval: Some(Interval { low, high }),
            p_adjusted: 1.0,
            verdict: Verdict::Undecided { more: None },
        };
        InGroup { effect, n }
    }

    fn of(relation: &[InGroup], direction: Direction) -> Combined {
        combine(&[relation.to_vec()], direction, FIVE, 0.05)[0].unwrap()
    }

    #[test]
    fn geometric_means() {
        let mean = |values: &[f64]| geometric_mean(values.iter().copied()).unwrap();
        for (values, expected) in
            [(vec![2.0, 8.0], 4.0), (vec![0.5, 2.0], 1.0), (vec![1e300; 3], 1e300)]
        {
            assert!((mean(&values) / expected - 1.0).abs() < 1e-12, "{values:?}");
        }
        assert_eq!(geometric_mean([0.0, 3.0]), Some(0.0));
        assert_eq!(geometric_mean([]), None);
        assert_eq!(geometric_mean([-1.0]), None);
        assert_eq!(geometric_mean([f64::NAN]), None);
    }

    #[test]
    fn equal_intervals_become_narrower_with_the_root_of_their_number() {
        let one = (1.0, Interval { low: 0.5, high: 2.0 });
        assert_eq!(mean_interval(&[one]), Some(one.1));
        let four = mean_interval(&[one; 4]).unwrap();
        assert!((four.high - libm::sqrt(2.0)).abs() < 1e-12);
        assert!((four.low * four.high - 1.0).abs() < 1e-12);
    }

    #[test]
    fn two_groups_decide_what_one_does_not() {
        let relation = [in_group(0.8, 0.62, 1.02, 6), in_group(0.78, 0.6, 1.01, 6)];
        assert_eq!(of(&relation, Direction::Higher).verdict, Verdict::Worse);
        assert_eq!(of(&relation, Direction::Lower).verdict, Verdict::Better);
    }

    #[test]
    fn what_differs_in_opposite_ways_is_the_same_on_average() {
        let relation = [in_group(1.25, 1.24, 1.26, 6), in_group(0.8, 0.79, 0.81, 6)];
        assert_eq!(of(&relation, Direction::Lower).verdict, Verdict::WithinMargin);
    }

    #[test]
    fn a_time_is_the_margin_of_every_group() {
        let of = |verdicts: [Verdict; 2]| {
            let mut relation = [in_group(0.9, 0.7, 1.1, 6), in_group(0.8, 0.7, 0.95, 6)];
            for (each, verdict) in relation.iter_mut().zip(verdicts) {
                each.effect.verdict = verdict;
            }
            let margin = Margin::Time(20_000);
            combine(&[relation.to_vec()], Direction::Lower, margin, 0.05)[0].unwrap().verdict
        };
        let undecided = |more| Verdict::Undecided { more };
        assert_eq!(of([Verdict::WithinMargin; 2]), Verdict::WithinMargin);
        assert_eq!(of([Verdict::WithinMargin, Verdict::Better]), Verdict::Better);
        assert_eq!(of([undecided(Some(3)), undecided(Some(5))]), Verdict::Better);
        let relation = [in_group(0.99, 0.7, 1.3, 6), in_group(1.01, 0.7, 1.3, 6)].map(|each| {
            let verdict = undecided(Some(each.n as u32));
            InGroup { effect: Effect { verdict, ..each.effect }, ..each }
        });
        let combined = combine(&[relation.to_vec()], Direction::Lower, Margin::Time(20_000), 0.05);
        assert_eq!(combined[0].unwrap().verdict, undecided(Some(6)));
    }

    #[test]
    fn few_replicates_decide_nothing() {
        let relation = [in_group(0.5, 0.4, 0.6, 3), in_group(0.5, 0.4, 0.6, 9)];
        assert_eq!(of(&relation, Direction::Lower).verdict, Verdict::Undecided { more: Some(2) });
    }

    #[test]
    fn one_group_keeps_its_word() {
        let mut relation = [in_group(0.5, 0.4, 0.6, 9)];
        relation[0].effect.verdict = Verdict::WithinMargin;
        assert_eq!(of(&relation, Direction::Lower).verdict, Verdict::WithinMargin);
        assert_eq!(combine(&[Vec::new()], Direction::Lower, FIVE, 0.05), [None]);
    }

    #[test]
    fn a_ratio_that_is_missing_is_no_mean() {
        let mut relation = [in_group(0.5, 0.4, 0.6, 9), in_group(0.5, 0.4, 0.6, 9)];
        relation[1].effect.ratio = None;
        let combined = of(&relation, Direction::Lower);
        assert_eq!((combined.ratio, combined.interval), (None, None));
        assert_eq!(combined.verdict, Verdict::Undecided { more: None });
    }
}
