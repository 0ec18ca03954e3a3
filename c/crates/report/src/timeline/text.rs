//! Words and numbers of timelines.

use preemptlab_analysis::wakeup::{bounded, context, is_imagined, name, task};
use preemptlab_trace::{Segment, Timeline};

const TITLE_CHARS_MAX: usize = 200;

/// Note that a reader needs to read the names.
pub const MET: &str =
    "Where the kernel was not preemptible, the function named is where an interrupt met it.";

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

/// Returns a picture's title in the form of a name, as long as a line.
pub fn title(title: &str) -> String {
    bounded(title, TITLE_CHARS_MAX)
}

/// Returns a function and its callers: `f < g < h`.
pub fn function(segment: &Segment) -> String {
    let functions = segment.function.iter().chain(&segment.callers);
    functions.map(|function| name(function)).collect::<Vec<_>>().join(" < ")
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
    fn priorities_are_those_that_users_set() {
        assert_eq!(priority(-1), "deadline");
        assert_eq!(priority(9), "real-time priority 90");
        assert_eq!(priority(120), "nice 0");
        assert_eq!(priority(100), "nice -20");
    }
}
