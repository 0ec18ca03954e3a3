//! The monotonic clock.

use rustix::{
    io::Errno,
    thread::{NanosleepRelativeResult, clock_nanosleep_absolute, nanosleep},
    time::{ClockId, Timespec, clock_gettime},
};

/// Nanoseconds in a second.
pub const NS_PER_SEC: u64 = 1_000_000_000;
/// Nanoseconds in a millisecond.
pub const NS_PER_MS: u64 = 1_000_000;

/// `CLOCK_MONOTONIC`, in nanoseconds.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * NS_PER_SEC + now.tv_nsec as u64
}

/// A span of time in the kernel's form.
pub fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / NS_PER_SEC) as i64, tv_nsec: (ns % NS_PER_SEC) as _ }
}

/// Sleeps for this long.
pub fn sleep_ns(ns: u64) {
    let mut left = timespec(ns);
    while let NanosleepRelativeResult::Interrupted(rest) = nanosleep(&left) {
        left = rest;
    }
}

/// Sleeps until then.
pub fn sleep_until_ns(until_ns: u64) {
    let until = timespec(until_ns);
    while clock_nanosleep_absolute(ClockId::Monotonic, &until) == Err(Errno::INTR) {}
}
