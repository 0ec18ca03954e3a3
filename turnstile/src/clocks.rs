//! Whose turn it is: a clock for each virtual CPU.
//!
//! The busy CPU that is furthest behind goes next, at most the *lookahead* beyond the slowest other
//! busy CPU and never beyond the next timer. So timers fire when every busy CPU has come to their
//! time, and an interrupt from one CPU to another is at most the lookahead late.
//!
//! Where a turn ends is decided by what the guest does, never by where QEMU happens to leave its
//! execution: a turn that was left early goes on.
//!
//! Where time is stolen from a CPU, its clock jumps, as soon as it has come to the gap. A CPU that is idle then loses
//! nothing, unless it is woken before the gap is over.

use std::mem;

use crate::steals::{Gap, Steals};

/// The lookahead where CPUs wait for each other: about what a cache line takes from one CPU to another of
/// its complex, which is 24 to 30 ns on an EPYC 7453 (nviennot/core-to-core-latency, issue 125). With more,
/// who waits for a lock sees it free before its owner's store could have come.
const CONTENDED_NS: i64 = 25;

/// How long after a CPU has said that it spins CPUs are taken to wait for each other. One that waits says so
/// again and again; this is for who comes in between. With 2000 ns hackbench on four CPUs takes half as much
/// host time again as with 200 ns, and nothing is more exact.
const CONTENDED_FOR_NS: i64 = 200;

/// The CPUs' clocks. All times are virtual, in nanoseconds.
pub struct Clocks {
    cpus: Vec<Cpu>,
    lookahead_ns: i64,
    /// The end of the time in which CPUs are taken to wait for each other.
    contended_until_ns: i64,
    /// How much a turn may be short of its end and still be over.
    slack_ns: i64,
    turn: Option<Turn>,
    /// The number of the turn, to tell who has had none for longest.
    turns: u64,
    steals: Option<Steals>,
}

#[derive(Clone, Default)]
struct Cpu {
    now_ns: i64,
    /// The next time that is stolen from it.
    gap: Option<Gap>,
    /// Time that it loses when it goes on, because a timer has interrupted it.
    at_timer_ns: i64,
    /// Time that was stolen from it since its last turn.
    stolen: Vec<Gap>,
    is_idle: bool,
    /// When it was interrupted in its idleness.
    woken_ns: Option<i64>,
    /// Interrupts from the future, as a mask, and when they are due.
    due: Option<(i64, i32)>,
    last_turn: u64,
}

impl Cpu {
    fn lose(&mut self, len_ns: i64) {
        if len_ns > 0 {
            let gap = Gap { start_ns: self.now_ns, end_ns: self.now_ns + len_ns };
            self.now_ns = gap.end_ns;
            self.stolen.push(gap);
        }
    }
}

/// The turn of a CPU, and where it ends if neither a timer nor the guest ends it before.
#[derive(Clone, Copy)]
struct Turn {
    cpu: usize,
    end_ns: i64,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The timers are due that are to be served at this time.
    Timers(i64),
    /// A CPU, whose clock shows this time, goes on until another time.
    Execute { cpu: usize, now_ns: i64, until_ns: i64 },
    /// All CPUs are idle.
    Idle,
}

/// How a CPU left its execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Perhaps for a reason of QEMU's own: where that is depends on the host.
    Early,
    /// With PAUSE.
    Paused,
    /// Where the guest has it leave, with a clock that owes nothing.
    Settled,
}

/// How an interrupt from one CPU to another is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// At once.
    Now,
    /// At once, and the sender's turn ends, because the target was idle.
    Wakes,
    /// When the target has come to the time of the sender.
    Later,
}

impl Clocks {
    /// So many CPUs, all of them busy at this time. A turn that is short of its end by no more than the
    /// slack is over.
    pub fn new(cpus: usize, now_ns: i64, lookahead_ns: i64, slack_ns: i64) -> Self {
        let cpu = Cpu { now_ns, ..Cpu::default() };
        Self {
            cpus: vec![cpu; cpus],
            lookahead_ns,
            contended_until_ns: i64::MIN,
            slack_ns,
            turn: None,
            turns: 0,
            steals: None,
        }
    }

    /// Has time stolen from the CPUs.
    #[must_use]
    pub fn with_steals(mut self, steals: Steals) -> Self {
        for (number, cpu) in self.cpus.iter_mut().enumerate() {
            cpu.gap = Some(steals.first_after(number, cpu.now_ns));
        }
        self.steals = Some(steals);
        self
    }

    /// Notes whether a CPU is idle. `now_ns` is when it wakes up if nobody has interrupted it.
    pub fn observe(&mut self, cpu: usize, is_idle: bool, now_ns: i64) {
        let state = &mut self.cpus[cpu];
        if state.is_idle && !is_idle {
            state.now_ns = state.now_ns.max(state.woken_ns.unwrap_or(now_ns));
            self.wake_from_gaps(cpu);
        }
        let state = &mut self.cpus[cpu];
        state.is_idle = is_idle;
        state.woken_ns = None;
        if is_idle && self.turn.is_some_and(|turn| turn.cpu == cpu) {
            self.turn = None;
        }
    }

    /// Passes the gaps that began before a CPU woke up: it loses what is left of the last one.
    fn wake_from_gaps(&mut self, cpu: usize) {
        let (Some(steals), state) = (&self.steals, &mut self.cpus[cpu]) else { return };
        while let Some(gap) = state.gap.filter(|gap| gap.start_ns <= state.now_ns) {
            state.now_ns = state.now_ns.max(gap.end_ns);
            state.stolen.push(gap);
            state.gap = Some(steals.first_after(cpu, gap.end_ns));
        }
    }

    /// Has busy CPUs lose the gaps that they have come to. A CPU that was within an instruction loses all of a gap
    /// after it.
    fn steal(&mut self) {
        let Some(steals) = &self.steals else { return };
        for (number, cpu) in self.cpus.iter_mut().enumerate().filter(|(_, cpu)| !cpu.is_idle) {
            let at_timer_ns = mem::take(&mut cpu.at_timer_ns);
            cpu.lose(at_timer_ns);
            while let Some(gap) = cpu.gap.filter(|gap| gap.start_ns <= cpu.now_ns) {
                cpu.lose(gap.len_ns());
                cpu.gap = Some(steals.first_after(number, cpu.now_ns));
            }
        }
    }

    /// Notes that a timer interrupts a CPU at this time.
    pub fn interrupted_by_timer(&mut self, cpu: usize, now_ns: i64) {
        if let Some(steals) = &self.steals {
            self.cpus[cpu].at_timer_ns = steals.at_timer_ns(cpu, now_ns);
        }
    }

    /// Takes what was stolen from a CPU since its last turn.
    pub fn take_stolen(&mut self, cpu: usize) -> Vec<Gap> {
        mem::take(&mut self.cpus[cpu].stolen)
    }

    /// Takes the interrupts that a CPU has come to the time of.
    pub fn take_due(&mut self, cpu: usize) -> Option<i32> {
        let state = &mut self.cpus[cpu];
        let (due_ns, mask) = state.due?;
        if !state.is_idle && state.now_ns < due_ns {
            return None;
        }
        if state.is_idle {
            state.woken_ns = Some(state.woken_ns.map_or(due_ns, |woken_ns| woken_ns.min(due_ns)));
        }
        state.due = None;
        Some(mask)
    }

    /// Decides what to do next, where the next timer is due at this time.
    pub fn next(&mut self, timer_ns: i64) -> Step {
        self.steal();
        let busy = |cpu: &usize| !self.cpus[*cpu].is_idle;
        let order = |cpu: &usize| (self.cpus[*cpu].now_ns, self.cpus[*cpu].last_turn);
        let Some(behind) = (0..self.cpus.len()).filter(busy).min_by_key(order) else {
            self.turn = None;
            return Step::Idle;
        };
        // The timers' time has come when no CPU is before it.
        if self.cpus[behind].now_ns >= timer_ns {
            self.turn = None;
            return Step::Timers(timer_ns);
        }
        let goes_on =
            self.turn.filter(|turn| self.cpus[turn.cpu].now_ns < turn.end_ns.min(timer_ns));
        let turn = goes_on.unwrap_or_else(|| self.turn_of(behind));
        self.turn = Some(turn);
        let Cpu { now_ns, due, gap, .. } = self.cpus[turn.cpu];
        let due_ns = due.map_or(i64::MAX, |(due_ns, _)| due_ns);
        let gap_ns = gap.map_or(i64::MAX, |gap| gap.start_ns);
        let until_ns = turn.end_ns.min(timer_ns).min(due_ns).min(gap_ns);
        Step::Execute { cpu: turn.cpu, now_ns, until_ns }
    }

    /// A new turn of a CPU.
    fn turn_of(&mut self, cpu: usize) -> Turn {
        self.turns += 1;
        self.cpus[cpu].last_turn = self.turns;
        let is_contended = self.cpus[cpu].now_ns < self.contended_until_ns;
        let lookahead_ns =
            if is_contended { CONTENDED_NS.min(self.lookahead_ns) } else { self.lookahead_ns };
        let end_ns = self.others(cpu).map_or(i64::MAX, |now_ns| now_ns + lookahead_ns);
        Turn { cpu, end_ns }
    }

    /// Notes how far the CPU whose turn it is has come, and how it left; the next timer is due at this
    /// time.
    pub fn went(&mut self, now_ns: i64, left: Left, timer_ns: i64) {
        let Some(turn) = self.turn else { return };
        let others = self.others(turn.cpu);
        let cpu = &mut self.cpus[turn.cpu];
        cpu.now_ns = now_ns;
        if let Some(others_ns) = others.filter(|_| left == Left::Paused) {
            // What the others did up to their time is done: who spins sees no change before.
            let due_ns = cpu.due.map_or(i64::MAX, |(due_ns, _)| due_ns);
            cpu.now_ns = now_ns.max(others_ns.min(timer_ns).min(due_ns));
            self.contended_until_ns = self.contended_until_ns.max(cpu.now_ns + CONTENDED_FOR_NS);
        }
        let is_over = match left {
            Left::Early => now_ns >= turn.end_ns,
            Left::Paused => true,
            Left::Settled => now_ns >= turn.end_ns.saturating_sub(self.slack_ns),
        };
        if is_over {
            self.turn = None;
        }
    }

    /// Decides how an interrupt is delivered from the CPU whose turn it is, at its time, to another
    /// one. `may_wait` is whether the target can be told of it later.
    pub fn interrupt(&mut self, target: usize, now_ns: i64, mask: i32, may_wait: bool) -> Delivery {
        let cpu = &mut self.cpus[target];
        if cpu.is_idle {
            cpu.woken_ns.get_or_insert(now_ns);
            if let Some(turn) = &mut self.turn {
                turn.end_ns = now_ns;
            }
            return Delivery::Wakes;
        }
        if !may_wait || cpu.now_ns >= now_ns {
            return Delivery::Now;
        }
        let (due_ns, before) = cpu.due.unwrap_or((now_ns, 0));
        cpu.due = Some((due_ns, before | mask));
        Delivery::Later
    }

    /// Whether the turn of the CPU that executes is over at this time, if no timer ends it before.
    pub fn is_over(&self, now_ns: i64) -> bool {
        self.turn.is_none_or(|turn| now_ns >= turn.end_ns)
    }

    /// When the last CPU became idle; `None` where one is busy.
    pub fn all_idle_ns(&self) -> Option<i64> {
        let idle = |cpu: &Cpu| cpu.is_idle.then_some(cpu.now_ns);
        self.cpus.iter().map(idle).try_fold(i64::MIN, |latest, now_ns| Some(latest.max(now_ns?)))
    }

    /// The slowest of the other busy CPUs' clocks.
    fn others(&self, cpu: usize) -> Option<i64> {
        let others = self.cpus.iter().enumerate().filter(|(other, _)| *other != cpu);
        others
            .map(|(_, other)| other)
            .filter(|other| !other.is_idle)
            .map(|other| other.now_ns)
            .min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: i64 = i64::MAX;

    fn busy(cpus: usize) -> Clocks {
        Clocks::new(cpus, 1000, 500, 0)
    }

    fn execute(cpu: usize, now_ns: i64, until_ns: i64) -> Step {
        Step::Execute { cpu, now_ns, until_ns }
    }

    /// CPUs that compute and nothing else keep to the lookahead, and go equally far.
    #[test]
    fn busy_cpus_go_equally_far() {
        for cpus in 2..=8 {
            let mut clocks = busy(cpus);
            for _ in 0..1000 {
                let Step::Execute { now_ns, until_ns, .. } = clocks.next(NEVER) else { panic!() };
                assert!(until_ns > now_ns);
                clocks.went(until_ns, Left::Early, NEVER);
                let now_ns: Vec<i64> = clocks.cpus.iter().map(|cpu| cpu.now_ns).collect();
                assert!(now_ns.iter().max().unwrap() - now_ns.iter().min().unwrap() <= 500);
            }
        }
    }

    #[test]
    fn a_turn_that_was_left_early_goes_on() {
        let mut clocks = busy(2);
        assert_eq!(clocks.next(NEVER), execute(0, 1000, 1500));
        // QEMU left for a reason of its own, once before and once after the other CPU's time.
        clocks.went(1000, Left::Early, NEVER);
        assert_eq!(clocks.next(NEVER), execute(0, 1000, 1500));
        clocks.went(1300, Left::Early, NEVER);
        assert_eq!(clocks.next(NEVER), execute(0, 1300, 1500));
        clocks.went(1500, Left::Early, NEVER);
        assert_eq!(clocks.next(NEVER), execute(1, 1000, 2000));
    }

    /// Prices make a turn a little shorter or longer than was asked for: what is left is not worth a
    /// turn, unless a timer waits for it.
    #[test]
    fn a_turn_that_is_short_by_the_slack_is_over() {
        let mut clocks = Clocks::new(2, 1000, 500, 60);
        assert_eq!(clocks.next(NEVER), execute(0, 1000, 1500));
        // What QEMU left early is not settled.
        clocks.went(1450, Left::Early, NEVER);
        assert!(!clocks.is_over(1499) && clocks.is_over(1500));
        assert_eq!(clocks.next(NEVER), execute(0, 1450, 1500));
        clocks.went(1439, Left::Settled, NEVER);
        assert_eq!(clocks.next(NEVER), execute(0, 1439, 1500));
        clocks.went(1440, Left::Settled, NEVER);
        assert_eq!(clocks.next(1200), execute(1, 1000, 1200));
        clocks.went(1190, Left::Settled, 1200);
        assert_eq!(clocks.next(1200), execute(1, 1190, 1200));
        clocks.went(1210, Left::Settled, 1200);
        assert_eq!(clocks.next(1300), execute(1, 1210, 1300));
    }

    /// Where the guest arms or cancels a timer, the turn ends where it would have ended if QEMU had
    /// left it in between.
    #[test]
    fn timers_end_turns_whenever_they_were_armed() {
        let mut clocks = busy(2);
        assert_eq!(clocks.next(1200), execute(0, 1000, 1200));
        clocks.went(1100, Left::Early, NEVER);
        assert_eq!(clocks.next(NEVER), execute(0, 1100, 1500));
        clocks.went(1400, Left::Early, 1300);
        assert_eq!(clocks.next(1300), execute(1, 1000, 1300));
        clocks.went(1300, Left::Early, 1300);
        assert_eq!(clocks.next(1300), Step::Timers(1300));
        assert_eq!(clocks.next(NEVER), execute(1, 1300, 1900));
    }

    #[test]
    fn an_idle_cpu_wakes_at_its_senders_time_and_ends_the_senders_turn() {
        let mut clocks = busy(2);
        clocks.observe(1, true, 1000);
        assert_eq!(clocks.next(5000), execute(0, 1000, 5000));
        assert_eq!(clocks.interrupt(1, 3000, 2, true), Delivery::Wakes);
        clocks.went(3002, Left::Early, 5000);
        clocks.observe(1, false, 1000);
        assert_eq!(clocks.next(5000), execute(1, 3000, 3502));
    }

    #[test]
    fn a_timer_wakes_at_its_own_time_but_never_before_the_cpu_halted() {
        let mut clocks = busy(2);
        (0..2).for_each(|cpu| clocks.observe(cpu, true, 1000));
        assert_eq!((clocks.next(NEVER), clocks.all_idle_ns()), (Step::Idle, Some(1000)));
        clocks.observe(0, false, 900);
        assert_eq!(clocks.all_idle_ns(), None);
        clocks.observe(1, false, 1700);
        assert_eq!(clocks.next(NEVER), execute(0, 1000, 2200));
    }

    #[test]
    fn an_interrupt_from_the_future_waits() {
        let mut clocks = busy(2);
        assert_eq!(clocks.next(NEVER), execute(0, 1000, 1500));
        assert_eq!(clocks.interrupt(1, 1400, 2, true), Delivery::Later);
        assert_eq!(clocks.interrupt(1, 1450, 0x200, true), Delivery::Later);
        // What cannot wait does not.
        assert_eq!(clocks.interrupt(1, 1450, 0x400, false), Delivery::Now);
        clocks.went(1500, Left::Early, NEVER);
        assert_eq!(clocks.take_due(1), None);
        assert_eq!(clocks.next(NEVER), execute(1, 1000, 1400));
        clocks.went(1400, Left::Early, NEVER);
        assert_eq!((clocks.take_due(1), clocks.take_due(1)), (Some(0x202), None));
        // Its turn goes on.
        assert_eq!(clocks.next(NEVER), execute(1, 1400, 2000));
        // One that is late comes at once.
        assert_eq!(clocks.interrupt(0, 1450, 2, true), Delivery::Now);
    }

    /// A CPU that halts before its interrupt is due sleeps until then.
    #[test]
    fn an_interrupt_that_waits_wakes_an_idle_cpu() {
        let mut clocks = busy(2);
        clocks.next(NEVER);
        clocks.interrupt(1, 1400, 2, true);
        clocks.went(1500, Left::Early, NEVER);
        clocks.next(NEVER);
        clocks.went(1200, Left::Early, NEVER);
        clocks.observe(1, true, 1000);
        assert_eq!(clocks.take_due(1), Some(2));
        clocks.observe(1, false, 1000);
        assert_eq!(clocks.next(NEVER), execute(1, 1400, 2000));
    }

    /// A CPU that spins jumps to the slowest of the others, and they keep close to it.
    #[test]
    fn a_spinning_cpu_jumps_to_the_others() {
        let mut clocks = busy(2);
        clocks.next(NEVER);
        clocks.went(1500, Left::Early, NEVER);
        assert_eq!(clocks.next(NEVER), execute(1, 1000, 2000));
        clocks.went(1010, Left::Paused, NEVER);
        // Both have come to 1500; who had no turn for longest is next.
        assert_eq!(clocks.next(NEVER), execute(0, 1500, 1525));
        clocks.went(1525, Left::Early, NEVER);
        assert_eq!(clocks.next(NEVER), execute(1, 1500, 1550));
        clocks.went(1502, Left::Paused, NEVER);
        assert_eq!(clocks.next(NEVER), execute(0, 1525, 1550));
        // Neither a timer nor an interrupt is jumped over.
        clocks.went(1600, Left::Early, NEVER);
        assert_eq!(clocks.next(NEVER), execute(1, 1525, 1625));
        clocks.went(1527, Left::Paused, 1570);
        assert_eq!(clocks.next(1570), Step::Timers(1570));
    }

    /// CPUs keep close to each other for a time after one of them has spun.
    #[test]
    fn who_has_spun_is_waited_for_a_while() {
        let mut clocks = busy(2);
        clocks.next(NEVER);
        clocks.went(1002, Left::Paused, NEVER);
        for _ in 0..1000 {
            let Step::Execute { cpu, now_ns, until_ns } = clocks.next(NEVER) else { panic!() };
            let other_ns = clocks.cpus[1 - cpu].now_ns;
            let is_contended = now_ns < 1002 + CONTENDED_FOR_NS;
            assert_eq!(until_ns, other_ns + if is_contended { CONTENDED_NS } else { 500 });
            clocks.went(until_ns, Left::Early, NEVER);
        }
        assert!(clocks.cpus[0].now_ns > 1002 + CONTENDED_FOR_NS);
    }

    fn steals() -> Steals {
        Steals::parse(&format!("7 1000{}", " 5000".repeat(16))).unwrap()
    }

    #[test]
    fn a_busy_cpu_loses_a_gap_and_the_others_come_up_with_it() {
        let gap = steals().first_after(0, 1000);
        let mut clocks = busy(1).with_steals(steals());
        assert_eq!(clocks.next(NEVER), execute(0, 1000, gap.start_ns));
        // A turn that is short of a gap goes on, and one beyond it loses all of the gap.
        clocks.went(gap.start_ns - 10, Left::Settled, NEVER);
        let until = execute(0, gap.start_ns - 10, gap.start_ns);
        assert_eq!((clocks.next(NEVER), clocks.take_stolen(0)), (until, vec![]));
        clocks.went(gap.start_ns + 7, Left::Settled, NEVER);
        // A timer of that time is served at its time.
        assert_eq!(clocks.next(gap.end_ns - 1), Step::Timers(gap.end_ns - 1));
        let next = steals().first_after(0, gap.end_ns + 7).start_ns;
        assert_eq!(clocks.next(NEVER), execute(0, gap.end_ns + 7, next));
        let stolen = Gap { start_ns: gap.start_ns + 7, end_ns: gap.end_ns + 7 };
        assert_eq!((clocks.take_stolen(0), clocks.take_stolen(0)), (vec![stolen], vec![]));
        let mut clocks = busy(2).with_steals(steals());
        let mut stolen_ns = [0, 0];
        while clocks.cpus.iter().any(|cpu| cpu.now_ns < 100_000_000) {
            let Step::Execute { cpu, now_ns, until_ns } = clocks.next(NEVER) else { panic!() };
            assert!(now_ns <= clocks.cpus[1 - cpu].now_ns + 500);
            stolen_ns[cpu] += clocks.take_stolen(cpu).into_iter().map(Gap::len_ns).sum::<i64>();
            clocks.went(until_ns, Left::Settled, NEVER);
        }
        // 1000 a second of 5 us each.
        assert!(stolen_ns.iter().all(|ns| (350_000..650_000).contains(ns)), "{stolen_ns:?}");
    }

    #[test]
    fn a_timer_that_interrupts_a_cpu_has_it_lose_time() {
        let timers = " 0:700 10000:700";
        let steals = Steals::parse(&format!("7 1{}{timers}", " 5000".repeat(16))).unwrap();
        let mut clocks = busy(1).with_steals(steals);
        assert_eq!(clocks.next(1200), execute(0, 1000, 1200));
        clocks.went(1205, Left::Settled, 1200);
        assert_eq!(clocks.next(1200), Step::Timers(1200));
        clocks.interrupted_by_timer(0, 1200);
        let Step::Execute { now_ns, .. } = clocks.next(NEVER) else { panic!() };
        assert_eq!(now_ns, 1905);
        assert_eq!(clocks.take_stolen(0), [Gap { start_ns: 1205, end_ns: 1905 }]);
        // One that sleeps wakes up first.
        clocks.observe(0, true, 1905);
        clocks.interrupted_by_timer(0, 9000);
        clocks.observe(0, false, 9000);
        let Step::Execute { now_ns, .. } = clocks.next(NEVER) else { panic!() };
        assert_eq!(now_ns, 9700);
    }

    #[test]
    fn an_idle_cpu_loses_what_is_left_of_a_gap_when_it_wakes_up() {
        let gap = steals().first_after(0, 1000);
        let woken_at = |ns| {
            let mut clocks = busy(1).with_steals(steals());
            clocks.observe(0, true, 1000);
            clocks.observe(0, false, ns);
            let Step::Execute { now_ns, .. } = clocks.next(NEVER) else { panic!() };
            (now_ns, clocks.take_stolen(0))
        };
        assert_eq!(woken_at(gap.start_ns - 1), (gap.start_ns - 1, vec![]));
        assert_eq!(woken_at(gap.end_ns - 10), (gap.end_ns, vec![gap]));
        assert_eq!(woken_at(gap.end_ns + 10), (gap.end_ns + 10, vec![gap]));
    }

    /// CPUs that all spin get on.
    #[test]
    fn cpus_that_all_spin_get_on() {
        let mut clocks = busy(3);
        for _ in 0..1000 {
            let Step::Execute { now_ns, .. } = clocks.next(NEVER) else { panic!() };
            clocks.went(now_ns + 2, Left::Paused, NEVER);
        }
        assert!(clocks.cpus.iter().all(|cpu| cpu.now_ns > 1600));
    }
}
