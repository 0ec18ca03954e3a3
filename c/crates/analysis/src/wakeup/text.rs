//! Words and numbers of a late wakeup.

use preemptlab_model::{number::number, plain::visible};
use preemptlab_trace::{Segment, Timeline};

/// The longest name that is shown: a kernel's functions may have 511 characters.
const NAME_CHARS_MAX: usize = 64;

/// The name of the owner of segments of which the cause alone is known.
pub const REST: &str = "others";

/// Returns a duration in words: `29.1 us`.
pub fn duration(ns: u64) -> String {
    match ns {
        ..99_995_000 => format!("{} us", number(ns as f64 / 1e3)),
        _ => format!("{} ms", number(ns as f64 / 1e6)),
    }
}

/// Returns a share in words: `46 %`.
pub fn percent(part_ns: u64, whole_ns: u64) -> String {
    match share(part_ns, whole_ns) {
        share if share > 0.0 && share < 0.5 => "<1 %".to_owned(),
        share => format!("{share:.0} %"),
    }
}

/// Returns a share in percent; 0 of nothing.
pub fn share(part_ns: u64, whole_ns: u64) -> f64 {
    if whole_ns == 0 { 0.0 } else { part_ns as f64 * 100.0 / whole_ns as f64 }
}

/// Returns a name that came from a guest: in one line, without characters that could steer a
/// terminal or turn the direction of writing, and of bounded length.
pub fn name(name: &str) -> String {
    bounded(name, NAME_CHARS_MAX)
}

/// Returns a text in one line, without characters that could steer a terminal or turn the direction of
/// writing, and of at most `chars_max` characters.
pub fn bounded(text: &str, chars_max: usize) -> String {
    let mut chars = text.chars();
    let mut shown: String = chars.by_ref().take(chars_max).map(visible).collect();
    if chars.next().is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}

/// Returns the name of a task: `hackbench/187`.
pub fn task(segment: &Segment) -> String {
    match segment.folded().is_rest {
        true => REST.to_owned(),
        false => format!("{}/{}", name(&segment.comm), segment.pid),
    }
}

/// Returns the kernel's context, without the interrupt that is the segment's function itself.
pub fn context(segment: &Segment) -> String {
    let context = match &segment.function {
        Some(function) => segment
            .context
            .strip_suffix(function.as_str())
            .and_then(|outer| outer.strip_suffix(" > "))
            .unwrap_or(&segment.context),
        None => &segment.context,
    };
    name(context)
}

/// Returns whether the timeline is that of a wakeup that did not happen, which has no task.
pub fn is_imagined(timeline: &Timeline) -> bool {
    timeline.wakeup.task.address == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_whole_percents() {
        assert_eq!(percent(46, 100), "46 %");
        assert_eq!(percent(1, 1000), "<1 %");
        assert_eq!(percent(0, 1000), "0 %");
        assert_eq!(percent(0, 0), "0 %");
    }

    #[test]
    fn durations_have_three_digits() {
        assert_eq!(duration(29_079), "29.1 us");
        assert_eq!(duration(420), "0.420 us");
        assert_eq!(duration(9_965_849), "9,966 us");
        assert_eq!(duration(193_153_000), "193 ms");
    }

    #[test]
    fn names_are_bounded_and_steer_nothing() {
        assert_eq!(name("a\u{1b}[2J\n\u{202e}b"), "a [2J  b");
        assert_eq!(name(&"x".repeat(64)), "x".repeat(64));
        assert_eq!(name(&"x".repeat(65)), format!("{}…", "x".repeat(63)));
    }
}
