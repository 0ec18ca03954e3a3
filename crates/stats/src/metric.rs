/// One number of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Its name, such as `wakeup.fifo.p99`.
    pub name: String,
    /// Its value, which is finite.
    pub value: f64,
    /// Its unit: `us`, `messages/s`, `periods`.
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
}

/// The metric that traced cells alone have: how late the real-time probe would have been, had it
/// been due at the worst instant.
pub const BOUND: &str = "wakeup.bound";

/// Which way a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The lower, the better.
    Lower,
    /// The higher, the better.
    Higher,
}

impl Direction {
    /// `lower` or `higher`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
        }
    }
}
