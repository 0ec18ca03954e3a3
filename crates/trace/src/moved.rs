//! A wakeup that did not happen, made to happen: the probe's own timer, moved to an instant.

use std::{collections::BTreeMap, io::Read};

use preemptlab_protocol::trace::{Inject, TraceProgram, stream::SiteKind};

use crate::{
    bound::{Bound, Closed},
    cpu::Machine,
    decode::{Decoder, Item, TraceError},
    kernel::{HrtimerLayout, Kernel},
    point::Point,
    wakeup::Target,
};

/// Largest number of the timer's starts that are kept. A probe starts it some thousand times a second of virtual
/// time; a trace with more is refused.
const STARTS_MAX: usize = 1 << 22;

/// `HRTIMER_MODE_REL` (include/linux/hrtimer.h).
const MODE_REL: u64 = 1;

/// The voluntary point of preemption, and a time in which it is over where nobody has asked for the CPU, in nanoseconds:
/// a call took 56 ns in a guest of arm64 where each instruction takes 2 ns. Whoever asks meanwhile may still be heard
/// there, though the stretch behind it begins with the call.
const COND_RESCHED: &str = "__cond_resched";
const COND_RESCHED_NS: u64 = 250;

/// The probe's timer, to expire at an instant of a closed stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedTimer {
    /// The address of its `struct hrtimer`.
    pub timer: u64,
    /// The address of its `struct hrtimer_clock_base`.
    pub base: u64,
    /// Closed stretch in which the timer is to expire.
    pub closed: Closed,
    /// The instant, in nanoseconds of virtual time.
    pub at_ns: u64,
    /// The instant on `CLOCK_MONOTONIC`, in nanoseconds.
    pub to_monotonic_ns: u64,
}

impl MovedTimer {
    /// Returns the time from the instant to the end of the stretch, in nanoseconds.
    pub fn wait_ns(&self) -> u64 {
        self.closed.end_ns.saturating_sub(self.at_ns)
    }
}

impl Kernel {
    /// Returns the plugin's program that lets the probe's timer expire at another instant, if it is in its queue then,
    /// and at most some others are before it there.
    pub fn moved(&self, moved: &MovedTimer) -> TraceProgram {
        let HrtimerLayout { softexpires, expires, leftmost } = self.hrtimer;
        let (message_address, message) = self.arch().timer_message;
        let inject = Inject {
            cpu: moved.closed.cpu,
            at_ns: moved.at_ns,
            expected: (moved.base.wrapping_add(leftmost), moved.timer),
            writes: vec![
                (moved.timer.wrapping_add(softexpires), moved.to_monotonic_ns),
                (moved.timer.wrapping_add(expires), moved.to_monotonic_ns),
            ],
            message_address,
            message,
        };
        TraceProgram { inject: vec![inject], ..self.program().clone() }
    }
}

/// Finds the first instants of the longest closed stretches at which the probe sleeps on a timer that is not due
/// yet. Timers that would expire before it expire with it. The longest waits are first.
///
/// # Errors
///
/// [`TraceError`]
pub fn moved_timers(
    trace: impl Read,
    kernel: &Kernel,
    target: Target<'_>,
    bound: &Bound,
    clock_offset_ns: i64,
) -> Result<Vec<MovedTimer>, TraceError> {
    let timers = Timers::of(trace, kernel, target, clock_offset_ns)?;
    let longest = bound.longest.iter().copied();
    let mut moved: Vec<MovedTimer> = longest
        .filter_map(|closed| {
            let (at_ns, Start { timer, base, .. }) = timers.instant(kernel, closed)?;
            let to_monotonic_ns = at_ns.checked_sub_signed(clock_offset_ns)?;
            Some(MovedTimer { timer, base, closed, at_ns, to_monotonic_ns })
        })
        .collect();
    moved.sort_by_key(|moved| std::cmp::Reverse(moved.wait_ns()));
    Ok(moved)
}

/// The starts of the probe's timer, by CPU: a timer expires on the CPU that has started it.
#[derive(Default)]
struct Timers(BTreeMap<u32, Vec<Start>>);

impl Timers {
    fn of(
        trace: impl Read,
        kernel: &Kernel,
        target: Target<'_>,
        clock_offset_ns: i64,
    ) -> Result<Self, TraceError> {
        let mut decoder = Decoder::new(trace, kernel.program())?;
        let mut machine = Machine::default();
        let mut timers = Self::default();
        let mut count = 0;
        while let Some(item) = decoder.next_item()? {
            match item {
                Item::Task(task) => machine.describe(task)?,
                Item::Stack(_) => {}
                Item::Event(event) => {
                    if let SiteKind::Probe(probe) = event.site.kind
                        && kernel.tracepoint(probe).point == Point::TimerStart
                        && let &[timer, time, _, mode, base] = event.values()
                        && mode & MODE_REL == 0
                    {
                        let task = machine.cpu(event.cpu).task;
                        if machine.task(task).is_some_and(|task| target.is(task)) {
                            if count == STARTS_MAX {
                                let what = "starts of the probe's timer";
                                return Err(TraceError::TooMany { max: STARTS_MAX, what });
                            }
                            count += 1;
                            let due_ns = time.saturating_add_signed(clock_offset_ns);
                            timers
                                .starts(event.cpu, Start { due_ns, timer, base, asleep_ns: None });
                        }
                    }
                    machine.follow(kernel, &event);
                    let task = machine.cpu(event.cpu).task;
                    if !machine.task(task).is_some_and(|task| target.is(task)) {
                        timers.sleeps(event.cpu, event.ns);
                    }
                }
            }
        }
        Ok(timers)
    }

    /// Takes note of a start. It takes the place of one after which the probe did not sleep.
    fn starts(&mut self, cpu: u32, start: Start) {
        let starts = self.0.entry(cpu).or_default();
        starts.pop_if(|last| last.asleep_ns.is_none());
        starts.push(start);
    }

    /// Takes note that a CPU runs another task than the probe.
    fn sleeps(&mut self, cpu: u32, ns: u64) {
        let last = self.0.get_mut(&cpu).and_then(|all| all.last_mut());
        if let Some(last) = last.filter(|last| last.asleep_ns.is_none()) {
            last.asleep_ns = Some(ns);
        }
    }

    /// Returns the first instant of a stretch to which the probe's timer can be moved, with its start.
    fn instant(&self, kernel: &Kernel, closed: Closed) -> Option<(u64, Start)> {
        let starts = self.0.get(&closed.cpu)?;
        let asleep = |start: &Start| start.asleep_ns.is_some_and(|ns| ns < closed.end_ns);
        let start = starts.get(starts.partition_point(asleep).checked_sub(1)?)?;
        // The switch from the probe to the next task may itself be a part of the stretch.
        let open_ns = match kernel.function(closed.start_address) {
            Some(COND_RESCHED) => COND_RESCHED_NS,
            _ => 0,
        };
        let at_ns = closed.start_ns.saturating_add(open_ns).max(start.asleep_ns?);
        if at_ns >= closed.end_ns {
            return None;
        }
        // A timer that expires in the stretch can expire earlier there.
        (start.due_ns > at_ns).then_some((at_ns, *start))
    }
}

/// A start of the probe's timer. Times are virtual, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Start {
    due_ns: u64,
    timer: u64,
    base: u64,
    /// When the CPU ran another task again.
    asleep_ns: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PROBE, Stream, kernel, task};

    const TIMER: u64 = 0x100;
    const BASE: u64 = 0x200;

    /// Returns the instant, in nanoseconds, of a stretch from 100 to 150 us to which a timer can be moved that
    /// expires at `due_us`. The probe sleeps from `asleep_us` on.
    fn instant(due_us: u64, asleep_us: u64) -> Option<u64> {
        instant_behind(0, due_us, asleep_us)
    }

    /// Returns the same of a stretch that begins at an address.
    fn instant_behind(start_address: u64, due_us: u64, asleep_us: u64) -> Option<u64> {
        let mut stream = Stream::new();
        stream.task(&task(0x1000, 7, 6, 9, PROBE));
        stream.task(&task(0x2000, 8, 120, 0, "other"));
        stream.probe(1_000, "__switch_to", &[0, 0x1000]);
        stream.probe(2_000, "hrtimer_start_range_ns", &[TIMER, due_us * 1_000, 0, 0, BASE]);
        stream.probe(asleep_us * 1_000, "__switch_to", &[0x1000, 0x2000]);
        stream.probe(200_000, "run_timer_softirq", &[]);
        let closed = Closed {
            cpu: 0,
            start_ns: 100_000,
            start_address,
            end_ns: 150_000,
            has_softirq: false,
            removed_ns: 0,
        };
        let bound = Bound::of_longest(vec![closed]);
        let target = Target { comm: PROBE, is_realtime: true, first_waits: true };
        let moved = moved_timers(stream.finish().as_slice(), &kernel(), target, &bound, 0).unwrap();
        for moved in &moved {
            assert_eq!((moved.timer, moved.base), (TIMER, BASE));
            assert_eq!(moved.wait_ns(), 150_000 - moved.at_ns);
        }
        moved.first().map(|moved| moved.at_ns)
    }

    /// There the scheduler would still hear of it.
    #[test]
    fn a_timer_does_not_move_to_a_point_of_preemption() {
        let address = crate::testing::address("__cond_resched");
        assert_eq!(instant_behind(address, 300, 3), Some(100_000 + COND_RESCHED_NS));
        assert_eq!(instant_behind(address + 0x100, 300, 3), Some(100_000));
    }

    #[test]
    fn a_timer_moves_where_its_task_sleeps_on_it() {
        assert_eq!(instant(300, 3), Some(100_000));
        assert_eq!(instant(120, 3), Some(100_000));
        // The task goes to sleep in the stretch, or after it.
        assert_eq!(instant(300, 110), Some(110_000));
        assert_eq!(instant(300, 151), None);
        // The timer expires before the stretch.
        assert_eq!(instant(99, 3), None);
    }
}
