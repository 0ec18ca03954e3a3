//! Values in a word.

use std::time::Duration;

/// Writes a span of host time for people: `40 s`, `12 min`, `3.5 h`.
pub fn human(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds @ 100..6000 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

/// Writes `yes`, `no` or, where it is not known, `?`.
pub fn yes_or_no(value: Option<bool>) -> &'static str {
    match value {
        Some(true) => "yes",
        Some(false) => "no",
        None => "?",
    }
}
