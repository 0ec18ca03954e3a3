//! The wakeups that did not happen.
//!
//! A probe samples a thousand instants a second and waits for luck; the trace knows every instant.
//! Were the most urgent task woken by an interrupt at an instant `t`, it would have to wait for the
//! next **opportunity**: interrupts on, and a place where this preemption model lets the scheduler
//! switch. Between two opportunities the kernel is **closed**; a task woken at `t` in a closed
//! stretch that ends at `e` is late by `e - t`, and by the cost of a wakeup with nothing in the way.
//! The largest such latency over all `t` is the bound of the probe's maximum over all phases.
//!
//! With several CPUs something may be in the way of the switch itself: the scheduler waits for locks
//! that another CPU holds. The cheapest wakeup then no longer has the cost of a late wakeup's
//! switch, and the most expensive observed wakeup takes its place.

use std::collections::VecDeque;

use preemptlab_protocol::trace::stream::SiteKind;
use serde::{Deserialize, Serialize};

use crate::{
    curve::Curve, decode::Event, kernel::Kernel, lengths::Lengths, opportunity::Seen, point::Point,
    wakeup::Wakeup,
};

/// Number of the last stretches' lengths that are kept one by one, until it is known whether they count.
const PENDING_MAX: usize = 1 << 16;

/// Number of the last stretches that are kept one by one, to tell whether a CPU was open when a wakeup became
/// due. A wakeup behind more of them is not the cheapest, which is all that is asked for.
const RECENT_MAX: usize = 1 << 14;

/// Number of the longest stretches that are kept one by one. The bound is the first of them, and its quantiles
/// are of all.
const LONGEST_MAX: usize = 256;

/// A stretch of virtual time on one CPU without an opportunity, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// Index of the CPU.
    pub cpu: u32,
    /// First instant of the stretch, in nanoseconds.
    pub start_ns: u64,
    /// The instruction with which it begins.
    pub start_address: u64,
    /// Next opportunity, in nanoseconds.
    pub end_ns: u64,
    /// Whether softirqs were served in the stretch. These stop early when a task waits for the CPU,
    /// so that a wakeup there would be less late than the trace says.
    pub has_softirq: bool,
    /// Part of the stretch that a change of the kernel removes, in nanoseconds; 0 in a recorded one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub removed_ns: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

impl Closed {
    /// Returns the length of the stretch without the removed part, in nanoseconds.
    pub fn len_ns(self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns).saturating_sub(self.removed_ns)
    }
}

/// Latencies that the most urgent task would have had at every instant of a window.
///
/// The computed latencies and the observed ones are kept apart, and only [`Bound::max_ns`] is
/// called the bound: the larger one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// Cost of a wakeup with nothing in the way, in nanoseconds: the smallest latency of a wakeup that
    /// became due where the CPU was open; of any, if none did.
    pub floor_ns: u64,
    /// Longest closed stretch and the cost of a wakeup, in nanoseconds. The cost is the floor; with
    /// several CPUs that of the most expensive switch to the probe, where it is more.
    #[serde(rename = "max_ns")]
    computed_ns: u64,
    /// The largest latency that was observed; findings of older traces have none.
    #[serde(default)]
    observed_ns: u64,
    /// Latency that half of all instants do not exceed, in nanoseconds.
    pub p50_ns: u64,
    /// Latency that 99 % of all instants do not exceed, in nanoseconds.
    pub p99_ns: u64,
    /// Latency that 99.9 % of all instants do not exceed, in nanoseconds.
    pub p99_9_ns: u64,
    /// The instants that are later than each latency; empty in findings of older traces.
    #[serde(default)]
    pub curve: Curve,
    /// Latency that 99.999 % of all instants do not exceed, in nanoseconds; findings of older traces have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_999_ns: Option<u64>,
    /// Number of these instants: the time between the first and the last wakeup of the probe, in nanoseconds;
    /// findings of older traces have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instants_ns: Option<u64>,
    /// The longest closed stretches, the longest first.
    pub longest: Vec<Closed>,
}

impl Bound {
    /// Creates the bound of a trace that has these closed stretches, for tests.
    #[cfg(test)]
    pub(crate) fn of_longest(longest: Vec<Closed>) -> Self {
        let computed_ns = longest.first().map_or(0, |closed| closed.len_ns());
        Self {
            floor_ns: 0,
            computed_ns,
            observed_ns: 0,
            p50_ns: 0,
            p99_ns: 0,
            p99_9_ns: 0,
            curve: Curve::default(),
            p99_999_ns: None,
            instants_ns: None,
            longest,
        }
    }

    /// Returns the largest latency, in nanoseconds; at least that of the observed wakeups.
    pub fn max_ns(&self) -> u64 {
        self.computed_ns.max(self.observed_ns)
    }

    /// Returns the largest latency by the trace's stretches alone, in nanoseconds.
    pub fn computed_ns(&self) -> u64 {
        self.computed_ns
    }

    /// Returns the largest latency that was observed, in nanoseconds.
    pub fn observed_ns(&self) -> u64 {
        self.observed_ns
    }

    /// Returns whether every wakeup was as early as the trace's stretches allow. Where one was
    /// later, the largest latency is an observation and no bound.
    pub fn is_sound(&self) -> bool {
        self.observed_ns <= self.computed_ns
    }

    /// Takes note of another latency of the same probe, such as that which it reports itself.
    #[must_use]
    pub fn observing(self, latency_ns: u64) -> Self {
        Self { observed_ns: self.observed_ns.max(latency_ns), ..self }
    }
}

/// Collector of closed stretches.
#[derive(Debug, Default)]
pub(crate) struct Closures {
    /// Due times of the probe's first wakeup and of its last so far, in nanoseconds.
    probed: Option<(u64, u64)>,
    /// The closed stretches that last, and the starts of those in which CPUs were last given to another task.
    cpus: Vec<OfCpu>,
    /// Largest cost of a switch to the probe, from there to user space, in nanoseconds.
    switch_ns_max: u64,
    /// Smallest latency of a wakeup that became due outside of closed stretches, in nanoseconds. One
    /// that becomes due while another interrupt is delivered pays for a part of its own only.
    open_ns_min: Option<u64>,
    /// The last stretches, in the order in which they ended, and when the last one ended that is missing, in
    /// nanoseconds.
    recent: VecDeque<Closed>,
    forgotten_ns: u64,
    /// Since the probe's last wakeup: they count when there is another one.
    pending: Sums,
    all: Sums,
}

/// State of a CPU.
#[derive(Clone, Copy, Debug, Default)]
struct OfCpu {
    is_met: bool,
    open: Option<Closed>,
    switching_ns: Option<u64>,
}

/// Closed stretches together.
#[derive(Debug, Default)]
struct Sums {
    lengths: Lengths,
    /// Lengths that are not in `lengths` yet, in nanoseconds.
    last_ns: Vec<u64>,
    /// All of them together, in nanoseconds.
    closed_ns: u64,
    longest: Vec<Closed>,
}

impl Sums {
    /// Adds a stretch. One that is not longer than `longer_than_ns` is none of the longest.
    fn add(&mut self, closed: Closed, longer_than_ns: Option<u64>) {
        let len_ns = closed.len_ns();
        if self.last_ns.len() == PENDING_MAX {
            self.settle();
        }
        self.last_ns.push(len_ns);
        self.closed_ns = self.closed_ns.saturating_add(len_ns);
        if longer_than_ns.is_none_or(|ns| len_ns > ns) {
            self.rank(closed);
        }
    }

    fn settle(&mut self) {
        self.last_ns.drain(..).for_each(|ns| self.lengths.add(ns));
    }

    /// Returns the length that a stretch has to exceed to be one of the longest; `None` while there is room.
    fn threshold_ns(&self) -> Option<u64> {
        self.longest.get(LONGEST_MAX - 1).map(|closed| closed.len_ns())
    }

    fn rank(&mut self, closed: Closed) {
        if self.threshold_ns().is_some_and(|ns| closed.len_ns() <= ns) {
            return;
        }
        let place = self.longest.partition_point(|longer| longer.len_ns() >= closed.len_ns());
        self.longest.truncate(LONGEST_MAX - 1);
        self.longest.insert(place, closed);
    }

    /// Takes in the later stretches.
    fn take_in(&mut self, later: &mut Self) {
        if later.lengths.count() > 0 {
            self.lengths.take_in(&mut later.lengths);
        }
        later.last_ns.drain(..).for_each(|ns| self.lengths.add(ns));
        self.closed_ns = self.closed_ns.saturating_add(std::mem::take(&mut later.closed_ns));
        for closed in later.longest.drain(..) {
            self.rank(closed);
        }
    }
}

impl Closures {
    /// Takes note of an event.
    pub fn look(&mut self, kernel: &Kernel, event: &Event, seen: Seen) {
        let place = event.cpu as usize;
        if place >= self.cpus.len() {
            self.cpus.resize(place + 1, OfCpu::default());
        }
        let cpu = &mut self.cpus[place];
        cpu.is_met = true;
        if let Some(closed) = &mut cpu.open {
            if let SiteKind::Probe(probe) = event.site.kind
                && kernel.tracepoint(probe).point == Point::Switch
            {
                cpu.switching_ns = Some(closed.start_ns);
            }
            closed.removed_ns = closed.removed_ns.saturating_add(seen.removed_ns);
        }
        let ended = cpu.open.filter(|_| seen.is_opportunity());
        if ended.is_some() {
            cpu.open = None;
        }
        if seen.is_closed {
            let open = cpu.open.get_or_insert(Closed {
                cpu: event.cpu,
                start_ns: event.ns,
                start_address: event.site.address,
                end_ns: event.ns,
                has_softirq: false,
                removed_ns: 0,
            });
            open.has_softirq |= seen.serves_softirqs;
        }
        // A CPU that would be open gives way to nobody while its time is stolen.
        let stolen = event.stolen_ns().filter(|_| cpu.open.is_none()).map(|stolen_ns| Closed {
            cpu: event.cpu,
            start_ns: event.ns.saturating_sub(stolen_ns),
            start_address: event.site.address,
            end_ns: event.ns,
            has_softirq: false,
            removed_ns: 0,
        });
        if let Some(closed) = ended.or(stolen).filter(|_| self.probed.is_some()) {
            let closed = Closed { end_ns: event.ns, ..closed };
            self.pending.add(closed, self.all.threshold_ns());
            self.keep(closed);
        }
    }

    /// Takes note of a wakeup of the probe: it might have come at any instant since the last one.
    pub fn probed(&mut self, wakeup: &Wakeup) {
        let due_ns = wakeup.due_ns;
        if self.probed.is_some() && self.is_open_at(due_ns, wakeup.timer_cpu) {
            let latency_ns = wakeup.latency_ns();
            self.open_ns_min =
                Some(self.open_ns_min.map_or(latency_ns, |known| known.min(latency_ns)));
        }
        let (first_ns, _) = self.probed.unwrap_or((due_ns, due_ns));
        self.probed = Some((first_ns, due_ns));
        let of_cpu = self.cpus.get(wakeup.cpu as usize);
        if let Some(since_ns) = of_cpu.and_then(|cpu| cpu.switching_ns)
            && since_ns <= wakeup.switch_ns
        {
            let cost_ns = wakeup.user_ns.saturating_sub(since_ns).min(wakeup.latency_ns());
            self.switch_ns_max = self.switch_ns_max.max(cost_ns);
        }
        self.all.take_in(&mut self.pending);
        self.recent.clear();
        self.forgotten_ns = 0;
    }

    fn keep(&mut self, closed: Closed) {
        if self.recent.len() == RECENT_MAX
            && let Some(first) = self.recent.pop_front()
        {
            self.forgotten_ns = self.forgotten_ns.max(first.end_ns);
        }
        self.recent.push_back(closed);
    }

    /// Returns whether an instant since the last wakeup is known to be in no closed stretch of a CPU.
    fn is_open_at(&self, ns: u64, cpu: u32) -> bool {
        let holds =
            |closed: &Closed| closed.cpu == cpu && closed.start_ns < ns && ns < closed.end_ns;
        self.forgotten_ns <= ns && !self.recent.iter().any(holds)
    }

    /// Returns the total length of the closed stretches, in nanoseconds.
    pub fn closed_ns(&self) -> u64 {
        self.all.closed_ns
    }

    /// Returns the bound. The observed latencies lie between `least_ns` and `observed_ns`.
    pub fn finish(self, least_ns: u64, observed_ns: u64) -> Bound {
        let floor_ns = self.open_ns_min.unwrap_or(least_ns);
        let met = self.cpus.iter().filter(|cpu| cpu.is_met).count();
        let cost_ns = if met > 1 { floor_ns.max(self.switch_ns_max) } else { floor_ns };
        self.bound(floor_ns, cost_ns, observed_ns)
    }

    /// Returns the bound of a kernel in which a wakeup costs as much as in another one, by its bound.
    pub fn finish_like(self, other: &Bound, observed_ns: u64) -> Bound {
        let longest_ns = other.longest.first().map_or(0, |closed| closed.len_ns());
        let cost_ns = other.computed_ns.saturating_sub(longest_ns);
        self.bound(other.floor_ns, cost_ns, observed_ns)
    }

    fn bound(self, floor_ns: u64, cost_ns: u64, observed_ns: u64) -> Bound {
        let window_ns =
            self.probed.map_or(0, |(first_ns, last_ns)| last_ns.saturating_sub(first_ns));
        let longest_ns = self.all.longest.first().map_or(0, |closed| closed.len_ns());
        let at = |share: f64| {
            floor_ns.saturating_add(self.exceeded_ns(window_ns as f64 * (1.0 - share)))
        };
        Bound {
            floor_ns,
            computed_ns: cost_ns.saturating_add(longest_ns),
            observed_ns,
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            p99_9_ns: at(0.999),
            curve: Curve::new(window_ns, |latency_ns| {
                self.later_ns(latency_ns, floor_ns, window_ns)
            }),
            p99_999_ns: Some(at(0.99999)),
            instants_ns: Some(window_ns),
            longest: self.all.longest,
        }
    }

    /// Returns the number of instants at which a task would be later than this, by the cost of a wakeup with
    /// nothing in the way.
    fn later_ns(&self, latency_ns: u64, floor_ns: u64, window_ns: u64) -> u64 {
        let Some(wait_ns) = latency_ns.checked_sub(floor_ns) else { return window_ns };
        let buckets = self.all.lengths.longest_first();
        let longer = buckets
            .map(|bucket| bucket.sum_ns.saturating_sub(bucket.count.saturating_mul(wait_ns)));
        longer.take_while(|rest_ns| *rest_ns > 0).fold(0, u64::saturating_add)
    }

    /// Returns the smallest wait that is exceeded at no more than `allowed_ns` of instants. A
    /// stretch of length `l` has `l - w` instants at which a task waits longer than `w`.
    fn exceeded_ns(&self, allowed_ns: f64) -> u64 {
        let (mut count, mut sum_ns) = (0.0, 0.0);
        for bucket in self.all.lengths.longest_first() {
            // How much waits longer than this length: the area of all longer stretches beyond it.
            if sum_ns - count * bucket.mean_ns() > allowed_ns {
                break;
            }
            count += bucket.count as f64;
            sum_ns += bucket.sum_ns as f64;
        }
        match count > 0.0 {
            true => ((sum_ns - allowed_ns) / count).max(0.0) as u64,
            false => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Task;

    fn closed(cpu: u32, start_ns: u64, end_ns: u64) -> Closed {
        Closed { cpu, start_ns, start_address: 0, end_ns, has_softirq: false, removed_ns: 0 }
    }

    fn closures(lengths_ns: &[u64]) -> Closures {
        let mut closures = Closures { probed: Some((0, 1_000_000)), ..Closures::default() };
        let mut start_ns = 0;
        for length_ns in lengths_ns {
            let end_ns = start_ns + length_ns;
            closures.all.add(closed(0, start_ns, end_ns), None);
            start_ns += length_ns;
        }
        closures.all.settle();
        closures
    }

    #[test]
    fn the_bound_is_the_longest_stretch_and_the_floor() {
        let bound = closures(&[1_000, 50_000, 2_000]).finish(7_000, 9_000);
        assert_eq!(bound.max_ns(), 57_000);
        assert!(bound.is_sound());
        assert_eq!(
            bound.longest.iter().map(|closed| closed.len_ns()).collect::<Vec<_>>(),
            [50_000, 2_000, 1_000]
        );
    }

    /// Returns a wakeup that is due at 0, for which the CPU was given away at 30 us and which is in
    /// user space at 41 us.
    fn wakeup(cpu: u32) -> Wakeup {
        Wakeup {
            task: Task { address: 1, pid: 2, tgid: 1, prio: 9, comm: "cyclictest".to_owned() },
            ordinal: 0,
            cpu,
            due_ns: 0,
            due_monotonic_ns: 0,
            timer_cpu: cpu,
            expire_ns: 1_000,
            switch_ns: 30_000,
            user_ns: 41_000,
        }
    }

    #[test]
    fn a_wakeup_that_another_interrupt_made_cheap_is_no_floor() {
        let mut closures = closures(&[50_000]);
        let at = |due_ns, latency_ns| Wakeup { due_ns, user_ns: due_ns + latency_ns, ..wakeup(0) };
        // The interrupt of its own begins with it or later, and another CPU does not matter.
        closures.recent = [closed(0, 200_000, 215_000), closed(1, 190_000, 215_000)].into();
        closures.probed(&at(200_000, 15_000));
        closures.recent = [closed(0, 390_000, 403_000)].into();
        closures.probed(&at(400_000, 3_000));
        assert_eq!(closures.finish(3_000, 15_000).floor_ns, 15_000);
    }

    #[test]
    fn with_several_cpus_the_most_expensive_switch_counts() {
        let bound = |cpus: &[usize], since_ns: u64| {
            let mut closures = closures(&[50_000]);
            closures.cpus = vec![OfCpu::default(); 2];
            cpus.iter().for_each(|cpu| closures.cpus[*cpu].is_met = true);
            closures.cpus[1].switching_ns = Some(since_ns);
            for cpu in [1, 0] {
                // A wakeup with something in its way says nothing about the floor.
                closures.recent = [closed(cpu, 0, 30_000)].into();
                closures.probed(&Wakeup { due_ns: 1, ..wakeup(cpu) });
            }
            closures.finish(7_000, 41_000).max_ns()
        };
        assert_eq!(bound(&[0], 10_000), 57_000);
        assert_eq!(bound(&[0, 1], 10_000), 81_000);
        // A switch is cheaper than the cheapest wakeup, or was that to another task, later.
        assert_eq!(bound(&[0, 1], 40_000), 57_000);
    }

    #[test]
    fn nothing_that_was_observed_is_above_the_bound() {
        let bound = closures(&[50_000]).finish(7_000, 64_300);
        assert_eq!(
            (bound.max_ns(), bound.computed_ns(), bound.is_sound()),
            (64_300, 57_000, false)
        );
        // The probe's own report counts as an observation, too; one below the largest changes
        // nothing.
        let bound = bound.observing(71_400).observing(3);
        assert_eq!((bound.max_ns(), bound.observed_ns()), (71_400, 71_400));
    }

    /// Two million stretches between two wakeups count, and those near a due time are known.
    #[test]
    fn a_wait_of_many_stretches_has_all_of_them() {
        let mut closures = closures(&[]);
        let stretches = 2_000_000_u64;
        for number in 0..stretches {
            let start_ns = number * 1_000;
            let len_ns = if number == 1_000 { 900 } else { 200 };
            let closed = closed(0, start_ns, start_ns + len_ns);
            closures.pending.add(closed, None);
            closures.keep(closed);
        }
        let end_ns = stretches * 1_000;
        assert!(!closures.is_open_at(end_ns - 900, 0) && closures.is_open_at(end_ns - 500, 0));
        // It is not known of an instant that far away.
        assert!(!closures.is_open_at(500, 0));
        let wakeup =
            |latency_ns| Wakeup { due_ns: end_ns, user_ns: end_ns + latency_ns, ..wakeup(0) };
        closures.probed(&wakeup(5_000));
        assert_eq!(closures.closed_ns(), stretches * 200 + 700);
        let lengths = closures.all.lengths.longest_first().map(|it| (it.mean_ns(), it.count));
        assert_eq!(lengths.collect::<Vec<_>>(), [(900.0, 1), (200.0, stretches - 1)]);
        assert!(closures.recent.is_empty() && closures.pending.lengths.count() == 0);
        assert!(closures.pending.last_ns.is_empty());
        let bound = closures.finish(5_000, 5_000);
        assert_eq!((bound.max_ns(), bound.longest.len()), (5_900, LONGEST_MAX));
    }

    #[test]
    fn quantiles_weigh_instants() {
        // 1 ms, of which 100 us are closed in one stretch: at 99 % of all instants one waits no
        // longer than 90 us, because 10 us of instants have more before them.
        let bound = closures(&[100_000]).finish(0, 0);
        let near = |ns: u64, wanted_ns: u64| ns.abs_diff(wanted_ns) <= 1;
        assert!(near(bound.p99_ns, 90_000) && near(bound.p99_9_ns, 99_000), "{bound:?}");
        assert!(near(bound.p99_999_ns.unwrap(), 99_990), "{bound:?}");
        assert_eq!((bound.p50_ns, bound.instants_ns), (0, Some(1_000_000)));
        assert_eq!(closures(&[]).finish(5, 5).p99_ns, 5);
    }
}
