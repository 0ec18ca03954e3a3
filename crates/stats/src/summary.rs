use crate::Direction;

/// One metric of one configuration, over its replicates.
///
/// The location is the median. The spread is the whole range, minimum to maximum: a recording has
/// three to five replicates as a rule, and quartiles of so few are mere interpolation.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The metric's name.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// The value of each replicate that has one, in the order of the replicates; never empty.
    pub values: Vec<f64>,
    /// Their median; the mean of the middle two when their number is even.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// The median divided by the baseline's; `None` without a baseline, and where the baseline's
    /// is zero.
    pub ratio: Option<f64>,
}

impl Summary {
    /// How many replicates have a value.
    pub fn n(&self) -> usize {
        self.values.len()
    }

    /// `None` when there is no value.
    pub(crate) fn new(
        name: String,
        unit: &'static str,
        direction: Direction,
        values: Vec<f64>,
    ) -> Option<Self> {
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
            _ => sorted[middle],
        };
        Some(Self { name, unit, direction, values, median, min, max, ratio: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(values: &[f64]) -> Option<Summary> {
        Summary::new("throughput".into(), "messages/s", Direction::Higher, values.to_vec())
    }

    #[test]
    fn the_median_and_the_range_of_few_values() {
        let of = |values: &[f64]| summary(values).map(|s| (s.median, s.min, s.max));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[4.0]), Some((4.0, 4.0, 4.0)));
        assert_eq!(of(&[4.0, 1.0]), Some((2.5, 1.0, 4.0)));
        assert_eq!(of(&[4.0, 1.0, 2.0]), Some((2.0, 1.0, 4.0)));
    }

    #[test]
    fn values_keep_the_order_of_the_replicates() {
        assert_eq!(summary(&[4.0, 1.0, 2.0]).unwrap().values, [4.0, 1.0, 2.0]);
    }
}
