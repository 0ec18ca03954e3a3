//! The places of the parts of the picture.

use crate::timeline::ticks::Ticks;

/// Left edge of the axis.
pub const LEFT: f64 = 16.0;
/// Length of the axis; the rest of the width is for the latencies.
pub const PLOT: f64 = 970.0;

/// Largest number of steps of an axis.
const STEPS_MAX: u64 = 12;

/// Scale of the axis: the length of a nanosecond.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The end of the axis, in nanoseconds; not 0.
    pub end_ns: u64,
}

impl Scale {
    /// Creates the scale for this longest latency.
    pub fn new(longest_ns: Option<u64>) -> Self {
        Self { end_ns: longest_ns.unwrap_or(0).max(1) }
    }

    /// Returns the place of an instant.
    pub fn x(self, ns: u64) -> f64 {
        LEFT + self.width(ns)
    }

    /// Returns the places of the axis's marks, with their labels.
    pub fn marks(self) -> impl Iterator<Item = (f64, String)> {
        Ticks::new(self.end_ns, STEPS_MAX).marks().map(move |(ns, label)| (self.x(ns), label))
    }

    /// Returns the width of a duration.
    pub fn width(self, ns: u64) -> f64 {
        ns as f64 / self.end_ns as f64 * PLOT
    }
}
