//! The most time that a QEMU may take, however busy the host is.

use std::time::{Duration, Instant};

/// Least time between two looks at the time of a CPU that QEMU has had.
const LOOK: Duration = Duration::from_secs(1);

/// QEMU stands still if it had less than this part of a CPU since the last look.
const STILL: u32 = 1000;

/// Limit of a QEMU's host time. It begins as time that passes; where that is over, the time counts
/// in which QEMU had a CPU of the host, and a QEMU that works goes on. So a cell does not fail because
/// other work keeps the host busy.
#[derive(Debug)]
pub(crate) struct Limit {
    time: Duration,
    /// The last look: at this instant QEMU had had so much time of a CPU.
    looked: (Instant, Duration),
    next_look: Instant,
}

impl Limit {
    /// Makes the limit of a QEMU that starts now.
    pub(crate) fn new(time: Duration) -> Self {
        let now = Instant::now();
        Self { time, looked: (now, Duration::ZERO), next_look: now + time }
    }

    /// Returns the limit as a time.
    pub(crate) fn time(&self) -> Duration {
        self.time
    }

    /// Returns the host time until this must be asked again; none when the limit is reached.
    ///
    /// `cpu_time` tells the time of a CPU that QEMU has had so far, or nothing where only the time
    /// that passes counts.
    pub(crate) fn left(&mut self, cpu_time: impl FnOnce() -> Option<Duration>) -> Duration {
        self.left_at(Instant::now(), cpu_time)
    }

    fn left_at(&mut self, now: Instant, cpu_time: impl FnOnce() -> Option<Duration>) -> Duration {
        let left = self.next_look.saturating_duration_since(now);
        if !left.is_zero() {
            return left;
        }
        let Some(had) = cpu_time() else { return Duration::ZERO };
        let (then, had_then) = self.looked;
        let left = self.time.saturating_sub(had);
        if left.is_zero() || had.saturating_sub(had_then) * STILL < now - then {
            return Duration::ZERO;
        }
        self.looked = (now, had);
        self.next_look = now + left.max(LOOK);
        left.max(LOOK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    /// Returns the host time until a QEMU that has a `share` of a CPU for `works` reaches a limit of an
    /// hour.
    fn reached(share: f64, works: Duration) -> Duration {
        let mut limit = Limit::new(HOUR);
        let start = limit.looked.0;
        let mut now = start;
        loop {
            let had = (now - start).min(works).mul_f64(share);
            match limit.left_at(now, || Some(had)) {
                Duration::ZERO => return now - start,
                left => now += left,
            }
        }
    }

    #[test]
    fn a_busy_host_gives_a_guest_more_time() {
        let ten_times = reached(0.1, Duration::MAX);
        assert!(ten_times >= HOUR * 10 && ten_times < HOUR * 11, "{ten_times:?}");
        let alone = reached(1.0, Duration::MAX);
        assert!(alone >= HOUR && alone < HOUR + LOOK * 2, "{alone:?}");
        // Several threads: nothing is taken away.
        assert_eq!(reached(2.0, Duration::MAX), HOUR);
    }

    #[test]
    fn a_guest_that_stands_still_has_the_time_that_passes() {
        assert!(reached(1.0, Duration::from_secs(2)) < HOUR * 2);
        assert_eq!(reached(0.0, Duration::MAX), HOUR);
    }

    #[test]
    fn without_time_of_a_cpu_the_time_that_passes_counts() {
        let mut limit = Limit::new(HOUR);
        let start = limit.looked.0;
        assert!(!limit.left_at(start + HOUR / 2, || panic!("not asked")).is_zero());
        assert!(limit.left_at(start + HOUR, || None).is_zero());
    }
}
