//! Scheduling delays: from a wakeup to the CPU, of every fair task.
//!
//! A fair probe wakes some hundred times a window; the trace has every wakeup of every task. A delay lasts
//! from `try_to_wake_up` to the switch to the task, as in `perf sched latency`. The wait of a task that was
//! preempted is none, nor is the first run of a new task. The tasks' own state is not recorded: a call that
//! wakes a task which is preempted, and so needs no wakeup, counts as one.

use std::collections::{BTreeMap, HashMap};

use preemptlab_protocol::trace::stream::SiteKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    cpu::{Machine, make_room},
    decode::Event,
    kernel::Kernel,
    lengths::Lengths,
    point::Point,
};

/// Programs that are told apart, those that are met first. The delays of others are under [`OTHERS`].
const PROGRAMS_MAX: usize = 48;

/// Name of all programs but the first [`PROGRAMS_MAX`].
const OTHERS: &str = "others";

/// The least `prio` of a fair task (include/linux/sched/prio.h, `MAX_RT_PRIO`).
const FAIR_PRIO_MIN: i32 = 100;

/// Scheduling delays of the fair tasks of a window, the probes' left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delays {
    /// Those of all tasks; `None` where none was woken.
    pub all: Option<Delay>,
    /// Those of each program, by the name of its tasks without the part from a `/` or `:` on, as in
    /// `kworker/0:1`.
    pub programs: BTreeMap<String, Delay>,
}

/// Number of wakeups, and statistics of their delays in nanoseconds. Quantiles are by nearest rank, of delays
/// that are kept to one in 2048.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delay {
    /// Number of wakeups.
    pub wakeups: u64,
    /// Half of the delays are at most this.
    pub p50_ns: u64,
    /// 99 % of the delays are at most this.
    pub p99_ns: u64,
    /// 99.9 % of the delays are at most this.
    pub p99_9_ns: u64,
    /// The longest delay.
    pub max_ns: u64,
}

impl Delay {
    /// Returns the statistics of lengths, of which the longest is known exactly; `None` where there are none.
    pub(crate) fn of(lengths: &Lengths, max_ns: u64) -> Option<Self> {
        let at = |share| lengths.quantile_ns(share).map(|ns| ns.min(max_ns));
        Some(Self {
            wakeups: lengths.count(),
            p50_ns: at(50_000)?,
            p99_ns: at(99_000)?,
            p99_9_ns: at(99_900)?,
            max_ns,
        })
    }

    /// Returns whether the statistics ascend, and are of wakeups.
    pub fn is_ordered(&self) -> bool {
        let ascending = [self.p50_ns, self.p99_ns, self.p99_9_ns, self.max_ns];
        self.wakeups > 0 && ascending.is_sorted()
    }
}

impl Delays {
    /// Returns whether a trace can have these delays.
    pub fn is_possible(&self) -> bool {
        let is_name = |name: &String| *name == program(name);
        self.all.iter().chain(self.programs.values()).all(Delay::is_ordered)
            && self.programs.len() <= PROGRAMS_MAX + 1
            && self.programs.keys().all(is_name)
    }
}

/// Returns the program of a task by its name. A character that a metric's name cannot hold becomes
/// `_`.
fn program(comm: &str) -> String {
    let name = comm.split(['/', ':']).next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
    match name.is_empty() {
        true => "_".to_owned(),
        false => name.chars().map(plain).collect(),
    }
}

/// Collector of delays.
#[derive(Debug)]
pub(crate) struct Waits<'a> {
    /// Name of the probes' tasks.
    probes: &'a str,
    /// Tasks that are woken and have no CPU yet: since when, and whether in the window.
    woken: HashMap<u64, (u64, bool)>,
    /// When each CPU last began to choose a task, in nanoseconds.
    scheduling_ns: Vec<u64>,
    programs: BTreeMap<String, (Lengths, u64)>,
}

impl<'a> Waits<'a> {
    pub fn new(probes: &'a str) -> Self {
        let (woken, programs) = Default::default();
        Self { probes, woken, scheduling_ns: Vec::new(), programs }
    }

    /// Looks at an event, after the machine has followed it.
    pub fn look(&mut self, kernel: &Kernel, machine: &mut Machine, event: &Event, is_inside: bool) {
        let SiteKind::Probe(probe) = event.site.kind else { return };
        match (kernel.tracepoint(probe).point, event.values()) {
            (Point::Schedule, _) => *self.scheduling_ns(event.cpu) = event.ns,
            (Point::Waking, [task, ..]) if machine.may_sleep(*task) => {
                make_room(&mut self.woken);
                self.woken.entry(*task).or_insert((event.ns, is_inside));
            }
            (Point::Switch, [previous, next, ..]) => {
                // Woken before it slept: it did not sleep, unless the scheduler was at work for it already.
                let since_ns = *self.scheduling_ns(event.cpu);
                if self.woken.get(previous).is_some_and(|(ns, _)| *ns < since_ns) {
                    self.woken.remove(previous);
                }
                if let Some((ns, true)) = self.woken.remove(next) {
                    self.ran(machine, *next, event.ns.saturating_sub(ns));
                }
            }
            _ => {}
        }
    }

    fn scheduling_ns(&mut self, cpu: u32) -> &mut u64 {
        let place = cpu as usize;
        if place >= self.scheduling_ns.len() {
            self.scheduling_ns.resize(place + 1, 0);
        }
        &mut self.scheduling_ns[place]
    }

    fn ran(&mut self, machine: &Machine, task: u64, delay_ns: u64) {
        let Some(task) = machine.task(task) else { return };
        if task.prio < FAIR_PRIO_MIN || task.comm == self.probes {
            return;
        }
        let mut name = program(&task.comm);
        if self.programs.len() >= PROGRAMS_MAX && !self.programs.contains_key(&name) {
            OTHERS.clone_into(&mut name);
        }
        let (lengths, max_ns) = self.programs.entry(name).or_default();
        lengths.add(delay_ns);
        *max_ns = delay_ns.max(*max_ns);
    }

    pub fn finish(self) -> Delays {
        let of = |(name, (lengths, max_ns)): (&String, &(Lengths, u64))| {
            Some((name.clone(), Delay::of(lengths, *max_ns)?))
        };
        let programs = self.programs.iter().filter_map(of).collect();
        let mut all = Lengths::default();
        let mut max_ns = 0;
        for (mut lengths, program_max_ns) in self.programs.into_values() {
            all.take_in(&mut lengths);
            max_ns = max_ns.max(program_max_ns);
        }
        Delays { all: Delay::of(&all, max_ns), programs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Opportunities, Target, Window, findings,
        testing::{PROBE, Stream, kernel, task},
    };

    const IDLE: u64 = 0xa0;
    const WORKER: u64 = 0xa1;
    const HELPER: u64 = 0xa2;
    const PROBING: u64 = 0xa3;

    fn stream() -> Stream {
        let mut stream = Stream::new();
        stream
            .task(&task(IDLE, 0, 0, 120, "swapper/0"))
            .task(&task(WORKER, 70, 70, 120, "worker"))
            .task(&task(HELPER, 71, 71, 130, "kworker/0:1"))
            .task(&task(PROBING, 72, 71, 9, PROBE))
            .on(0);
        // The clocks are the same from here on.
        stream.probe(500, "hrtimer_wakeup", &[1, 500, PROBING, 0, 0, 1, 0, 0]);
        stream
    }

    fn delays(mut stream: Stream) -> Delays {
        let (trace, kernel) = (stream.finish(), kernel());
        let target = Target { comm: PROBE, is_realtime: true, first_waits: true };
        let window = Window { start_ns: 1_000, end_ns: 1_000_000 };
        let all = Opportunities::Everywhere;
        findings(trace.as_slice(), &kernel, target, all, window).unwrap().delays.unwrap()
    }

    fn switch(stream: &mut Stream, ns: u64, from: u64, to: u64) {
        stream.probe(ns - 50, "__schedule", &[]).probe(ns, "__switch_to", &[from, to]);
    }

    #[test]
    fn a_delay_lasts_from_the_first_wakeup_to_the_switch() {
        let mut stream = stream();
        switch(&mut stream, 2_000, PROBING, IDLE);
        for round in 0..10 {
            let ns = 10_000 + round * 10_000;
            stream.probe(ns, "try_to_wake_up", &[WORKER]).probe(
                ns + 10,
                "try_to_wake_up",
                &[WORKER],
            );
            switch(&mut stream, ns + 300 + round, IDLE, WORKER);
            stream.probe(ns + 1_000, "try_to_wake_up", &[HELPER]);
            switch(&mut stream, ns + 5_000, WORKER, HELPER);
            switch(&mut stream, ns + 6_000, HELPER, IDLE);
        }
        // Neither a real-time task counts, nor a wakeup behind the window.
        stream.probe(500_000, "try_to_wake_up", &[PROBING]);
        switch(&mut stream, 500_400, IDLE, PROBING);
        switch(&mut stream, 500_800, PROBING, IDLE);
        stream.probe(1_500_000, "try_to_wake_up", &[WORKER]);
        switch(&mut stream, 1_900_000, IDLE, WORKER);
        let delays = delays(stream);
        let worker = delays.programs["worker"];
        let expected = Delay { wakeups: 10, p50_ns: 304, p99_ns: 309, p99_9_ns: 309, max_ns: 309 };
        assert_eq!(worker, expected);
        assert_eq!(delays.programs["kworker"].max_ns, 4_000);
        assert_eq!(delays.programs.len(), 2);
        let all = delays.all.unwrap();
        assert_eq!((all.wakeups, all.p50_ns, all.max_ns), (20, 309, 4_000));
        assert!(delays.is_possible());
    }

    /// On its way to sleep a task is woken: if the scheduler has not begun, it never sleeps.
    #[test]
    fn a_task_that_does_not_sleep_has_no_delay() {
        let mut stream = stream();
        switch(&mut stream, 2_000, PROBING, WORKER);
        stream.probe(3_000, "try_to_wake_up", &[WORKER]);
        switch(&mut stream, 4_000, WORKER, HELPER);
        switch(&mut stream, 90_000, HELPER, WORKER);
        assert_eq!(delays(stream.clone()), Delays::default());
        // Another CPU wakes it while its own CPU is already in the scheduler.
        stream.probe(100_000, "__schedule", &[]).on(1);
        stream.probe(100_010, "try_to_wake_up", &[WORKER]).on(0);
        stream.probe(100_050, "__switch_to", &[WORKER, HELPER]);
        switch(&mut stream, 100_510, HELPER, WORKER);
        assert_eq!(delays(stream).all.unwrap().max_ns, 500);
    }

    #[test]
    fn programs_beyond_the_most_are_together() {
        let mut stream = stream();
        let most = PROGRAMS_MAX as u64;
        for number in 0..most + 3 {
            let (address, ns) = (0x1000 + number, 10_000 + number * 1_000);
            let pid = 100 + number as u32;
            stream.task(&task(address, pid, pid, 120, &format!("p{number}")));
            stream.probe(ns, "try_to_wake_up", &[address]);
            switch(&mut stream, ns + 100, IDLE, address);
            switch(&mut stream, ns + 200, address, IDLE);
        }
        let delays = delays(stream);
        assert_eq!(delays.programs.len(), PROGRAMS_MAX + 1);
        assert_eq!(delays.programs[OTHERS].wakeups, 3);
        assert_eq!(delays.all.unwrap().wakeups, most + 3);
        assert!(delays.is_possible());
    }

    #[test]
    fn names_fit_into_those_of_metrics() {
        for (comm, name) in [
            ("kworker/u4:2", "kworker"),
            ("(sd-pam)", "_sd-pam_"),
            ("a.p99", "a_p99"),
            ("", "_"),
            ("/", "_"),
            ("x\n::error", "x_"),
            ("caf\u{e9}", "caf_"),
        ] {
            assert_eq!(program(comm), name);
        }
        let of = |name: &str| Delays {
            all: None,
            programs: BTreeMap::from([(
                name.to_owned(),
                Delay { wakeups: 1, p50_ns: 1, p99_ns: 1, p99_9_ns: 1, max_ns: 1 },
            )]),
        };
        assert!(of("worker").is_possible() && !of("a.p99").is_possible());
        let falling = Delay { wakeups: 1, p50_ns: 2, p99_ns: 1, p99_9_ns: 3, max_ns: 3 };
        assert!(!falling.is_ordered());
    }
}
