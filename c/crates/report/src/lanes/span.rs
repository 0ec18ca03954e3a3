//! Stretches of a lane on the axis.

use super::look::Look;

/// A stretch of a lane. Times are nanoseconds from the start of the axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub start_ns: u64,
    pub end_ns: u64,
    pub look: Look,
    /// Context or reason: see [`Stretch`](preemptlab_trace::Stretch).
    pub what: String,
}

impl Span {
    pub fn len_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}
