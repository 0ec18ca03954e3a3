//! A wakeup that did not happen, made to happen: the probe's own timer, moved to an instant.

use std::{collections::BTreeMap, io::Read};

use preemptlab_protocol::trace::{Inject, TraceProgram, stream::SiteKind};

use crate::{
    arch::{LOCAL_TIMER_VECTOR, MESSAGE_ADDRESS, TIMER_ENTRY},
    bound::{Bound, Closed},
    cpu::Machine,
    decode::{Decoder, Item, TraceError},
    kernel::{HrtimerLayout, Kernel, Point},
    wakeup::Target,
};

/// Largest number of the timer's interrupts and starts that are kept. Timers expire some thousand times a
/// second of virtual time; a trace with more is refused.
const EVENTS_MAX: usize = 1 << 22;

/// `HRTIMER_MODE_REL` (include/linux/hrtimer.h).
const MODE_REL: u64 = 1;

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
    /// Returns the plugin's program that lets the probe's timer expire at another instant: the
    /// first of these at which it is the next of all timers to expire.
    pub fn moved(&self, moved: &[MovedTimer]) -> TraceProgram {
        let HrtimerLayout { softexpires, expires, leftmost } = self.hrtimer;
        let inject = |moved: &MovedTimer| Inject {
            cpu: moved.closed.cpu,
            at_ns: moved.at_ns,
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

/// Finds instants of the longest closed stretches at which the probe sleeps and its timer is the next of all to
/// expire: only there a moved timer is noticed. A stretch in which the timer's interrupt comes, for another
/// timer, has such instants only once that one has been served. The longest waits are first.
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
    let instants = bound.longest.iter().flat_map(|closed| timers.instants(*closed));
    let mut moved: Vec<MovedTimer> = instants
        .filter_map(|(closed, at_ns, Start { timer, base, .. })| {
            let to_monotonic_ns = at_ns.checked_sub_signed(clock_offset_ns)?;
            Some(MovedTimer { timer, base, closed, at_ns, to_monotonic_ns })
        })
        .collect();
    moved.sort_by_key(|moved| std::cmp::Reverse(moved.wait_ns()));
    Ok(moved)
}

/// The probe's timer and the timer's interrupts, by CPU.
#[derive(Default)]
struct Timers {
    /// A timer expires on the CPU that has started it.
    starts: BTreeMap<u32, Vec<Start>>,
    /// The timer's interrupts, whichever timer they were for.
    interrupts: BTreeMap<u32, Vec<Interrupt>>,
}

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
                    let last = timers.interrupts.get_mut(&event.cpu).and_then(|all| all.last_mut());
                    if let Some(last) = last.filter(|last| last.begun_ns == last.ns) {
                        last.begun_ns = event.ns;
                    }
                    if count > EVENTS_MAX {
                        let what = "interrupts of the timer";
                        return Err(TraceError::TooMany { max: EVENTS_MAX, what });
                    }
                    if let SiteKind::Probe(probe) = event.site.kind {
                        let tracepoint = kernel.tracepoint(probe);
                        if tracepoint.point == Point::Interrupt && tracepoint.name == TIMER_ENTRY {
                            count += 1;
                            let interrupt = Interrupt { ns: event.ns, begun_ns: event.ns };
                            timers.interrupts.entry(event.cpu).or_default().push(interrupt);
                        } else if tracepoint.point == Point::TimerStart
                            && let &[timer, time, _, mode, base] = event.values()
                            && mode & MODE_REL == 0
                        {
                            let task = machine.cpu(event.cpu).task;
                            if machine.task(task).is_some_and(|task| target.is(task)) {
                                count += 1;
                                let due_ns = time.saturating_add_signed(clock_offset_ns);
                                let start = Start { due_ns, timer, base, asleep_ns: None };
                                timers.starts(event.cpu, start);
                            }
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
        let starts = self.starts.entry(cpu).or_default();
        starts.pop_if(|last| last.asleep_ns.is_none());
        starts.push(start);
    }

    /// Takes note that a CPU runs another task than the probe.
    fn sleeps(&mut self, cpu: u32, ns: u64) {
        let last = self.starts.get_mut(&cpu).and_then(|all| all.last_mut());
        if let Some(last) = last.filter(|last| last.asleep_ns.is_none()) {
            last.asleep_ns = Some(ns);
        }
    }

    /// Returns the instants of a stretch at which the probe's timer can be moved there, with its start.
    fn instants(&self, closed: Closed) -> Vec<(Closed, u64, Start)> {
        let Some(starts) = self.starts.get(&closed.cpu) else { return Vec::new() };
        let asleep = |start: &Start| start.asleep_ns.is_some_and(|ns| ns < closed.end_ns);
        let after = starts.partition_point(asleep);
        let start = after.checked_sub(1).and_then(|last| starts.get(last));
        // A timer that expires in the stretch can expire earlier there.
        let Some((start, asleep_ns)) = start.and_then(|start| Some((start, start.asleep_ns?)))
        else {
            return Vec::new();
        };
        // The switch from the probe to the next task may itself be a part of the stretch.
        let from_ns = closed.start_ns.max(asleep_ns);
        if start.due_ns <= from_ns {
            return Vec::new();
        }
        let interrupts = self.interrupts.get(&closed.cpu).map_or(&[][..], Vec::as_slice);
        let first = interrupts.partition_point(|interrupt| interrupt.ns < from_ns);
        // Its own interrupt is entered up to the price of a delivery before it is due.
        let until = interrupts.partition_point(|interrupt| interrupt.begun_ns < start.due_ns);
        // Before another timer expires, the probe's is not the next one.
        match interrupts.get(first..until).unwrap_or_default().last() {
            None => vec![(closed, from_ns, *start)],
            Some(last) if last.ns >= closed.end_ns => Vec::new(),
            Some(last) => {
                let instants = SERVED_NS.map(|ns| last.begun_ns.saturating_add(ns));
                let end_ns = closed.end_ns.min(start.due_ns);
                let inside = instants.into_iter().filter(|ns| *ns < end_ns);
                inside.map(|ns| (closed, ns, *start)).collect()
            }
        }
    }
}

/// Times after the first event in the timer's interrupt at which its timer may have been taken from the queue,
/// in nanoseconds.
const SERVED_NS: [u64; 4] = [300, 600, 1_200, 2_400];

/// An interrupt of the timer. Times are virtual, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Interrupt {
    ns: u64,
    /// Time of the next event on its CPU: a price of its delivery lies between.
    begun_ns: u64,
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

    /// Returns the instants, in nanoseconds, of a stretch from 100 to 150 us, through which the probe sleeps
    /// on a timer that expires at so many microseconds. The timer's interrupt comes at these.
    fn instants(due_us: u64, interrupts_us: &[u64]) -> Vec<u64> {
        let mut stream = Stream::new();
        stream.task(&task(0x1000, 7, 6, 9, PROBE));
        stream.probe(1_000, "__switch_to", &[0, 0x1000]);
        stream.probe(2_000, "hrtimer_start_range_ns", &[TIMER, due_us * 1_000, 0, 0, BASE]);
        for us in interrupts_us {
            stream.probe(us * 1_000, "asm_sysvec_apic_timer_interrupt", &[0, 0]);
            stream.probe(us * 1_000 + 10_000, "run_timer_softirq", &[]);
        }
        let closed = Closed {
            cpu: 0,
            start_ns: 100_000,
            start_address: 0,
            end_ns: 150_000,
            has_softirq: false,
            removed_ns: 0,
        };
        let bound = Bound::of_longest(vec![closed]);
        let target = Target { comm: PROBE, is_realtime: true };
        let moved = moved_timers(stream.finish().as_slice(), &kernel(), target, &bound, 0).unwrap();
        for moved in &moved {
            assert_eq!((moved.timer, moved.base), (TIMER, BASE));
            assert_eq!(moved.wait_ns(), 150_000 - moved.at_ns);
        }
        moved.iter().map(|moved| moved.at_ns).collect()
    }

    #[test]
    fn a_timer_moves_where_it_is_the_next_to_expire() {
        assert_eq!(instants(300, &[]), [100_000]);
        assert_eq!(instants(300, &[50, 301]), [100_000]);
        // Its own expiry, whose price of delivery lies between the entry and the time that it is due.
        assert_eq!(instants(300, &[299]), [100_000]);
        assert_eq!(instants(120, &[119]), [100_000]);
        // Another timer expires before it.
        assert!(instants(300, &[200]).is_empty());
        // Once the other one has expired, it is the next.
        assert_eq!(instants(300, &[110]), [120_300, 120_600, 121_200, 122_400]);
        assert_eq!(instants(300, &[110, 139]), [149_300, 149_600]);
        // Its own expiry is in the stretch, or before it.
        assert_eq!(instants(120, &[120]), [100_000]);
        assert_eq!(instants(124, &[104, 124]), [114_300, 114_600, 115_200, 116_400]);
        assert_eq!(instants(115, &[104, 115]), [114_300, 114_600]);
        assert!(instants(99, &[99]).is_empty());
    }
}
