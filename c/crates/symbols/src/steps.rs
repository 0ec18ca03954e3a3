/// The most entries in the coarse table. A kernel and its modules lie within 1 GiB, of which each
/// entry stands for a page then.
const COARSE_MAX: u32 = 1 << 18;

/// Ascending numbers, of which the last one up to another is found fast: a coarse table narrows
/// the search down to a few.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    /// All numbers, ascending.
    pub(crate) all: Vec<u64>,
    /// Number of the numbers before each part of the range, and before the end of the range.
    coarse: Vec<u32>,
    /// The logarithm of the size of a part.
    part_log: u32,
}

impl Steps {
    /// Creates the index of ascending numbers, of which there are fewer than 2^32.
    pub(crate) fn new(numbers: impl Iterator<Item = u64>) -> Self {
        let all: Vec<u64> = numbers.collect();
        let (Some(first), Some(last)) = (all.first(), all.last()) else { return Self::default() };
        let range = last - first;
        let part_log = (u64::BITS - range.leading_zeros()).saturating_sub(COARSE_MAX.ilog2());
        let mut coarse = vec![0; (range >> part_log) as usize + 2];
        for number in &all {
            coarse[((number - first) >> part_log) as usize + 1] += 1;
        }
        let mut before = 0;
        for count in &mut coarse {
            before += *count;
            *count = before;
        }
        Self { all, coarse, part_log }
    }

    /// Returns the place of the last number that is not above this one.
    pub(crate) fn last_up_to(&self, number: u64) -> Option<usize> {
        let distance = number.checked_sub(*self.all.first()?)?;
        // Beyond the range only the last number remains.
        let part = usize::try_from(distance >> self.part_log).unwrap_or(usize::MAX);
        let Some(&[before, up_to]) = self.coarse.get(part..part.saturating_add(2)) else {
            return self.all.len().checked_sub(1);
        };
        let (before, up_to) = (before as usize, up_to as usize);
        let within = self.all[before..up_to].partition_point(|other| *other <= number);
        (before + within).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_has_no_last() {
        let none = Steps::new(std::iter::empty());
        assert_eq!((none.last_up_to(0), none.last_up_to(u64::MAX)), (None, None));
    }

    #[test]
    fn the_whole_range_fits() {
        let ends = Steps::new([0, u64::MAX].into_iter());
        for (number, place) in [(0, 0), (u64::MAX - 1, 0), (u64::MAX, 1)] {
            assert_eq!(ends.last_up_to(number), Some(place));
        }
        assert!(ends.coarse.len() <= COARSE_MAX as usize + 1);
    }

    proptest! {
        #[test]
        fn agrees_with_a_binary_search(
            mut numbers in prop::collection::vec(any::<u64>(), 0..60),
            shift in 0..64_u32,
            number: u64,
        ) {
            // Close numbers and distant ones.
            numbers.iter_mut().for_each(|number| *number >>= shift);
            numbers.sort_unstable();
            numbers.dedup();
            let steps = Steps::new(numbers.iter().copied());
            let near = numbers.iter().flat_map(|number| {
                [number.saturating_sub(1), *number, number.saturating_add(1)]
            });
            for number in near.chain([0, number, number >> shift, u64::MAX]) {
                let expected = numbers.partition_point(|other| *other <= number).checked_sub(1);
                prop_assert_eq!(steps.last_up_to(number), expected);
            }
        }
    }
}
