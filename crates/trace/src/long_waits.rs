//! Wakeups with more segments than are kept: sums are exact, no function is blamed for another's time, and
//! drawings keep to the axis of time.

use std::collections::BTreeMap;

use preemptlab_protocol::trace::stream::SiteKind::{
    ExceptionReturn, IrqsOff, IrqsOn, NeedReschedSet, PreemptAdd, Sysret,
};

use crate::{
    Cause, Segment, Target, Timeline, Window,
    testing::{PROBE, Stream, address, kernel, task},
    thinned::PIECES_MAX,
    timelines, wakeups,
};

const WORKER: u64 = 0xa1;
const SLEEPER: u64 = 0xa2;
const DUE_NS: u64 = 1_000_000;
const MUNMAP: u64 = 11;

/// Time of each cause and function, in nanoseconds.
type Sums = BTreeMap<(Cause, &'static str), u64>;

/// A trace in which the probe is due while a program is in the kernel, until a switch.
struct Wait {
    stream: Stream,
    /// Sums and number of segments, as the test makes them.
    made: Sums,
    segments: u64,
    last: (Cause, &'static str),
    ns: u64,
}

impl Wait {
    /// Begins the trace. The timer's function has run at 200 ns behind the due time.
    fn new() -> Self {
        let mut stream = Stream::new();
        stream.task(&task(WORKER, 70, 70, 120, "worker")).task(&task(SLEEPER, 72, 71, 9, PROBE));
        stream
            .on(0)
            .probe(1_000, "__switch_to", &[SLEEPER, WORKER])
            .event(2_000, Sysret, "asm_exit", &[])
            .probe(DUE_NS - 50_000, "entry_SYSCALL_64", &[MUNMAP])
            .event(DUE_NS - 49_000, IrqsOn, "do_syscall_64", &[])
            .probe(DUE_NS + 10, "asm_sysvec_apic_timer_interrupt", &[address("rcu_core_si"), 0x10])
            .stack(&["do_syscall_64"])
            .probe(DUE_NS + 50, "hrtimer_wakeup", &[1, DUE_NS, SLEEPER, 0, 0, 1, 0, 0])
            .probe(DUE_NS + 60, "try_to_wake_up", &[SLEEPER])
            .event(DUE_NS + 80, NeedReschedSet, "resched_curr", &[])
            .event(DUE_NS + 200, ExceptionReturn, "asm_exit", &[0]);
        let made = BTreeMap::from([((Cause::TimerPending, ""), 10)]);
        let last = (Cause::TimerPending, "");
        let mut wait = Self { stream, made, segments: 1, last, ns: DUE_NS + 10 };
        wait.add(Cause::HardIrq, "apic_timer_interrupt", 190);
        wait
    }

    /// Takes note of the cause and the function of the following nanoseconds.
    fn add(&mut self, cause: Cause, function: &'static str, ns: u64) {
        *self.made.entry((cause, function)).or_default() += ns;
        self.segments +=
            u64::from(std::mem::replace(&mut self.last, (cause, function)) != self.last);
        self.ns += ns;
    }

    /// Keeps preemption off for 10 ns and interrupts for 5 ns, of 80 ns in the kernel. The section is too short
    /// for a stack, so that it stays with the function that takes the lock.
    fn round(&mut self) {
        let ns = self.ns;
        self.stream
            .event(ns + 10, PreemptAdd(1), "_raw_spin_lock", &[])
            .event(ns + 20, PreemptAdd(-1), "_raw_spin_lock", &[])
            .event(ns + 40, IrqsOff, "default_idle", &[])
            .event(ns + 45, IrqsOn, "default_idle", &[])
            .probe(ns + 80, "__mutex_lock", &[0]);
        self.add(Cause::NotPreemptible, "rcu_core_si", 10);
        self.add(Cause::PreemptOff, "_raw_spin_lock", 10);
        self.add(Cause::NotPreemptible, "rcu_core_si", 20);
        self.add(Cause::IrqsOff, "default_idle", 5);
        self.add(Cause::NotPreemptible, "rcu_core_si", 35);
    }

    /// Keeps preemption off for `rounds` times 80 ns, and interrupts in it. Only the stack at the end says
    /// for whom.
    fn section(&mut self, rounds: u64) {
        self.stream.event(self.ns, PreemptAdd(1), "_raw_spin_lock", &[]);
        for _ in 0..rounds {
            let ns = self.ns;
            self.stream
                .event(ns + 40, IrqsOff, "default_idle", &[])
                .event(ns + 45, IrqsOn, "default_idle", &[])
                .probe(ns + 80, "__mutex_lock", &[0]);
            self.add(Cause::PreemptOff, "do_nanosleep", 40);
            self.add(Cause::IrqsOff, "default_idle", 5);
            self.add(Cause::PreemptOff, "do_nanosleep", 35);
        }
        self.stream.event(self.ns, PreemptAdd(-1), "_raw_spin_unlock", &[]);
        self.stream.stack(&["do_nanosleep", "do_syscall_64"]);
    }

    /// Switches to the probe, which is in user space 50 ns later.
    fn end(mut self, from: u64) -> (Timeline, Sums) {
        let ns = self.ns;
        // The scheduler ends in the task that it has switched to.
        self.add(Cause::Scheduling, "", 40);
        self.add(Cause::Return, "", 10);
        self.segments += 1;
        self.stream
            .probe(ns, "__schedule", &[])
            .event(ns + 10, IrqsOff, "__schedule", &[])
            .probe(ns + 30, "__switch_to", &[from, SLEEPER])
            .event(ns + 40, IrqsOn, "finish_task_switch", &[])
            .event(ns + 50, Sysret, "asm_exit", &[]);
        let (trace, kernel) = (self.stream.finish(), kernel());
        let target = Target { comm: PROBE, is_realtime: true, first_waits: true };
        let window = Window { start_ns: 0, end_ns: u64::MAX };
        let found = wakeups(trace.as_slice(), &kernel, target, window).unwrap();
        let timeline = timelines(trace.as_slice(), &kernel, found).unwrap().remove(0);
        assert_eq!(timeline.wakeup.latency_ns(), ns + 50 - DUE_NS);
        assert_eq!(timeline.segments_count(), self.segments);
        assert!(timeline.segments.len() <= PIECES_MAX, "{}", timeline.segments.len());
        let mut end_ns = DUE_NS;
        for segment in &timeline.segments {
            assert_eq!(segment.start_ns, end_ns, "{segment:?}");
            end_ns = segment.end_ns;
        }
        assert_eq!(end_ns, timeline.wakeup.user_ns);
        (timeline, self.made)
    }
}

fn sums(timeline: &Timeline, is_in: impl Fn(&Segment) -> bool) -> Sums {
    const KNOWN: [&str; 5] =
        ["apic_timer_interrupt", "default_idle", "do_nanosleep", "_raw_spin_lock", "rcu_core_si"];
    let mut sums = BTreeMap::new();
    for segment in timeline.segments.iter().filter(|segment| is_in(segment)) {
        let function = segment.function.as_deref().unwrap_or_default();
        let function = KNOWN.into_iter().find(|name| *name == function).unwrap_or_default();
        *sums.entry((segment.cause, function)).or_default() += segment.len_ns();
    }
    sums
}

const MET: (Cause, &str) = (Cause::NotPreemptible, "rcu_core_si");
const BLAMED: (Cause, &str) = (Cause::PreemptOff, "do_nanosleep");

/// 20 ms in munmap(), in which preemption or interrupts are off again and again. In a third of it preemption is
/// off for a function that only the stack at the end tells.
#[test]
fn a_wait_of_a_million_segments_is_blamed_on_what_took_it() {
    let mut wait = Wait::new();
    (0..100_000).for_each(|_| wait.round());
    let begun_ns = wait.ns;
    wait.section(37_500);
    let ended_ns = wait.ns;
    (0..150_000).for_each(|_| wait.round());
    assert!(wait.segments > 1_000_000 && wait.ns - DUE_NS > 20_000_000);
    let (timeline, made) = wait.end(WORKER);
    assert_eq!(sums(&timeline, |_| true), made);
    assert_eq!(timeline.causes()[0], (Cause::NotPreemptible, made[&MET]));
    assert!(made[&MET] > 16_000_000);
    // The section is where it was, to a grain.
    let around = begun_ns - 100_000..ended_ns + 100_000;
    let is_around = |it: &Segment| around.contains(&it.start_ns) && around.contains(&it.end_ns);
    let there = sums(&timeline, is_around);
    assert_eq!(there[&BLAMED], made[&BLAMED]);
    assert!(there.get(&MET).is_none_or(|ns| *ns < 200_000), "{there:?}");
    // It is one section: its pieces say since when.
    let pieces = timeline.segments.iter().filter(|it| it.function.as_deref() == Some(BLAMED.1));
    let since: Vec<u64> = pieces.map(|it| it.since_ns.unwrap_or(it.start_ns)).collect();
    assert!(since.iter().all(|ns| *ns == begun_ns), "{since:?}");
    // Sections of their own are none in common.
    let folded = timeline.segments.iter().filter(|it| it.folded.is_some());
    let several: Vec<_> =
        folded.filter(|it| it.function.as_deref() == Some("_raw_spin_lock")).collect();
    assert!(several.len() > 100 && several.iter().all(|it| it.since_ns.is_none()));
    assert!(timeline.segments.iter().all(|it| !it.folded().has_gaps && !it.folded().is_rest));
}

#[test]
fn a_wait_that_fits_is_drawn_as_it_was() {
    let mut wait = Wait::new();
    (0..100).for_each(|_| wait.round());
    wait.section(100);
    let segments = wait.segments;
    let (timeline, made) = wait.end(WORKER);
    assert_eq!(sums(&timeline, |_| true), made);
    assert_eq!(timeline.segments.len() as u64, segments + 3);
    assert!(timeline.segments.iter().all(|it| it.folded.is_none()));
}

/// Adds tasks that take turns of 60 ns on the CPU in the kernel. Returns the last one.
fn take_turns(wait: &mut Wait, turns: u64, tasks: u64) -> u64 {
    let address = |number: u64| 0x10_0000 + number;
    for number in 0..tasks {
        let pid = 1_000 + number as u32;
        wait.stream.task(&task(address(number), pid, pid, 5, "turns"));
    }
    let mut previous = WORKER;
    for turn in 0..turns {
        let next = address(turn % tasks);
        wait.stream
            .probe(wait.ns + 10, "__switch_to", &[previous, next])
            .event(wait.ns + 20, IrqsOff, "default_idle", &[])
            .event(wait.ns + 30, IrqsOn, "default_idle", &[])
            .probe(wait.ns + 60, "__mutex_lock", &[0]);
        if turn == 0 {
            wait.add(MET.0, MET.1, 10);
        } else {
            wait.add(Cause::MoreUrgentTask, "", 10);
        }
        wait.add(Cause::MoreUrgentTask, "turn", 10);
        wait.add(Cause::IrqsOff, "default_idle", 10);
        wait.add(Cause::MoreUrgentTask, "", 30);
        previous = next;
    }
    previous
}

/// Returns the sums of a wait in which functions are told apart that the trace has no names for.
fn by_cause(sums: &Sums) -> BTreeMap<Cause, u64> {
    let mut causes = BTreeMap::new();
    for ((cause, _), ns) in sums {
        *causes.entry(*cause).or_default() += ns;
    }
    causes
}

/// More turns than can be drawn: tasks keep their sums.
#[test]
fn tasks_that_take_turns_have_what_they_ran() {
    let mut wait = Wait::new();
    let last = take_turns(&mut wait, 90_000, 3);
    let (timeline, made) = wait.end(last);
    assert_eq!(by_cause(&sums(&timeline, |_| true)), by_cause(&made));
    for pid in [1_000, 1_001, 1_002] {
        let of_task = sums(&timeline, |segment| segment.pid == pid);
        let ran: u64 = of_task.values().sum();
        // From switch to switch they are 60 ns long; the last one has 30 ns more, until the next switch.
        assert!((1_799_900..1_800_100).contains(&ran), "{pid}: {ran}");
        assert_eq!(of_task[&(Cause::IrqsOff, "default_idle")], 300_000);
    }
    assert!(timeline.segments.iter().any(|segment| segment.folded().has_gaps));
    assert!(timeline.segments.iter().all(|segment| !segment.folded().is_rest));
}

/// More kinds of segments than are kept: those beyond belong to no task.
#[test]
fn what_cannot_be_kept_apart_is_nobodys() {
    let mut wait = Wait::new();
    let last = take_turns(&mut wait, 90_000, 30_000);
    let (timeline, made) = wait.end(last);
    assert_eq!(by_cause(&sums(&timeline, |_| true)), by_cause(&made));
    let rest: Vec<_> = timeline.segments.iter().filter(|it| it.folded().is_rest).collect();
    let nobodys =
        |it: &&Segment| it.function.is_none() && it.comm.is_empty() && it.callers.is_empty();
    assert!(rest.len() >= 2 && rest.iter().all(nobodys), "{rest:?}");
    let of_task: Vec<_> = timeline.segments.iter().filter(|it| it.pid >= 1_000).collect();
    assert!(!of_task.is_empty());
    // Each task ran for 180 ns, and is said to have run for no more.
    let mut ran: BTreeMap<u32, u64> = BTreeMap::new();
    of_task.iter().for_each(|it| *ran.entry(it.pid).or_default() += it.len_ns());
    assert!(ran.values().all(|ns| *ns <= 210), "{:?}", ran.values().max());
}
