//! Lanes: one for each thread and CPU, with its states in a window of time.
//!
//! A lane shows the records of [`observe`](crate::observe), with their limits. Besides:
//!
//! - A thread that is woken although it was taken for preempted had gone to sleep: it is shown so.
//! - A thread is taken for blocked when it sleeps after it has entered a function that waits for a
//!   lock, or in a system call for futexes, and for asleep otherwise.
//! - Under PREEMPT_RT softirqs are served by threads, on whose lanes they are.
//! - A new thread's lane begins when it runs first: its first wakeup is not recorded.

mod bounded;
mod finish;
mod follower;
mod lane;
mod sink;
mod state;
#[cfg(test)]
mod tests;

use std::io::Read;

use self::follower::Follower;
pub use self::lane::{
    CpuLane, Instant, InstantKind, LANES_FORMAT, LaneState, Lanes, LeftOut, Section, Stretch,
    ThreadLane,
};
use crate::{
    decode::TraceError, explain::Window, export::ExportError, kernel::Kernel, observe::observe,
};

/// Returns the lanes of every thread and CPU in a window of virtual time, in nanoseconds.
///
/// A time of `CLOCK_MONOTONIC` becomes virtual time by adding `clock_offset_ns` of the trace's
/// [`Findings`](crate::Findings). The offset is that of one instant: the two clocks part by about a
/// microsecond a second.
///
/// # Errors
///
/// [`TraceError`]
pub fn lanes(trace: impl Read, kernel: &Kernel, window: Window) -> Result<Lanes, TraceError> {
    // The states at the start of the window have to be known, so everything before it is followed.
    let whole = Window { start_ns: 0, end_ns: window.end_ns };
    let follower = Follower::new(kernel, window.start_ns);
    observe(trace, kernel, Some(whole), follower).map_err(|error| match error {
        ExportError::Trace(error) => error,
        ExportError::Write(error) => TraceError::Io(error),
    })
}
