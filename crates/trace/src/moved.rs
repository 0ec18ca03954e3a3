//! A wakeup that did not happen, made to happen: the probe's own timer, moved to an instant.

use std::io::Read;

use preemptlab_protocol::trace::stream::SiteKind;

use crate::{
    bound::{Bound, Closed, Closures, Opportunities},
    cpu::Machine,
    decode::{Decoder, Item, TraceError},
    kernel::{Kernel, Point},
    wakeup::Target,
};

/// How far inside a closed stretch the timer is moved at most, in nanoseconds: programming the timer
/// for another time takes some hundred instructions more or less, by which everything after it is
/// shifted.
const INSIDE_NS_MAX: u64 = 3_000;

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

/// How far the same stretch is looked for in another execution, in nanoseconds.
const SEARCH_NS: u64 = 30_000;

impl MovedTimer {
    /// The same timer moved by as much as the stretch was shifted in an execution with the moved
    /// timer: programming it for another time takes more or less instructions. `None` when the
    /// stretch is not there any more.
    ///
    /// # Errors
    ///
    /// [`TraceError`]
    pub fn shifted(
        self,
        trace: impl Read,
        kernel: &Kernel,
        opportunities: Opportunities,
    ) -> Result<Option<Self>, TraceError> {
        let mut decoder = Decoder::new(trace, kernel.program())?;
        let mut machine = Machine::default();
        let mut closures = Closures::new(opportunities);
        let mut nearest: Option<Closed> = None;
        let Closed { start_ns, start_address, cpu, .. } = self.closed;
        while let Some(item) = decoder.next_item()? {
            let event = match item {
                Item::Task(task) => {
                    machine.describe(task);
                    continue;
                }
                Item::Event(event) => event,
                Item::Stack(_) => continue,
            };
            machine.follow(kernel, &event);
            closures.look(kernel, &mut machine, &event);
            for closed in closures.take() {
                let off_ns = |closed: Closed| closed.start_ns.abs_diff(start_ns);
                if (closed.cpu, closed.start_address) == (cpu, start_address)
                    && off_ns(closed) <= SEARCH_NS
                    && nearest.is_none_or(|nearest| off_ns(closed) < off_ns(nearest))
                {
                    nearest = Some(closed);
                }
            }
        }
        Ok(nearest.and_then(|nearest| {
            let shift_ns = nearest.start_ns.cast_signed() - start_ns.cast_signed();
            let closed = Closed {
                start_ns: nearest.start_ns,
                end_ns: self.closed.end_ns.checked_add_signed(shift_ns)?,
                ..self.closed
            };
            let to_monotonic_ns = self.to_monotonic_ns.checked_add_signed(shift_ns)?;
            Some(Self { to_monotonic_ns, closed, ..self })
        }))
    }
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
    // Softirqs stop early when a task waits, so that moving the timer there changes the stretch.
    let mut steady = bound.longest.iter().filter(|closed| !closed.has_softirq);
    Ok(steady.find_map(|closed| {
        let inside_ns = INSIDE_NS_MAX.min(closed.len_ns() / 4);
        let at_ns = closed.start_ns + inside_ns;
        let after = starts.partition_point(|(started_ns, _)| *started_ns < closed.start_ns);
        let (_, from_monotonic_ns) = *starts.get(after.checked_sub(1)?)?;
        let is_asleep = from_monotonic_ns.checked_add_signed(clock_offset_ns)? > closed.end_ns;
        is_asleep.then_some(MovedTimer {
            from_monotonic_ns,
            to_monotonic_ns: at_ns.checked_add_signed(-clock_offset_ns)?,
            closed: *closed,
            predicted_ns: bound.floor_ns + closed.len_ns() - inside_ns,
        })
    }))
}
