use preemptlab_model::Direction;

use crate::{
    Effect, Interval, Margin, Resolution, Share, Summary, Verdict, bootstrap::MedianBootstrap,
    margin::ns_of, rank::rank_p,
};

/// Fewer replicates than this, of either configuration, decide nothing: the 4 and 4 values of two
/// configurations that are the same stand apart in 1 of 35 experiments.
pub const REPLICATES_MIN: usize = 5;

/// A comparison of two samples, before it is judged among others.
#[derive(Clone, Copy, Debug)]
pub struct Contrast {
    ratio: Option<f64>,
    /// Interval of the ratio, with all that the resolution may hide.
    interval: Option<Interval>,
    /// Difference between the medians.
    change: f64,
    /// Interval of the difference between the values as they were read.
    difference: Interval,
    /// Nanoseconds of the unit; `None` for a metric that is not a time.
    unit_ns: Option<f64>,
    resolution: Resolution,
    /// Number of replicates of both in which nothing happened, so that they have no value.
    lacking: usize,
    /// The lower tail: how probable it is that the median is below the baseline's.
    below: f64,
    pub p: f64,
    is_same_constant: bool,
    replicates: [usize; 2],
    direction: Direction,
}

impl Contrast {
    /// Compares the metric of a configuration with that of the baseline. `lacking` replicates of them have
    /// no value, because nothing happened: the others alone would not stand for all.
    pub fn new(summary: &Summary, baseline: &Summary, lacking: usize) -> Option<Self> {
        let own = MedianBootstrap::new(&summary.values)?;
        let other = MedianBootstrap::new(&baseline.values)?;
        let below = own.probability_below(&other);
        let replicates = [summary.n, baseline.n];
        // The bootstrap errs with few values: by their ranks, equal distributions are told apart no
        // more often than this says.
        let p_min = rank_p(&summary.values, &baseline.values);
        let has_intervals = replicates.iter().all(|n| *n > 1);
        let resolution = summary.told().coarser(baseline.told());
        let ratios = own.ratio_interval(&other).filter(|_| has_intervals);
        let difference = match ratios {
            Some(Interval { low, high }) => Interval {
                low: (low - 1.0) * baseline.median,
                high: (high - 1.0) * baseline.median,
            },
            None => {
                let (own, other) = (own.interval(), other.interval());
                Interval { low: own.low - other.high, high: own.high - other.low }
            }
        };
        Some(Self {
            ratio: Some(summary.median / baseline.median).filter(|ratio| ratio.is_finite()),
            interval: ratios.map(|ratios| resolution.widen_ratio(ratios, baseline.median)),
            change: summary.median - baseline.median,
            difference,
            unit_ns: ns_of(&summary.unit),
            resolution,
            lacking,
            below,
            p: (2.0 * below.min(1.0 - below)).max(p_min).min(1.0),
            is_same_constant: own.is_same_constant(&other),
            replicates,
            direction: summary.direction,
        })
    }

    /// Returns the effect when its adjusted p-value is this one, and differences are called so up
    /// to `alpha`.
    pub fn judge(&self, p_adjusted: f64, alpha: f64, margin: Margin) -> Effect {
        let Self { ratio, interval, .. } = *self;
        Effect { ratio, interval, p_adjusted, verdict: self.verdict(p_adjusted, alpha, margin) }
    }

    /// Returns the p-value that enters the adjustment. A comparison that is within the margin or
    /// has too few replicates is called no difference however small its own value is, and must not
    /// make it easier for others to be.
    pub fn p_to_adjust(&self, margin: Margin) -> f64 {
        match self.has_too_few() || self.is_same(margin) || !self.is_shown() {
            true => 1.0,
            false => self.p,
        }
    }

    fn has_too_few(&self) -> bool {
        self.replicates.iter().any(|n| *n < REPLICATES_MIN)
    }

    fn is_same(&self, margin: Margin) -> bool {
        let is_within = match margin {
            Margin::Share(share) => self
                .interval
                .is_some_and(|Interval { low, high }| share.contains(low) && share.contains(high)),
            Margin::Time(ns) => self.unit_ns.is_some_and(|unit_ns| {
                let Interval { low, high } = self.resolution.widen_difference(self.difference);
                let margin = ns as f64 / unit_ns;
                -margin <= low && high <= margin
            }),
        };
        is_within || self.is_same_constant && self.resolution.step() == 0.0
    }

    /// Returns whether the instrument tells the difference from none.
    fn is_shown(&self) -> bool {
        self.resolution.step() == 0.0 || self.resolution.shows(self.difference)
    }

    fn verdict(&self, p_adjusted: f64, alpha: f64, margin: Margin) -> Verdict {
        if self.lacking > 0 {
            return Verdict::Undecided { more: None };
        }
        if self.has_too_few() {
            return Verdict::Undecided { more: self.more(margin) };
        }
        if self.is_same(margin) {
            return Verdict::WithinMargin;
        }
        if self.resolution.hides_all(self.difference) {
            return Verdict::WithinResolution;
        }
        if p_adjusted > alpha || !self.is_shown() {
            return Verdict::Undecided { more: self.more(margin) };
        }
        match (self.below > 0.5, self.direction) {
            (true, Direction::Lower) | (false, Direction::Higher) => Verdict::Better,
            _ => Verdict::Worse,
        }
    }

    /// Estimates the number of further replicates of the smaller sample that would decide it.
    fn more(&self, margin: Margin) -> Option<u32> {
        let n = self.replicates.into_iter().min()?;
        match (margin, self.unit_ns, self.ratio, self.interval) {
            (Margin::Share(share), _, Some(ratio), Some(interval)) => {
                return more_replicates(ratio, interval, n, share);
            }
            (Margin::Time(ns), Some(unit_ns), ..) if self.replicates.iter().all(|n| *n > 1) => {
                let Interval { low, high } = self.resolution.widen_difference(self.difference);
                return more_on_scale(
                    self.change.abs(),
                    (high - low) / 2.0,
                    ns as f64 / unit_ns,
                    n,
                );
            }
            _ => {}
        }
        let lacking = REPLICATES_MIN.saturating_sub(n);
        u32::try_from(lacking).ok().filter(|lacking| *lacking > 0)
    }
}

/// Estimates the number of replicates beyond `n` that would decide a comparison: an interval
/// becomes narrower with the root of their number, and it must either leave 1 out or be within the
/// margin.
pub fn more_replicates(ratio: f64, interval: Interval, n: usize, margin: Share) -> Option<u32> {
    let half = libm::log(interval.high / interval.low) / 2.0;
    more_on_scale(libm::log(ratio).abs(), half, libm::log1p(margin.number()), n)
}

/// Estimates the number of replicates beyond `n` that would decide a comparison, on a scale where 0 means
/// no difference: by the distance from it, half of the interval's width, and the margin.
fn more_on_scale(distance: f64, half: f64, margin: f64, n: usize) -> Option<u32> {
    let target = distance.max(margin - distance);
    let lacking = REPLICATES_MIN.saturating_sub(n).max(1) as f64;
    let wanted = n as f64 * (half / target) * (half / target);
    let more = (wanted.ceil() - n as f64).max(lacking);
    more.is_finite().then(|| more.min(f64::from(u32::MAX)) as u32)
}

#[cfg(test)]
mod tests {
    use preemptlab_model::Metric;

    use super::*;

    const FIVE: Margin = Margin::Share(Share::COMPARISON);

    fn summary(values: &[f64], direction: Direction) -> Summary {
        of_instrument(values, direction, 0.0)
    }

    fn of_instrument(values: &[f64], direction: Direction, resolution: f64) -> Summary {
        let values: Vec<(u32, f64)> = (1..).zip(values.iter().copied()).collect();
        let (name, unit) = ("p99".into(), "us".into());
        Summary::new(&Metric { name, value: 0.0, unit, direction, resolution }, &values).unwrap()
    }

    fn verdict(values: &[f64], baseline: &[f64], direction: Direction) -> Verdict {
        let contrast = Contrast::new(&summary(values, direction), &summary(baseline, direction), 0);
        let contrast = contrast.unwrap();
        contrast.judge(contrast.p, 0.05, FIVE).verdict
    }

    const LOW: [f64; 5] = [10.0, 11.0, 12.0, 11.0, 10.0];
    const HIGH: [f64; 5] = [20.0, 21.0, 22.0, 23.0, 24.0];

    #[test]
    fn the_direction_says_what_is_better() {
        assert_eq!(verdict(&LOW, &HIGH, Direction::Lower), Verdict::Better);
        assert_eq!(verdict(&LOW, &HIGH, Direction::Higher), Verdict::Worse);
        assert_eq!(verdict(&HIGH, &LOW, Direction::Lower), Verdict::Worse);
        assert_eq!(verdict(&HIGH, &LOW, Direction::Higher), Verdict::Better);
    }

    /// Returns the effect of values that were read from buckets of 1 us.
    fn of_buckets(values: &[f64], baseline: &[f64]) -> Effect {
        let summary = |values| of_instrument(values, Direction::Lower, 1.0);
        let contrast = Contrast::new(&summary(values), &summary(baseline), 0).unwrap();
        contrast.judge(contrast.p, 0.05, FIVE)
    }

    #[test]
    fn a_difference_of_one_bucket_is_not_decided() {
        for (value, baseline) in [(15.0, 16.0), (16.0, 15.0), (7.0, 7.0), (0.0, 1.0)] {
            let effect = of_buckets(&[value; 6], &[baseline; 6]);
            assert_eq!(effect.verdict, Verdict::WithinResolution, "{value} {baseline}");
            let is_one = |interval: Interval| interval.contains(1.0);
            assert!(effect.interval.is_none_or(is_one), "{effect:?}");
        }
        assert_eq!(of_buckets(&[15.0; 6], &[17.0; 6]).verdict, Verdict::Better);
        assert_eq!(of_buckets(&[17.0; 6], &[15.0; 6]).verdict, Verdict::Worse);
        // One bucket of many is within the margin.
        assert_eq!(of_buckets(&[500.0; 6], &[501.0; 6]).verdict, Verdict::WithinMargin);
        // Two buckets for some replicates, one for others: more of them may tell.
        let noisy = of_buckets(&[15.0, 14.0, 15.0, 14.0, 15.0, 14.0], &[16.0; 6]);
        assert!(!noisy.verdict.is_decided(), "{noisy:?}");
    }

    #[test]
    fn replicates_without_an_event_leave_it_open() {
        let contrast =
            Contrast::new(&summary(&LOW, Direction::Lower), &summary(&HIGH, Direction::Lower), 1);
        let effect = contrast.unwrap().judge(0.001, 0.05, FIVE);
        assert_eq!(effect.verdict, Verdict::Undecided { more: None });
    }

    #[test]
    fn four_replicates_decide_nothing_and_one_more_may() {
        let few = verdict(&LOW[..4], &HIGH, Direction::Lower);
        assert_eq!(few, Verdict::Undecided { more: Some(1) });
        assert_eq!(verdict(&[7.0], &[9.0], Direction::Lower), Verdict::Undecided { more: Some(4) });
    }

    #[test]
    fn values_that_are_all_equal_are_the_same_or_apart() {
        let equal = |value: f64, n| vec![value; n];
        assert_eq!(
            verdict(&equal(8.0, 5), &equal(8.0, 5), Direction::Lower),
            Verdict::WithinMargin
        );
        assert_eq!(
            verdict(&equal(0.0, 5), &equal(0.0, 5), Direction::Lower),
            Verdict::WithinMargin
        );
        assert_eq!(verdict(&equal(8.0, 5), &equal(9.0, 5), Direction::Lower), Verdict::Better);
        assert_eq!(verdict(&equal(3.0, 5), &equal(0.0, 5), Direction::Lower), Verdict::Worse);
    }

    #[test]
    fn a_small_difference_is_the_same_however_sure_it_is() {
        let values: Vec<f64> = (0..20).map(|step| 100.0 + f64::from(step) * 0.01).collect();
        let above: Vec<f64> = values.iter().map(|value| value * 1.02).collect();
        assert_eq!(verdict(&above, &values, Direction::Lower), Verdict::WithinMargin);
    }

    #[test]
    fn a_time_is_a_margin_of_the_difference() {
        let judged = |values: &[f64], baseline: &[f64], margin_ns| {
            let summary = |values| summary(values, Direction::Lower);
            let contrast = Contrast::new(&summary(values), &summary(baseline), 0).unwrap();
            contrast.judge(contrast.p, 0.05, Margin::Time(margin_ns)).verdict
        };
        // Twice as late, by some 11 us.
        assert_eq!(judged(&HIGH, &LOW, 20_000), Verdict::WithinMargin);
        assert_eq!(judged(&LOW, &HIGH, 20_000), Verdict::WithinMargin);
        assert_eq!(judged(&HIGH, &LOW, 5_000), Verdict::Worse);
        assert_eq!(judged(&LOW, &HIGH, 5_000), Verdict::Better);
        // Part of the interval is beyond it, and the difference is certain.
        assert_eq!(judged(&HIGH, &LOW, 12_000), Verdict::Worse);
        // A baseline of zero has a difference, and no ratio.
        assert_eq!(judged(&[3.0; 5], &[0.0; 5], 3_000), Verdict::WithinMargin);
        assert_eq!(judged(&[3.0; 5], &[0.0; 5], 2_000), Verdict::Worse);
        let noisy =
            [[100.0, 140.0, 80.0, 120.0, 60.0, 110.0], [104.0, 130.0, 84.0, 118.0, 66.0, 100.0]];
        assert_eq!(judged(&noisy[0], &noisy[1], 90_000), Verdict::WithinMargin);
        let Verdict::Undecided { more: Some(more) } = judged(&noisy[0], &noisy[1], 10_000) else {
            panic!("it cannot be decided");
        };
        assert!((20..1000).contains(&more), "{more}");
        // A single value of each has no interval.
        assert_eq!(judged(&[7.0], &[9.0], 20_000), Verdict::Undecided { more: Some(4) });
    }

    #[test]
    fn a_time_is_a_margin_for_all_that_the_instrument_hides() {
        let judged = |margin_ns| {
            let summary = |values: &[f64]| of_instrument(values, Direction::Lower, 1.0);
            let contrast = Contrast::new(&summary(&[17.0; 6]), &summary(&[15.0; 6]), 0).unwrap();
            contrast.judge(contrast.p, 0.05, Margin::Time(margin_ns)).verdict
        };
        assert_eq!((judged(2_900), judged(3_000)), (Verdict::Worse, Verdict::WithinMargin));
    }

    #[test]
    fn what_is_noisy_is_undecided_and_says_how_far_off() {
        let one = [100.0, 140.0, 80.0, 120.0, 60.0, 110.0];
        let other = [104.0, 130.0, 84.0, 118.0, 66.0, 100.0];
        let Verdict::Undecided { more: Some(more) } = verdict(&one, &other, Direction::Lower)
        else {
            panic!("it cannot be decided");
        };
        assert!((20..1000).contains(&more), "{more}");
    }

    #[test]
    fn single_replicates_have_no_interval() {
        let one =
            Contrast::new(&summary(&[1.0], Direction::Lower), &summary(&HIGH, Direction::Lower), 0);
        let effect = one.unwrap().judge(1.0, 0.05, FIVE);
        assert_eq!((effect.interval, effect.ratio), (None, Some(1.0 / 22.0)));
    }
}
