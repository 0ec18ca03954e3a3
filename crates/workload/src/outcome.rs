//! Outcome of a command: how it ended, its times, and its files.

use preemptlab_model::Metric;
use preemptlab_protocol::{CommandReport, Exit};

use crate::{
    MeasureError,
    error::{end, excerpt},
    measurements::lower,
};

/// Checks that a probe ended well.
///
/// # Errors
///
/// [`MeasureError::ProbeFailed`] when its exit status is not 0.
pub fn check_ended_well(probe: &CommandReport) -> Result<(), MeasureError> {
    match probe.exit {
        Exit::Code(0) => Ok(()),
        _ => Err(MeasureError::ProbeFailed { name: probe.name.clone(), end: end(probe) }),
    }
}

/// Checks that a load ran until the guest stopped it.
///
/// # Errors
///
/// [`MeasureError::LoadEnded`] when the load ended by itself.
pub fn check_lasted(load: &CommandReport) -> Result<(), MeasureError> {
    match load.exit {
        Exit::Stopped => Ok(()),
        _ => Err(MeasureError::LoadEnded { name: load.name.clone(), end: end(load) }),
    }
}

/// Returns the text of a file that a probe had to write.
///
/// # Errors
///
/// [`MeasureError::NoResult`] when the file is missing or empty.
pub fn file<'a>(probe: &'a CommandReport, path: &str) -> Result<&'a str, MeasureError> {
    let text = probe.files.get(path).filter(|text| !text.trim().is_empty());
    text.map(String::as_str).ok_or_else(|| no_result(probe))
}

/// Returns the error of a probe that wrote no result.
pub fn no_result(probe: &CommandReport) -> MeasureError {
    MeasureError::NoResult { name: probe.name.clone(), end: end(probe) }
}

/// Returns a function that makes the error of a probe's unreadable text from its cause.
pub fn unreadable(probe: &CommandReport, text: &str) -> impl FnOnce(String) -> MeasureError {
    let (name, excerpt) = (probe.name.clone(), excerpt(text));
    move |cause| MeasureError::Unreadable { name, cause, excerpt }
}

/// Returns the time from a probe's start to its end in seconds, like `time(1)`; at least one
/// nanosecond.
pub fn real_s(probe: &CommandReport) -> f64 {
    probe.end_ns.saturating_sub(probe.start_ns).max(1) as f64 / 1e9
}

/// The names of [`times`].
pub const TIMES: [&str; 3] = ["real", "user", "system"];

/// Returns `real`, `user` and `system`, in seconds.
pub fn times(probe: &CommandReport) -> [Metric; 3] {
    let [real, user, system] = TIMES;
    [
        lower(real, real_s(probe), "s", 1e-9),
        // The kernel tells them in microseconds (struct rusage).
        lower(user, probe.user_ns as f64 / 1e9, "s", 1e-6),
        lower(system, probe.system_ns as f64 / 1e9, "s", 1e-6),
    ]
}
