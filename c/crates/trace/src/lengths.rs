//! Lengths of time as counts by length, in bounded memory.

/// Lengths below this number of nanoseconds are told apart to the nanosecond.
const EXACT_NS: u64 = 1 << 12;

/// Number of buckets for each doubling of longer lengths: those in one bucket differ by less than 1/2048.
const BUCKETS: u64 = EXACT_NS / 2;

/// Number of lengths, and their sum, by length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lengths {
    buckets: Vec<Bucket>,
    count: u64,
}

/// Lengths that differ by little.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// Number of lengths.
    pub count: u64,
    /// All of them together, in nanoseconds.
    pub sum_ns: u64,
}

impl Bucket {
    /// Returns the mean length, in nanoseconds.
    pub fn mean_ns(self) -> f64 {
        self.sum_ns as f64 / self.count as f64
    }
}

/// Returns the number of the bucket of a length.
fn bucket_of(ns: u64) -> usize {
    let index = match ns < EXACT_NS {
        true => ns,
        false => {
            let shift = ns.ilog2() - BUCKETS.ilog2();
            BUCKETS * u64::from(shift) + (ns >> shift)
        }
    };
    index as usize
}

impl Lengths {
    /// Adds a length.
    pub fn add(&mut self, ns: u64) {
        self.put(bucket_of(ns), Bucket { count: 1, sum_ns: ns });
    }

    /// Takes in other lengths, which are then gone there.
    pub fn take_in(&mut self, other: &mut Self) {
        for (index, bucket) in std::mem::take(&mut other.buckets).into_iter().enumerate() {
            if bucket.count > 0 {
                self.put(index, bucket);
            }
        }
        other.count = 0;
    }

    fn put(&mut self, index: usize, bucket: Bucket) {
        if index >= self.buckets.len() {
            self.buckets.resize(index + 1, Bucket::default());
        }
        let known = &mut self.buckets[index];
        known.count = known.count.saturating_add(bucket.count);
        known.sum_ns = known.sum_ns.saturating_add(bucket.sum_ns);
        self.count = self.count.saturating_add(bucket.count);
    }

    /// Returns the number of lengths.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns a quantile in hundred-thousandths by nearest rank, in nanoseconds: the mean of its bucket, rounded
    /// up. `None` where there are no lengths.
    pub fn quantile_ns(&self, share: u32) -> Option<u64> {
        let rank = (u128::from(self.count) * u128::from(share)).div_ceil(100_000).max(1);
        let mut seen = 0;
        let bucket = self.buckets.iter().find(|bucket| {
            seen += u128::from(bucket.count);
            seen >= rank
        })?;
        Some(bucket.sum_ns.div_ceil(bucket.count))
    }

    /// Returns the buckets that hold lengths, the longest first.
    pub fn longest_first(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.buckets.iter().rev().copied().filter(|bucket| bucket.count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_and_hold_what_differs_by_little() {
        let edges = (0..3 * EXACT_NS).chain((12..63).flat_map(|bit| {
            let at = 1_u64 << bit;
            [at - 1, at, at + 1, at + at / 2]
        }));
        for ns in edges {
            let (here, next) = (bucket_of(ns), bucket_of(ns + 1));
            assert!(next == here || next == here + 1, "{ns}");
            assert!(ns >= EXACT_NS || next == here + 1, "{ns}");
            let last = ns + (ns / BUCKETS);
            assert!(bucket_of(last + 1) > here, "{ns}");
        }
        assert!(bucket_of(u64::MAX) < 120_000, "the memory is bounded");
    }

    #[test]
    fn counts_and_sums_are_exact() {
        let (mut one, mut two) = (Lengths::default(), Lengths::default());
        [7, 7, 1_000_000].iter().for_each(|ns| one.add(*ns));
        [1_000_100, 9].iter().for_each(|ns| two.add(*ns));
        one.take_in(&mut two);
        assert_eq!((one.count(), two), (5, Lengths::default()));
        let quantiles = [1, 40_000, 60_000, 60_001, 100_000].map(|share| one.quantile_ns(share));
        assert_eq!(quantiles, [7, 7, 9, 1_000_050, 1_000_050].map(Some));
        assert_eq!(Lengths::default().quantile_ns(50_000), None);
        let found: Vec<_> = one.longest_first().map(|it| (it.count, it.sum_ns)).collect();
        assert_eq!(found, [(2, 2_000_100), (1, 9), (2, 14)]);
    }
}
