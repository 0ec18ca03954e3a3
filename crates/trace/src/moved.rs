//! A wakeup that did not happen, made to happen: the probe's own timer, moved to an instant.

use std::{collections::BTreeMap, io::Read};

use preemptlab_protocol::trace::{Inject, TraceProgram, stream::SiteKind};

use crate::{
    arch::{LOCAL_TIMER_VECTOR, MESSAGE_ADDRESS},
    bound::{Bound, Closed},
    cpu::Machine,
    decode::{Decoder, Item, TraceError},
    kernel::{HrtimerLayout, Kernel, Point},
    wakeup::Target,
};

/// A probe starts its timer some thousand times a second.
const STARTS_MAX: usize = 1 << 21;

/// `HRTIMER_MODE_REL` (include/linux/hrtimer.h).
const MODE_REL: u64 = 1;

/// The probe's timer, to expire at the first instant of a closed stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedTimer {
    /// The address of its `struct hrtimer`.
    pub timer: u64,
    /// The address of its `struct hrtimer_clock_base`.
    pub base: u64,
    /// Closed stretch in which the timer is to expire.
    pub closed: Closed,
    /// Start of the stretch on `CLOCK_MONOTONIC`, in nanoseconds.
    pub to_monotonic_ns: u64,
}

impl Kernel {
    /// Returns the plugin's program that lets the probe's timer expire at another instant: the
    /// first of these at which it is the next of all timers to expire.
    pub fn moved(&self, moved: &[MovedTimer]) -> TraceProgram {
        let HrtimerLayout { softexpires, expires, leftmost } = self.hrtimer;
        let inject = |moved: &MovedTimer| Inject {
            cpu: moved.closed.cpu,
            at_ns: moved.closed.start_ns,
            expected: (moved.base.wrapping_add(leftmost), moved.timer),
            writes: vec![
                (moved.timer.wrapping_add(softexpires), moved.to_monotonic_ns),
                (moved.timer.wrapping_add(expires), moved.to_monotonic_ns),
            ],
            message_address: MESSAGE_ADDRESS,
            message: LOCAL_TIMER_VECTOR,
        };
        TraceProgram { inject: moved.iter().map(inject).collect(), ..self.program().clone() }
    }
}

/// Finds the longest closed stretches through which the probe slept, and the timer it slept on: where
/// its own timer expires, moving it takes its interrupt away. Stretches with softirqs are left out: softirqs stop early when a task waits, so that moving the
/// timer there changes the stretch.
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
    let mut decoder = Decoder::new(trace, kernel.program())?;
    let mut machine = Machine::default();
    // A timer expires on the CPU that has started it.
    let mut starts: BTreeMap<u32, Vec<Start>> = BTreeMap::new();
    let mut count = 0;
    while let Some(item) = decoder.next_item()? {
        match item {
            Item::Task(task) => machine.describe(task),
            Item::Stack(_) => {}
            Item::Event(event) => {
                if let SiteKind::Probe(probe) = event.site.kind
                    && kernel.tracepoint(probe).point == Point::TimerStart
                    && let &[timer, time, _, mode, base] = event.values()
                    && mode & MODE_REL == 0
                {
                    let task = machine.cpu(event.cpu).task;
                    let is_target = machine.task(task).is_some_and(|task| target.is(task));
                    if is_target && count < STARTS_MAX {
                        count += 1;
                        let due_ns = time.saturating_add_signed(clock_offset_ns);
                        let start = Start { ns: event.ns, due_ns, timer, base };
                        starts.entry(event.cpu).or_default().push(start);
                    }
                }
                machine.follow(kernel, &event);
            }
        }
    }
    let steady = bound.longest.iter().filter(|closed| !closed.has_softirq);
    let moved = steady.filter_map(|closed| {
        let starts = starts.get(&closed.cpu)?;
        let after = starts.partition_point(|start| start.ns + ASLEEP_NS <= closed.start_ns);
        let Start { due_ns, timer, base, .. } = *starts.get(after.checked_sub(1)?)?;
        let to_monotonic_ns = closed.start_ns.checked_sub_signed(clock_offset_ns)?;
        (due_ns > closed.end_ns).then_some(MovedTimer {
            timer,
            base,
            closed: *closed,
            to_monotonic_ns,
        })
    });
    Ok(moved.collect())
}

/// Longest time from the start of a task's timer until the task sleeps, in nanoseconds.
const ASLEEP_NS: u64 = 20_000;

/// A start of the probe's timer. Times are virtual, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Start {
    ns: u64,
    due_ns: u64,
    timer: u64,
    base: u64,
}
