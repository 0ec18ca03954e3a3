//! The scale on which a gate compares a metric.

use preemptlab_model::Direction;

use crate::{Margin, margin::ns_of};

/// The scale on which a metric's pairs are compared: a logarithm of ratios, or differences.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    margin: Margin,
    direction: Direction,
    /// Nanoseconds of the unit.
    unit_ns: f64,
}

impl Scale {
    pub fn new(margin: Margin, unit: &str, direction: Direction) -> Self {
        Self { margin, direction, unit_ns: ns_of(unit).unwrap_or(1.0) }
    }

    /// Returns how much worse the new value is; `None` where a value has no logarithm.
    pub fn worse(self, base: f64, new: f64) -> Option<f64> {
        let change = match self.margin {
            Margin::Share(_) if base == new => 0.0,
            Margin::Share(_) if base <= 0.0 || new <= 0.0 => return None,
            Margin::Share(_) => libm::log(new / base),
            Margin::Time(_) => new - base,
        };
        Some(self.signed(change)).filter(|change| change.is_finite())
    }

    /// Returns a step of the instrument on this scale, where a kernel's values are as low as this.
    pub fn step(self, value: f64, resolution: f64) -> f64 {
        match self.margin {
            Margin::Time(_) => resolution,
            Margin::Share(_) if resolution > 0.0 && value > 0.0 => libm::log1p(resolution / value),
            Margin::Share(_) => 0.0,
        }
    }

    /// Returns the margin on this scale.
    pub fn margin(self) -> f64 {
        match self.margin {
            Margin::Share(share) => libm::log1p(share.number()),
            Margin::Time(ns) => ns as f64 / self.unit_ns,
        }
    }

    /// Returns a value of the scale as people read it: a share of the base's value, or a difference in
    /// the metric's unit. Positive is more, which may be better.
    pub fn change(self, worse: f64) -> f64 {
        let change = self.signed(worse);
        match self.margin {
            Margin::Share(_) => libm::expm1(change),
            Margin::Time(_) => change,
        }
    }

    fn signed(self, change: f64) -> f64 {
        match self.direction {
            Direction::Lower => change,
            // Not `-change`, which would make minus zero of zero.
            Direction::Higher => 0.0 - change,
        }
    }
}
