/// All samples, in the parts by which quantiles are named.
const WHOLE: u32 = 100_000;

/// Value of a rank, as far as a histogram tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranked {
    /// The value.
    Value(u64),
    /// The value is above this one: the sample is in no bucket, and is not the largest.
    Above(u64),
}

/// Number of occurrences of each value. Values are whole numbers of the caller's unit.
///
/// Samples beyond the recorder's last bucket are kept as overflow: their number, and the largest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Ascending values, each once, and how often it occurred.
    counts: Vec<(u64, u64)>,
    overflow: u64,
    overflow_max: u64,
}

impl Histogram {
    /// Creates a histogram from the number of samples of each value. Values may repeat; zero counts
    /// are dropped.
    pub fn new(counts: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut histogram = Self { counts: counts.into_iter().collect(), ..Self::default() };
        histogram.sort();
        histogram
    }

    /// Puts the values in order, and equal ones together.
    fn sort(&mut self) {
        self.counts.retain(|(_, count)| *count > 0);
        self.counts.sort_unstable_by_key(|(value, _)| *value);
        self.counts.dedup_by(|(value, count), (kept, sum)| {
            let is_same = value == kept;
            if is_same {
                *sum = sum.saturating_add(*count);
            }
            is_same
        });
    }

    /// Adds `samples` beyond the last bucket, the largest of which is `max`.
    #[must_use]
    pub fn with_overflow(mut self, samples: u64, max: u64) -> Self {
        if samples > 0 {
            self.overflow = self.overflow.saturating_add(samples);
            self.overflow_max = self.overflow_max.max(max);
        }
        self
    }

    /// Adds the samples of another one.
    pub fn merge(&mut self, other: &Self) {
        if self.counts.is_empty() {
            self.counts.clone_from(&other.counts);
        } else {
            self.counts.extend_from_slice(&other.counts);
            self.sort();
        }
        self.overflow = self.overflow.saturating_add(other.overflow);
        self.overflow_max = self.overflow_max.max(other.overflow_max);
    }

    /// Returns the values that occurred, ascending, with their counts; without the overflow.
    pub fn counts(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.counts.iter().copied()
    }

    /// Samples beyond the last bucket.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// Returns the number of all samples.
    pub fn count(&self) -> u64 {
        self.counts().fold(self.overflow, |sum, (_, count)| sum.saturating_add(count))
    }

    /// Returns the least value; `None` when every sample overflowed, or when there is none.
    pub fn min(&self) -> Option<u64> {
        self.counts.first().map(|(value, _)| *value)
    }

    /// Returns the largest value.
    pub fn max(&self) -> Option<u64> {
        let overflow = (self.overflow > 0).then_some(self.overflow_max);
        overflow.or_else(|| self.counts.last().map(|(value, _)| *value))
    }

    /// Returns the sum of the samples that did not overflow.
    pub fn sum(&self) -> u128 {
        self.counts().map(|(value, count)| u128::from(value) * u128::from(count)).sum()
    }

    /// Returns the quantile by nearest rank, in hundred-thousandths as of
    /// [`Statistic::Quantile`](crate::Statistic::Quantile): of `n` samples in ascending order the one at rank
    /// `ceil(n * parts / 100000)`, at least the first. It is a value that occurred; nothing is
    /// interpolated. A rank among the overflow gives the maximum, which bounds it from above.
    pub fn quantile(&self, parts: u32) -> Option<u64> {
        let rank = self.rank(parts);
        let mut seen = 0;
        for (value, count) in self.counts() {
            seen += u128::from(count);
            if seen >= rank {
                return Some(value);
            }
        }
        self.max()
    }

    /// Returns the quantile as [`Histogram::quantile`] does, or the value of the last bucket that it is
    /// above; `None` without samples.
    pub fn ranked(&self, parts: u32, bucket_last: u64) -> Option<Ranked> {
        let (count, rank) = (self.count(), self.rank(parts));
        let is_beyond = rank > u128::from(count - self.overflow) && rank < u128::from(count);
        match is_beyond {
            true => Some(Ranked::Above(bucket_last)),
            false => self.quantile(parts).map(Ranked::Value),
        }
    }

    fn rank(&self, parts: u32) -> u128 {
        let parts = u128::from(parts.min(WHOLE));
        (u128::from(self.count()) * parts).div_ceil(WHOLE.into()).max(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantiles_are_nearest_ranks() {
        let histogram = Histogram::new((1..=1000).map(|value| (value, 1)));
        assert_eq!(histogram.quantile(50_000), Some(500));
        assert_eq!(histogram.quantile(99_000), Some(990));
        assert_eq!(histogram.quantile(99_900), Some(999));
        assert_eq!(histogram.quantile(100_000), Some(1000));
        assert_eq!(histogram.quantile(0), Some(1));
        let histogram = Histogram::new([(7, 2), (9, 1)]);
        assert_eq!((histogram.quantile(50_000), histogram.quantile(66_700)), (Some(7), Some(9)));
    }

    #[test]
    fn overflow_keeps_its_number_and_the_maximum() {
        let histogram = Histogram::new([(5, 8)]).with_overflow(2, 123_456);
        assert_eq!((histogram.count(), histogram.overflow()), (10, 2));
        assert_eq!((histogram.min(), histogram.max()), (Some(5), Some(123_456)));
        assert_eq!(
            (histogram.quantile(80_000), histogram.quantile(80_100)),
            (Some(5), Some(123_456))
        );
    }

    #[test]
    fn a_rank_beyond_the_buckets_is_known_from_below_and_the_last_one_exactly() {
        let histogram = Histogram::new([(5, 8)]).with_overflow(2, 123);
        let ranked = |parts| histogram.ranked(parts, 9);
        assert_eq!(ranked(80_000), Some(Ranked::Value(5)));
        assert_eq!(ranked(80_100), Some(Ranked::Above(9)));
        assert_eq!(ranked(90_100), Some(Ranked::Value(123)));
        assert_eq!(Histogram::default().ranked(50_000, 9), None);
    }

    #[test]
    fn nothing_has_no_quantile() {
        let histogram = Histogram::new([(3, 0)]);
        assert_eq!(
            (histogram.count(), histogram.quantile(50_000), histogram.max()),
            (0, None, None)
        );
    }

    fn nearest_rank(samples: &[u64], parts: u32) -> u64 {
        let rank = (samples.len() * parts as usize).div_ceil(WHOLE as usize).max(1);
        samples[rank - 1]
    }

    proptest! {
        #[test]
        fn agrees_with_sorted_samples(
            mut left in prop::collection::vec(0..50u64, 1..200),
            right in prop::collection::vec(0..50u64, 0..200),
            parts in 0..=WHOLE,
        ) {
            let of = |samples: &[u64]| Histogram::new(samples.iter().map(|value| (*value, 1)));
            let mut merged = of(&left);
            merged.merge(&of(&right));
            left.extend(right);
            left.sort_unstable();
            prop_assert_eq!(&merged, &of(&left));
            prop_assert_eq!(merged.quantile(parts), Some(nearest_rank(&left, parts)));
            prop_assert_eq!(merged.sum(), left.iter().map(|value| u128::from(*value)).sum());
        }
    }
}
