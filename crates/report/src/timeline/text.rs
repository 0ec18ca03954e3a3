//! Words and numbers of timelines.

use preemptlab_model::plain::visible;
use preemptlab_trace::{Segment, Timeline};

use crate::number::number;

/// The longest name that is shown: a kernel's functions may have 511 characters.
const NAME_CHARS_MAX: usize = 64;

const TITLE_CHARS_MAX: usize = 200;

/// Note that a reader needs to read the names.
pub const MET: &str =
    "Where the kernel was not preemptible, the function named is where an interrupt met it.";

/// The name of what segments belong to of which the cause alone is known.
pub const REST: &str = "others";

/// Microseconds, to the nanosecond: `29.079`.
pub fn us(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

/// Microseconds from one instant to another, which may be the earlier one: `-1.204`.
pub fn us_from(from_ns: u64, to_ns: u64) -> String {
    let sign = if to_ns < from_ns { "-" } else { "" };
    format!("{sign}{}", us(from_ns.abs_diff(to_ns)))
}

/// Seconds, to the nanosecond.
pub fn seconds(ns: u64) -> String {
    format!("{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000)
}

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
    line(name, NAME_CHARS_MAX)
}

/// Returns a picture's title in the same form, as long as a line.
pub fn title(title: &str) -> String {
    line(title, TITLE_CHARS_MAX)
}

fn line(text: &str, chars_max: usize) -> String {
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

/// Returns a function and its callers: `f < g < h`.
pub fn function(segment: &Segment) -> String {
    let functions = segment.function.iter().chain(&segment.callers);
    functions.map(|function| name(function)).collect::<Vec<_>>().join(" < ")
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

/// Returns the place of a task: `hackbench/187 in write()`.
pub fn place(segment: &Segment) -> String {
    let task = task(segment);
    let place = match context(segment).as_str() {
        "" => task,
        "kernel thread" => format!("kernel thread {task}"),
        context => format!("{task} in {context}"),
    };
    match segment.cpu {
        Some(cpu) => format!("{place} on CPU {cpu}"),
        None => place,
    }
}

/// Returns whether the timeline is that of a wakeup that did not happen, which has no task.
pub fn is_imagined(timeline: &Timeline) -> bool {
    timeline.wakeup.task.address == 0
}

/// Returns the latency and the name of a wakeup.
pub fn headline(timeline: &Timeline) -> String {
    format!("{} us late: {}", us(timeline.wakeup.latency_ns()), subject(timeline))
}

/// Returns the name of a wakeup, with its due time.
pub fn subject(timeline: &Timeline) -> String {
    let wakeup = &timeline.wakeup;
    let task = &wakeup.task;
    let due = format!("due at {} on CPU {}", seconds(wakeup.due_ns), wakeup.cpu);
    if is_imagined(timeline) {
        return format!("{}, if it had been {due}", name(&task.comm));
    }
    let priority = priority(task.prio);
    format!("{}/{}, {priority}, wakeup {}, {due}", name(&task.comm), task.pid, wakeup.ordinal)
}

/// Returns the kernel's priority in a user's terms (`MAX_RT_PRIO`, include/linux/sched/prio.h).
fn priority(prio: i32) -> String {
    match prio {
        ..0 => "deadline".to_owned(),
        0..100 => format!("real-time priority {}", 99 - prio),
        100..140 => format!("nice {}", prio - 120),
        _ => format!("kernel priority {prio}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_keep_every_nanosecond() {
        assert_eq!(us(29_079), "29.079");
        assert_eq!(us(7), "0.007");
        assert_eq!(us_from(1_000, 2_500), "1.500");
        assert_eq!(us_from(2_500, 1_000), "-1.500");
        assert_eq!(us_from(u64::MAX, 0), "-18446744073709551.615");
    }

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

    #[test]
    fn priorities_are_those_that_users_set() {
        assert_eq!(priority(-1), "deadline");
        assert_eq!(priority(9), "real-time priority 90");
        assert_eq!(priority(120), "nice 0");
        assert_eq!(priority(100), "nice -20");
    }
}
