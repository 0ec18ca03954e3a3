//! Wakeups by timers: from the time that a task asked for to its first instruction in user space.

use std::collections::HashMap;

use preemptlab_protocol::trace::stream::SiteKind;

use crate::{
    cpu::{Machine, make_room},
    decode::{Event, Task},
    kernel::Kernel,
    point::Point,
};

/// Task whose wakeups are explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// Name of the task.
    pub comm: &'a str,
    /// Whether the task is a real-time task.
    pub is_realtime: bool,
    /// Whether the first thread of its process only waits for the others.
    pub first_waits: bool,
}

impl Target<'_> {
    /// Returns whether a task is a target: a thread of the program, unless it only waits for the others. A
    /// deadline task is a real-time one.
    pub fn is(&self, task: &Task) -> bool {
        let only_waits = self.first_waits && task.pid == task.tgid;
        task.comm == self.comm && (task.prio < 100) == self.is_realtime && !only_waits
    }
}

/// Wakeup of a task. Times are virtual, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wakeup {
    /// Woken task.
    pub task: Task,
    /// Index of the wakeup among those of the task in the trace, from 0.
    pub ordinal: u64,
    /// The CPU on which it continued.
    pub cpu: u32,
    /// Time at which the task had asked to be woken.
    pub due_ns: u64,
    /// Due time on the guest's `CLOCK_MONOTONIC`, by which programs and reports tell the time.
    pub due_monotonic_ns: u64,
    /// The CPU on which the timer's function ran.
    pub timer_cpu: u32,
    /// Time at which the timer's function ran.
    pub expire_ns: u64,
    /// Time at which the task was given the CPU.
    pub switch_ns: u64,
    /// Time of the task's first instruction in user space.
    pub user_ns: u64,
}

impl Wakeup {
    /// Returns the time from the due time to the first instruction in user space, in nanoseconds.
    pub fn latency_ns(&self) -> u64 {
        self.user_ns.saturating_sub(self.due_ns)
    }
}

/// Finds wakeups in a sequence of events.
#[derive(Debug)]
pub struct Wakeups<'a> {
    target: Target<'a>,
    pending: HashMap<u64, Pending>,
    counts: HashMap<u64, u64>,
    clock: Clock,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    due_ns: u64,
    due_monotonic_ns: u64,
    timer_cpu: u32,
    expire_ns: u64,
    switch_ns: Option<u64>,
    /// Whether the task waits for its next period, and not for a timer of its own.
    is_period: bool,
}

impl<'a> Wakeups<'a> {
    /// Creates the collector of a target's wakeups.
    pub fn new(target: Target<'a>) -> Self {
        Self { target, pending: HashMap::new(), counts: HashMap::new(), clock: Clock::default() }
    }

    /// Looks at an event, after the machine has followed it. Returns the wakeup that it completes.
    pub fn look(
        &mut self,
        kernel: &Kernel,
        machine: &mut Machine,
        event: &Event,
    ) -> Option<Wakeup> {
        match event.site.kind {
            SiteKind::Probe(probe) => {
                self.follow(kernel, kernel.tracepoint(probe).point, event);
            }
            SiteKind::Sysret | SiteKind::ExceptionReturn => {
                let cpu = machine.cpu(event.cpu);
                if !cpu.is_user() {
                    return None;
                }
                let address = cpu.task;
                let pending = self.pending.remove(&address)?;
                let Pending { due_ns, due_monotonic_ns, timer_cpu, expire_ns, .. } = pending;
                let switch_ns = match pending.switch_ns {
                    Some(switch_ns) => switch_ns,
                    // A task that has the CPU does not wait for its next period.
                    None if pending.is_period => return None,
                    // Where the task was running when its timer expired there was no switch.
                    None => expire_ns,
                };
                let task = machine.task(address).filter(|task| self.target.is(task))?.clone();
                make_room(&mut self.counts);
                let count = self.counts.entry(address).or_default();
                *count += 1;
                return Some(Wakeup {
                    task,
                    ordinal: *count - 1,
                    cpu: event.cpu,
                    due_ns,
                    due_monotonic_ns,
                    timer_cpu,
                    expire_ns,
                    switch_ns,
                    user_ns: event.ns,
                });
            }
            _ => {}
        }
        None
    }

    /// Follows a task from the expiry of its timer to the switch.
    fn follow(&mut self, kernel: &Kernel, point: Point, event: &Event) -> Option<()> {
        let first = event.values().first();
        match point {
            Point::TimerExpire | Point::PeriodExpire { .. } => {
                let expiry = Expiry::of(point, event.values())?;
                let pending = Pending {
                    due_ns: self.clock.due_ns(&expiry, kernel.arch().cycle_ns)?,
                    due_monotonic_ns: expiry.soft_expires_ns,
                    timer_cpu: event.cpu,
                    expire_ns: event.ns,
                    switch_ns: None,
                    is_period: point != Point::TimerExpire,
                };
                make_room(&mut self.pending);
                self.pending.insert(expiry.task, pending);
            }
            // A task that something else wakes has slept, and did not wait for its next period.
            Point::Waking => {
                let pending = self.pending.get(first?)?;
                if pending.is_period && pending.switch_ns.is_none() {
                    self.pending.remove(first?);
                }
            }
            Point::Switch => {
                let next = event.values().get(1)?;
                self.pending.get_mut(next)?.switch_ns.get_or_insert(event.ns);
            }
            _ => {}
        }
        Some(())
    }
}

/// Distance of virtual time from `CLOCK_MONOTONIC`, as timers tell it.
///
/// The kernel's clock is read at an instant at which another CPU may be writing it. A half written clock differs
/// from that of other timers by a tick or more; the true distance changes by a microsecond a second.
#[derive(Debug, Default)]
struct Clock {
    offset_ns: Option<i64>,
    /// A distance that was not believed. Another timer that tells the same proves it.
    doubted_ns: Option<i64>,
}

/// Two timers of a trace tell distances that differ by less, in nanoseconds.
const OFFSET_NS: u64 = 50_000;

impl Clock {
    /// Returns the due time of a timer in virtual nanoseconds.
    fn due_ns(&mut self, expiry: &Expiry, cycle_ns: u64) -> Option<u64> {
        let due_ns = expiry.due_ns(cycle_ns)?;
        let told_ns = due_ns.wrapping_sub(expiry.soft_expires_ns).cast_signed();
        let is_like = |known: &i64| known.abs_diff(told_ns) < OFFSET_NS;
        match self.offset_ns.filter(|known| !is_like(known)) {
            Some(known) if !self.doubted_ns.as_ref().is_some_and(is_like) => {
                self.doubted_ns = Some(told_ns);
                expiry.soft_expires_ns.checked_add_signed(known)
            }
            _ => {
                self.offset_ns = Some(told_ns);
                self.doubted_ns = None;
                Some(due_ns)
            }
        }
    }
}

/// Largest shift of a clock (`clocks_calc_mult_shift`, kernel/time/clocksource.c).
const SHIFT_MAX: u64 = 32;

/// Values of [`Point::TimerExpire`] and [`Point::PeriodExpire`]: the clock and the timer when the timer's
/// function runs.
pub(crate) struct Expiry {
    /// Due time of the timer on `CLOCK_MONOTONIC`, in nanoseconds.
    pub soft_expires_ns: u64,
    /// The task that waits for it.
    pub task: u64,
    base_ns: u64,
    cycle_last: u64,
    mult: u64,
    shift: u64,
    xtime_nsec: u64,
}

impl Expiry {
    /// Reads the values of an event; `None` for one of another point.
    pub fn of(point: Point, values: &[u64]) -> Option<Self> {
        let timer_offset = match point {
            Point::TimerExpire => 0,
            Point::PeriodExpire { timer_offset } => timer_offset,
            _ => return None,
        };
        let &[_, soft_expires_ns, task, base_ns, cycle_last, mult, shift, xtime_nsec] = values
        else {
            return None;
        };
        let task = task.wrapping_sub(timer_offset);
        Some(Self { soft_expires_ns, task, base_ns, cycle_last, mult, shift, xtime_nsec })
    }

    /// Returns the due time of the timer in virtual nanoseconds: the kernel's conversion of cycles
    /// to monotonic time (`timekeeping_cycles_to_ns`, kernel/time/timekeeping.c), backwards. QEMU derives the counter of
    /// cycles, which have `cycle_ns`, from the virtual clock.
    pub fn due_ns(&self, cycle_ns: u64) -> Option<u64> {
        if self.mult == 0 || self.shift > SHIFT_MAX {
            return None;
        }
        let elapsed_ns = i128::from(self.soft_expires_ns) - i128::from(self.base_ns);
        let cycles = ((elapsed_ns << self.shift) - i128::from(self.xtime_nsec))
            .div_euclid(i128::from(self.mult));
        let cycles = i128::from(self.cycle_last) + cycles;
        u64::try_from(cycles.checked_mul(cycle_ns.into())?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_every_thread_that_does_not_only_wait() {
        let task =
            |comm: &str, pid, prio| Task { address: 1, pid, tgid: 7, prio, comm: comm.to_owned() };
        let of = |comm| Target { comm, is_realtime: true, first_waits: false };
        // Fair ones, FIFO 90, and deadline ones.
        let found = |target: Target<'_>, comm| {
            [7, 8].map(|pid| [120, 9, -1].map(|prio| target.is(&task(comm, pid, prio))))
        };
        let [none, all] = [[false; 3], [false, true, true]];
        assert_eq!(found(of("servo"), "servo"), [all, all]);
        assert_eq!(found(of("servo"), "stress-ng"), [none, none]);
        let led = Target { first_waits: true, ..of("cyclictest") };
        assert_eq!(found(led, "cyclictest"), [none, all]);
        let fair = Target { is_realtime: false, ..of("servo") };
        assert_eq!(found(fair, "servo"), [[true, false, false]; 2]);
    }

    #[test]
    fn a_due_time_is_converted_back() {
        // 1 GHz: one cycle a nanosecond.
        let expiry = |soft_expires_ns| Expiry {
            soft_expires_ns,
            task: 1,
            base_ns: 1_000_000,
            cycle_last: 7_000_000,
            mult: 1 << 23,
            shift: 23,
            xtime_nsec: 500 << 23,
        };
        assert_eq!(expiry(1_000_500).due_ns(1), Some(7_000_000));
        assert_eq!(expiry(1_002_500).due_ns(1), Some(7_002_000));
        // A timer that was due before the clock's last update.
        assert_eq!(expiry(999_500).due_ns(1), Some(6_999_000));
        // A counter of 62.5 MHz.
        assert_eq!(expiry(1_000_500).due_ns(16), Some(16 * 7_000_000));
        assert_eq!(expiry(1_000_500).due_ns(u64::MAX), None);
    }

    /// Another CPU has written the cycles of a new tick, and not yet its time.
    #[test]
    fn a_clock_that_is_half_written_is_not_believed() {
        let expiry = |soft_expires_ns, cycle_last| Expiry {
            soft_expires_ns,
            task: 1,
            base_ns: 1_000_000,
            cycle_last,
            mult: 1 << 23,
            shift: 23,
            xtime_nsec: 0,
        };
        let mut clock = Clock::default();
        assert_eq!(clock.due_ns(&expiry(1_500_000, 7_000_000), 1), Some(7_500_000));
        assert_eq!(clock.due_ns(&expiry(2_500_000, 11_000_000), 1), Some(8_500_000));
        assert_eq!(clock.due_ns(&expiry(3_500_000, 7_000_010), 1), Some(9_500_010));
        // Two that agree are right.
        assert_eq!(clock.due_ns(&expiry(4_500_000, 90_000_000), 1), Some(10_500_010));
        assert_eq!(clock.due_ns(&expiry(5_500_000, 90_000_000), 1), Some(94_500_000));
    }
}
