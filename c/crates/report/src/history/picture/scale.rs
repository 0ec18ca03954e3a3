//! The scale of a panel's values.

use preemptlab_model::number;

use super::geometry::BODY;

/// A ratio from which on the axis is logarithmic.
const LOG_FROM: f64 = 30.0;

/// A scale shows ratios of at least this distance from 1, so that noise does not look like a change.
const RATIO_MIN: f64 = 0.04;

/// Steps of an axis, about.
const STEPS: f64 = 5.0;

/// A scale, from the bottom of a plot to its top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    is_log: bool,
    is_ratio: bool,
}

impl Scale {
    /// Creates the scale of these values, which is about ratios or about amounts.
    pub fn new(values: impl Iterator<Item = f64>, is_ratio: bool) -> Self {
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let least = values.iter().copied().fold(f64::MAX, f64::min);
        let most = values.iter().copied().fold(f64::MIN, f64::max);
        if values.is_empty() {
            return Self { low: 0.0, high: 1.0, is_log: false, is_ratio };
        }
        if is_ratio {
            let (low, high) = (least.min(1.0 - RATIO_MIN), most.max(1.0 + RATIO_MIN));
            let room = (high - low) * 0.08;
            return Self { low: low - room, high: high + room, is_log: false, is_ratio };
        }
        let is_log = least > 0.0 && most / least > LOG_FROM;
        let (low, high) = match is_log {
            true => (least / 1.3, most * 1.3),
            false => (least.min(0.0), most.max(1e-9) * 1.1),
        };
        Self { low, high, is_log, is_ratio }
    }

    /// Returns how far a value is above the bottom of the plot.
    pub fn above(self, value: f64) -> f64 {
        let share = match self.is_log {
            true => libm::log(value.max(self.low) / self.low) / libm::log(self.high / self.low),
            false => (value - self.low) / (self.high - self.low),
        };
        share.clamp(0.0, 1.0) * BODY
    }

    /// Returns the values that the axis names, with their names.
    pub fn marks(self) -> Vec<(f64, String)> {
        let values = if self.is_log { self.log_marks() } else { self.even_marks() };
        let name = |value: f64| match self.is_ratio {
            true => number::ratio(value),
            false => number::number(value),
        };
        values.into_iter().map(|value| (value, name(value))).collect()
    }

    /// Returns whether distances are ratios.
    pub fn is_log(self) -> bool {
        self.is_log
    }

    fn even_marks(self) -> Vec<f64> {
        let wanted = (self.high - self.low) / STEPS;
        let mut power = 1e-12;
        while power * 10.0 <= wanted {
            power *= 10.0;
        }
        let step = [1.0, 2.0, 5.0, 10.0].map(|of| of * power);
        let step = step.into_iter().find(|step| *step >= wanted * 0.999).unwrap_or(power * 10.0);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        // Rounded, because 3 times 0.1 is not 0.3.
        let digits = |value: f64| (value * 1e9).round() / 1e9;
        (first..=last).map(|index| digits(index as f64 * step)).collect()
    }

    fn log_marks(self) -> Vec<f64> {
        let is_wide = self.high / self.low > 1000.0;
        let factors: &[f64] = if is_wide { &[1.0] } else { &[1.0, 3.0] };
        let mut marks = Vec::new();
        let mut power = 1e-9;
        while power <= self.high {
            let all = factors.iter().map(|factor| factor * power);
            marks.extend(all.filter(|value| (self.low..=self.high).contains(value)));
            power *= 10.0;
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(values: &[f64], is_ratio: bool) -> Vec<String> {
        let scale = Scale::new(values.iter().copied(), is_ratio);
        scale.marks().into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn axes_have_few_round_numbers() {
        assert_eq!(names(&[15.0, 16.0], false), ["0", "5", "10", "15"]);
        assert_eq!(names(&[1.0, 1.001], true), ["×0.96", "×0.98", "×1.00", "×1.02", "×1.04"]);
        assert_eq!(names(&[1.0, 0.5], true), ["×0.60", "×0.80", "×1.00"]);
        assert_eq!(names(&[15.0, 2500.0], false), ["30", "100", "300", "1,000", "3,000"]);
        assert_eq!(names(&[], false).len(), 6);
        assert!(names(&[f64::NAN, 0.0], false).len() < 10);
    }

    #[test]
    fn values_stay_in_the_plot() {
        for values in [[0.0, 0.0], [1.0, 1e9], [-1.0, 5.0]] {
            let scale = Scale::new(values.into_iter(), false);
            assert!(values.iter().all(|value| (0.0..=BODY).contains(&scale.above(*value))));
        }
    }
}
