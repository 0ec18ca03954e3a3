use crate::Interval;

/// Part of a step by which two numbers may differ in rounding and count as equal.
const ROUNDING: f64 = 1e-9;

/// Smallest difference between two values that their instrument tells, in the metric's unit. A value
/// `v` stands for any from `v` up to `v + step`.
///
/// Every verdict on a difference asks this type whether the instrument shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Resolution(f64);

impl Resolution {
    /// Creates the resolution of an instrument; 0 for one that is exact.
    pub fn new(step: f64) -> Self {
        Self(if step.is_finite() { step.max(0.0) } else { 0.0 })
    }

    /// Returns the coarser of two.
    #[must_use]
    pub fn coarser(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// Returns the step.
    pub fn step(self) -> f64 {
        self.0
    }

    /// Returns whether a difference may be none, since both values are known to a step.
    pub fn hides(self, difference: f64) -> bool {
        self.0 > 0.0 && difference.abs() <= self.0 * (1.0 + ROUNDING)
    }

    /// Returns whether every difference of an interval may be none.
    pub fn hides_all(self, differences: Interval) -> bool {
        self.hides(differences.low) && self.hides(differences.high)
    }

    /// Returns whether an interval of differences leaves out all that the instrument hides.
    pub fn shows(self, Interval { low, high }: Interval) -> bool {
        let step = self.0 * (1.0 + ROUNDING);
        low > step || high < -step
    }

    /// Returns the interval of the values that those of an interval stand for.
    pub fn widen(self, Interval { low, high }: Interval) -> Interval {
        Interval { low, high: high + self.0 }
    }

    /// Returns the interval of the differences that those between values as they were read stand for.
    pub fn widen_difference(self, Interval { low, high }: Interval) -> Interval {
        Interval { low: low - self.0, high: high + self.0 }
    }

    /// Returns the interval of the ratios to a baseline's value that those of an interval stand for.
    pub fn widen_ratio(self, Interval { low, high }: Interval, baseline: f64) -> Interval {
        match self.0 > 0.0 && baseline > 0.0 {
            true => Interval {
                low: low * baseline / (baseline + self.0),
                high: high + self.0 / baseline,
            },
            false => Interval { low, high },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_step_may_be_none_and_two_are_a_difference() {
        let bucket = Resolution::new(1.0);
        assert!(bucket.hides(1.0) && bucket.hides(-1.0) && !bucket.hides(1.5));
        assert!(bucket.shows(Interval { low: 2.0, high: 5.0 }));
        assert!(!bucket.shows(Interval { low: 1.0, high: 5.0 }));
        assert!(bucket.shows(Interval { low: -5.0, high: -2.0 }));
        // Both are the same number but for rounding.
        assert!(Resolution::new(0.01).hides(0.3 - 0.29));
        assert!(!Resolution::default().hides(1e-12) && !Resolution::default().hides(0.0));
    }

    #[test]
    fn no_interval_is_narrower_than_the_instrument() {
        let bucket = Resolution::new(1.0);
        let of = bucket.widen(Interval { low: 15.0, high: 15.0 });
        assert_eq!(of, Interval { low: 15.0, high: 16.0 });
        let ratio = 15.0 / 16.0;
        let of = bucket.widen_ratio(Interval { low: ratio, high: ratio }, 16.0);
        assert_eq!(of, Interval { low: 15.0 / 17.0, high: 1.0 });
        let difference = bucket.widen_difference(Interval { low: -1.0, high: -1.0 });
        assert_eq!(difference, Interval { low: -2.0, high: 0.0 });
        // It does not matter which of the two is the baseline.
        let inverse = bucket.widen_ratio(Interval { low: 1.0 / ratio, high: 1.0 / ratio }, 15.0);
        assert!((inverse.low * of.high - 1.0).abs() < 1e-12);
        assert!((inverse.high * of.low - 1.0).abs() < 1e-12);
    }
}
