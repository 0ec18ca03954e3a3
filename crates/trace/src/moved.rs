//! A wakeup that did not happen, made to happen: the probe's own timer, moved to an instant.

use std::io::Read;

use preemptlab_protocol::trace::stream::SiteKind;

use crate::{
    bound::{Bound, Closed},
    cpu::Machine,
    decode::{Decoder, Item, TraceError},
    kernel::{Kernel, Point},
    wakeup::Target,
};

/// How far inside a closed stretch the timer is moved, in nanoseconds: its interrupt comes a few
/// instructions late, and the stretch may begin a few instructions later than it did.
const INSIDE_NS: u64 = 200;

/// `HRTIMER_MODE_REL` (include/linux/hrtimer.h).
const MODE_REL: u64 = 1;

/// A start of the probe's timer that gets another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedTimer {
    /// The time that the probe asks for.
    pub from_monotonic_ns: u64,
    /// The time that it gets.
    pub to_monotonic_ns: u64,
    /// The stretch that this is the beginning of.
    pub closed: Closed,
    /// The latency that the trace predicts, in nanoseconds.
    pub predicted_ns: u64,
}

/// Finds the longest closed stretch during which the probe slept, and the timer it slept on; `None`
/// when it never did.
///
/// # Errors
///
/// [`TraceError`]
pub fn moved_timer(
    trace: impl Read,
    kernel: &Kernel,
    target: Target<'_>,
    bound: &Bound,
    clock_offset_ns: i64,
) -> Result<Option<MovedTimer>, TraceError> {
    let mut decoder = Decoder::new(trace, kernel.program())?;
    let mut machine = Machine::default();
    // When the probe started its timer, and for when.
    let mut starts: Vec<(u64, u64)> = Vec::new();
    while let Some(item) = decoder.next_item()? {
        match item {
            Item::Task(task) => machine.describe(task),
            Item::Stack(_) => {}
            Item::Event(event) => {
                if let SiteKind::Probe(probe) = event.site.kind
                    && kernel.tracepoint(probe).point == Point::TimerStart
                    && let &[_, time, _, mode] = event.values()
                    && mode & MODE_REL == 0
                {
                    let task = machine.cpu(event.cpu).task;
                    if machine.task(task).is_some_and(|task| target.is(task)) {
                        starts.push((event.ns, time));
                    }
                }
                machine.follow(kernel, &event);
            }
        }
    }
    Ok(bound.longest.iter().find_map(|closed| {
        let at_ns = closed.start_ns + INSIDE_NS;
        let after = starts.partition_point(|(started_ns, _)| *started_ns < closed.start_ns);
        let (_, from_monotonic_ns) = *starts.get(after.checked_sub(1)?)?;
        let is_asleep = from_monotonic_ns.checked_add_signed(clock_offset_ns)? > closed.end_ns;
        is_asleep.then_some(MovedTimer {
            from_monotonic_ns,
            to_monotonic_ns: at_ns.checked_add_signed(-clock_offset_ns)?,
            closed: *closed,
            predicted_ns: bound.floor_ns + closed.len_ns().saturating_sub(INSIDE_NS),
        })
    }))
}
