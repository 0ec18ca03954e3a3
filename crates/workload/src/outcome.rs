//! What became of a command: how it ended, what it used, and what it left.

use preemptlab_model::Metric;
use preemptlab_protocol::{CommandReport, Exit};

use crate::{
    MeasureError,
    error::{end, excerpt},
    measurements::lower,
};

/// A probe must have ended well.
pub fn check_ended_well(probe: &CommandReport) -> Result<(), MeasureError> {
    match probe.exit {
        Exit::Code(0) => Ok(()),
        _ => Err(MeasureError::ProbeFailed { name: probe.name.clone(), end: end(probe) }),
    }
}

/// A load must have run until the guest stopped it.
pub fn check_lasted(load: &CommandReport) -> Result<(), MeasureError> {
    match load.exit {
        Exit::Stopped => Ok(()),
        _ => Err(MeasureError::LoadEnded { name: load.name.clone(), end: end(load) }),
    }
}

/// A file that a probe was to write; an empty one is none.
pub fn file<'a>(probe: &'a CommandReport, path: &str) -> Result<&'a str, MeasureError> {
    let text = probe.files.get(path).filter(|text| !text.trim().is_empty());
    text.map(String::as_str)
        .ok_or_else(|| MeasureError::NoResult { name: probe.name.clone(), end: end(probe) })
}

/// The error of a probe's text that is not what it should be, from the cause.
pub fn unreadable(probe: &CommandReport, text: &str) -> impl FnOnce(String) -> MeasureError {
    let (name, excerpt) = (probe.name.clone(), excerpt(text));
    move |cause| MeasureError::Unreadable { name, cause, excerpt }
}

/// From its start to its end in seconds, as `time(1)` has it; a tick of the clock at least.
pub fn real_s(probe: &CommandReport) -> f64 {
    probe.end_ns.saturating_sub(probe.start_ns).max(1) as f64 / 1e9
}

/// The names of [`times`].
pub const TIMES: [&str; 3] = ["real", "user", "system"];

/// `real`, `user` and `system`, in seconds.
pub fn times(probe: &CommandReport) -> [Metric; 3] {
    let [real, user, system] = TIMES;
    [
        lower(real, real_s(probe), "s"),
        lower(user, probe.user_ns as f64 / 1e9, "s"),
        lower(system, probe.system_ns as f64 / 1e9, "s"),
    ]
}
