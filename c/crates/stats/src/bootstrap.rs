use crate::Interval;

/// Relative precision of a ratio.
const PRECISION: f64 = 1e-14;

/// Probability that is left out at each end of a 95 % interval.
const TAIL: f64 = 0.025;

/// Probability that is left out at each end of the interval of a ratio of two medians. Their exact
/// bootstrap is conservative: at 2.5 % it covers 96 to 98 %, at this value 93 to 97 %.
/// docs/statistics.md has the table, `make bench-stats` makes it.
const RATIO_TAIL: f64 = 0.032;

/// Probability below which a value counts as impossible.
const NEGLIGIBLE: f64 = 1e-11;

/// Exact bootstrap distribution of the median of a sample: the result of drawing every possible
/// sample of the same size with replacement. It has no random number, and so no seed, and no
/// difference between one evaluation and the next.
///
/// For an odd number of values the median is one of them, and the k-th smallest of `n` is the
/// median with the probability that a binomial variable tells (Efron, The Annals of Statistics 7,
/// 1979, section 3; Maritz and Jarrett, JASA 73, 1978). For an even number it is the mean of two,
/// whose joint probability has a closed form too.
#[derive(Clone, Debug, PartialEq)]
pub struct MedianBootstrap {
    /// Ascending values with their probabilities, which sum up to 1.
    support: Vec<(f64, f64)>,
}

impl MedianBootstrap {
    /// Computes the distribution of a sample of finite values; `None` when the sample is empty.
    pub fn new(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let mut support: Vec<(f64, f64)> = probabilities(sorted.len())
            .into_iter()
            .map(|(i, j, probability)| (f64::midpoint(sorted[i], sorted[j]), probability))
            .collect();
        support.sort_by(|(left, _), (right, _)| left.total_cmp(right));
        support.dedup_by(|(value, probability), (kept, sum)| {
            let is_same = *value == *kept;
            if is_same {
                *sum += *probability;
            }
            is_same
        });
        let total: f64 = support.iter().map(|(_, probability)| probability).sum();
        for (_, probability) in &mut support {
            *probability /= total;
        }
        Some(Self { support })
    }

    /// Returns the 95 % interval of the median: percentiles, interpolated between the middles of
    /// the steps of the distribution. Without interpolation the coverage would jump with the number
    /// of values.
    pub fn interval(&self) -> Interval {
        Interval { low: self.quantile(TAIL), high: self.quantile(1.0 - TAIL) }
    }

    fn quantile(&self, level: f64) -> f64 {
        let mut below = 0.0;
        let mut last: Option<(f64, f64)> = None;
        for (value, probability) in &self.support {
            let middle = below + probability / 2.0;
            if level <= middle {
                let Some((of, at)) = last else { return *value };
                return of + (value - of) * (level - at) / (middle - at);
            }
            below += probability;
            last = Some((*value, middle));
        }
        last.map_or(0.0, |(value, _)| value)
    }

    /// Returns the 95 % interval of this median divided by another one; `None` unless all values
    /// are positive.
    pub fn ratio_interval(&self, other: &Self) -> Option<Interval> {
        let (least, most) = (self.support.first()?.0, self.support.last()?.0);
        let (other_least, other_most) = (other.support.first()?.0, other.support.last()?.0);
        if least <= 0.0 || other_least <= 0.0 {
            return None;
        }
        let bounds = (least / other_most, most / other_least);
        let interval = Interval {
            low: self.ratio_quantile(other, bounds, RATIO_TAIL),
            high: self.ratio_quantile(other, bounds, 1.0 - RATIO_TAIL),
        };
        (interval.low.is_finite() && interval.high.is_finite()).then_some(interval)
    }

    /// Returns the least ratio that is not exceeded with this probability, found by bisection to
    /// the precision of the numbers.
    fn ratio_quantile(&self, other: &Self, (low, high): (f64, f64), level: f64) -> f64 {
        // Rounding may have taken this from a sum.
        let level = level - 1e-12;
        if self.ratio_probability(other, low) >= level {
            return low;
        }
        let (mut below, mut above) = (low, high);
        loop {
            let middle = f64::midpoint(below, above);
            if above - below <= above * PRECISION || middle <= below || middle >= above {
                return above;
            }
            if self.ratio_probability(other, middle) >= level {
                above = middle;
            } else {
                below = middle;
            }
        }
    }

    /// Returns the probability that this median is at most `ratio` times the other one.
    fn ratio_probability(&self, other: &Self, ratio: f64) -> f64 {
        let mut own = self.support.iter().peekable();
        let (mut below, mut sum) = (0.0, 0.0);
        for (value, probability) in &other.support {
            while let Some((_, of)) = own.next_if(|(of, _)| *of <= ratio * value) {
                below += of;
            }
            sum += below * probability;
        }
        sum
    }

    /// Returns the probability that this median is below the other one; equality counts half, as
    /// ties need (Wilcox, Computational Statistics and Data Analysis 51, 2006).
    pub fn probability_below(&self, other: &Self) -> f64 {
        let mut own = self.support.iter().peekable();
        let (mut below, mut sum) = (0.0, 0.0);
        for (value, probability) in &other.support {
            while let Some((_, of)) = own.next_if(|(of, _)| of < value) {
                below += of;
            }
            let equal = own.peek().filter(|(of, _)| of == value).map_or(0.0, |(_, of)| *of);
            sum += (below + equal / 2.0) * probability;
        }
        sum
    }

    /// Returns whether both have only one possible value, and the same.
    pub fn is_same_constant(&self, other: &Self) -> bool {
        self.support.len() == 1
            && other.support.len() == 1
            && self.support[0].0 == other.support[0].0
    }
}

/// Returns the number of ways to choose `chosen` of `all`, as a natural logarithm. A library
/// computes it and not the system, whose last digit is not the same everywhere.
pub fn ln_binomial(all: usize, chosen: usize) -> f64 {
    let ln_factorial = |number: usize| libm::lgamma(number as f64 + 1.0);
    ln_factorial(all) - ln_factorial(chosen) - ln_factorial(all - chosen)
}

/// Returns the probabilities that the median of a bootstrap sample of `n` is the mean of the values
/// of these two ranks, which count from 0.
fn probabilities(n: usize) -> Vec<(usize, usize, f64)> {
    let half = n / 2;
    // The middle ranks alone have probabilities that are worth a number.
    let reach = (6.5 * (n as f64).sqrt()).ceil() as usize + 1;
    let ranks = half.saturating_sub(reach)..(half + reach).min(n);
    if n % 2 == 1 {
        let of = |rank| (rank, rank, rank_probability(n, half + 1, rank));
        return ranks.map(of).filter(|(_, _, probability)| *probability > NEGLIGIBLE).collect();
    }
    // Half of the binomial coefficient goes to each factor, so that neither overflows.
    let ln_root = ln_binomial(n, half) / 2.0;
    let power = |share: usize| match share {
        0 => 0.0,
        _ => libm::exp(ln_root + half as f64 * libm::log(share as f64 / n as f64)),
    };
    let powers: Vec<f64> = (0..=n).map(power).collect();
    // The largest of the lower half is of this rank; the least of the upper half is.
    let lower = |rank: usize| powers[rank + 1] - powers[rank];
    let upper = |rank: usize| powers[n - rank] - powers[n - rank - 1];
    let mut found = Vec::new();
    for i in ranks.clone() {
        let mut apart = 0.0;
        for j in i + 1..ranks.end {
            let probability = lower(i) * upper(j);
            apart += probability;
            if probability > NEGLIGIBLE {
                found.push((i, j, probability));
            } else if j > half {
                // It only falls from here on.
                break;
            }
        }
        let together = rank_probability(n, half, i) - apart;
        if together > NEGLIGIBLE {
            found.push((i, i, together));
        }
    }
    found
}

/// Returns the probability that the `rank`-th smallest of `n` draws is the value of that place,
/// which counts from 0.
fn rank_probability(n: usize, rank: usize, place: usize) -> f64 {
    at_least(n, rank, place + 1) - at_least(n, rank, place)
}

/// Returns the probability that at least `rank` of `n` draws are among the `k` smallest of `n`
/// values: the tail of a binomial distribution, summed from its middle outwards.
fn at_least(n: usize, rank: usize, k: usize) -> f64 {
    if k == 0 || k == n {
        return if k == 0 { 0.0 } else { 1.0 };
    }
    let share = k as f64 / n as f64;
    let odds = share / (1.0 - share);
    let ln_first = |draws: usize| {
        ln_binomial(n, draws)
            + draws as f64 * libm::log(share)
            + (n - draws) as f64 * libm::log1p(-share)
    };
    let (mut term, mut sum);
    if k < rank {
        (term, sum) = (libm::exp(ln_first(rank)), 0.0);
        for draws in rank..=n {
            sum += term;
            term *= (n - draws) as f64 / (draws + 1) as f64 * odds;
        }
        sum
    } else {
        (term, sum) = (libm::exp(ln_first(rank - 1)), 0.0);
        for draws in (0..rank).rev() {
            sum += term;
            term *= draws as f64 / (n - draws + 1) as f64 / odds;
        }
        1.0 - sum
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::summary::median;

    /// Computes the distribution from every sample that can be drawn, one by one.
    fn by_hand(values: &[f64]) -> Vec<(f64, f64)> {
        let n = values.len();
        let count = n.pow(n as u32);
        let mut medians: Vec<f64> = (0..count)
            .map(|number| {
                let draws = (0..n).map(|draw| values[number / n.pow(draw as u32) % n]);
                median(&draws.collect::<Vec<_>>()).unwrap()
            })
            .collect();
        medians.sort_by(f64::total_cmp);
        let alike = medians.chunk_by(|left, right| left == right);
        alike.map(|chunk| (chunk[0], chunk.len() as f64 / count as f64)).collect()
    }

    #[test]
    fn it_is_what_drawing_every_sample_gives() {
        for values in [
            vec![3.0],
            vec![1.0, 2.0],
            vec![4.0, 1.0, 2.0],
            vec![4.0, 1.0, 2.0, 8.0],
            vec![4.0, 4.0, 2.0, 8.0, 1.0],
            vec![4.0, 1.5, 2.0, 8.0, 16.0, 1.5],
        ] {
            let exact = MedianBootstrap::new(&values).unwrap().support;
            let drawn = by_hand(&values);
            assert_eq!(exact.len(), drawn.len(), "{exact:?} {drawn:?}");
            for ((value, probability), (of, expected)) in exact.iter().zip(&drawn) {
                assert!(value == of && (probability - expected).abs() < 1e-12, "{values:?}");
            }
        }
    }

    #[test]
    fn many_values_overflow_nothing() {
        for n in [999, 1000, 5000] {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            let bootstrap = MedianBootstrap::new(&values).unwrap();
            let Interval { low, high } = bootstrap.interval();
            // The standard error of the rank of a median is half the root of n.
            let half = 1.96 * f64::from(n).sqrt() / 2.0;
            let middle = f64::midpoint(1.0, n.into());
            assert!((low - (middle - half)).abs() < 2.0 && (high - (middle + half)).abs() < 2.0);
        }
    }

    #[test]
    fn few_separate_values_give_the_whole_range_of_ratios() {
        let of = |values: &[f64]| MedianBootstrap::new(values).unwrap();
        let (low, high) = (of(&[1.0, 2.0, 3.0]), of(&[4.0, 5.0, 6.0]));
        let interval = low.ratio_interval(&high).unwrap();
        assert!((interval.low - 1.0 / 6.0).abs() < 1e-15 && (interval.high - 0.75).abs() < 1e-15);
        assert_eq!((low.probability_below(&high), high.probability_below(&low)), (1.0, 0.0));
    }

    #[test]
    fn a_zero_has_no_ratio() {
        let of = |values: &[f64]| MedianBootstrap::new(values).unwrap();
        assert_eq!(of(&[1.0, 2.0]).ratio_interval(&of(&[0.0, 2.0])), None);
        assert_eq!(of(&[0.0]).probability_below(&of(&[0.0])), 0.5);
    }

    proptest! {
        #[test]
        fn intervals_are_finite_ordered_and_within_the_range(
            left in prop::collection::vec(0.001..1e9f64, 1..30),
            right in prop::collection::vec(0.001..1e9f64, 1..30),
        ) {
            let of = |values: &[f64]| MedianBootstrap::new(values).unwrap();
            let (one, other) = (of(&left), of(&right));
            let Interval { low, high } = one.interval();
            let least = left.iter().copied().fold(f64::INFINITY, f64::min);
            let most = left.iter().copied().fold(0.0, f64::max);
            prop_assert!(least <= low && low <= high && high <= most);
            let ratio = one.ratio_interval(&other).unwrap();
            prop_assert!(0.0 < ratio.low && ratio.low <= ratio.high);
            let back = other.probability_below(&one);
            prop_assert!((one.probability_below(&other) + back - 1.0).abs() < 1e-9);
        }
    }
}
