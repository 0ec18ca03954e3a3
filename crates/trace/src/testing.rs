//! A small kernel, and traces of it made by hand, for tests.

use std::collections::HashMap;

use preemptlab_model::Arch;
use preemptlab_protocol::{
    FORMAT,
    trace::{
        Operand, Probe, Register, TaskLayout, TraceProgram,
        stream::{
            CLOCK_PER_CPU, COMM_BYTES, CPU, END, FIRST_EVENT, MAGIC, SITE, STACK, SiteKind, TASK,
        },
    },
};

use crate::{
    Attribution, Cause, Changes, Opportunities, Segment, Target, Window, closed_timeline,
    counterfactual,
    decode::{Decoder, Item, Task},
    divergence, findings, ftrace_text, function_graph,
    kernel::{HrtimerLayout, Kernel, LAYOUT_FORMAT, Layout, Tracepoint},
    lanes, moved_timers, perfetto,
    point::Point,
    timelines, wakeups, worst,
};

/// The architecture of the kernel.
pub const ARCH: Arch = Arch::Amd64;

/// Address of the first function.
const BASE: u64 = 0xffff_ffff_8100_0000;
/// Distance between the starts of two functions, in bytes.
const FUNCTION_BYTES: u64 = 0x100;

/// Functions with a probe: the symbol, the probe's meaning and name, and the number of its values.
const PROBES: [(&str, Point, &str, usize); 12] = [
    ("__switch_to", Point::Switch, "__switch_to", 2),
    ("try_to_wake_up", Point::Waking, "try_to_wake_up", 1),
    ("__schedule", Point::Schedule, "__schedule", 0),
    ("resched_curr", Point::NeedResched { is_lazy: false }, "resched_curr", 0),
    ("resched_curr_lazy", Point::NeedResched { is_lazy: true }, "resched_curr_lazy", 0),
    ("entry_SYSCALL_64", Point::Syscall, "entry_SYSCALL_64", 1),
    ("run_timer_softirq", Point::Softirq, "run_timer_softirq", 0),
    ("rcu_core_si", Point::Softirq, "rcu_core_si", 0),
    ("workqueue_softirq_action", Point::Softirq, "workqueue_softirq_action", 0),
    ("asm_common_interrupt", Point::Interrupt, "common_interrupt", 2),
    ("asm_sysvec_apic_timer_interrupt", Point::Interrupt, "apic_timer_interrupt", 2),
    ("asm_exc_page_fault", Point::Exception, "page_fault", 2),
];

/// Functions of timers, of locks, of several CPUs and of priorities with a probe, in the form of [`PROBES`].
const TIMERS: [(&str, Point, &str, usize); 12] = [
    ("hrtimer_start_range_ns", Point::TimerStart, "hrtimer_start_range_ns", 5),
    ("hrtimer_wakeup", Point::TimerExpire, "hrtimer_wakeup", 8),
    ("__cond_resched", Point::CondResched, "__cond_resched", 1),
    ("__mutex_lock", Point::LockWait, "__mutex_lock", 1),
    ("native_queued_spin_lock_slowpath", Point::LockWait, "native_queued_spin_lock_slowpath", 1),
    ("smp_call_function_many_cond", Point::IpiWait, "smp_call_function_many_cond", 0),
    ("asm_sysvec_call_function", Point::Interrupt, "call_function", 2),
    ("asm_sysvec_reschedule_ipi", Point::Interrupt, "reschedule_ipi", 2),
    ("handle_irq_event", Point::DeviceIrq, "handle_irq_event", 0),
    ("fair_server_pick_task", Point::ServerPick, "fair_server_pick_task", 0),
    ("__sched_setscheduler", Point::TaskChange, "__sched_setscheduler", 1),
    (
        "dl_task_timer",
        Point::PeriodExpire { timer_offset: PERIOD_TIMER_OFFSET },
        "dl_task_timer",
        8,
    ),
];

/// Offset of the timer of a deadline task's periods in its `struct task_struct`.
pub const PERIOD_TIMER_OFFSET: u64 = 0x300;

/// Functions without a probe.
const FUNCTIONS: [&str; 12] = [
    "_raw_spin_lock",
    "_raw_spin_lock_irq",
    "_raw_spin_unlock",
    "asm_exit",
    "default_idle",
    "do_nanosleep",
    "do_syscall_64",
    "finish_task_switch",
    "handle_softirqs",
    "irq_enter_rcu",
    "irq_exit_rcu",
    "syscall_exit_to_user_mode",
];

fn functions() -> impl Iterator<Item = &'static str> {
    let name = |(function, ..): (&'static str, Point, &str, usize)| function;
    PROBES.into_iter().map(name).chain(FUNCTIONS).chain(TIMERS.into_iter().map(name))
}

fn probes() -> impl Iterator<Item = (&'static str, Point, &'static str, usize)> {
    PROBES.into_iter().chain(TIMERS)
}

/// Returns the address of a function.
pub fn address(function: &str) -> u64 {
    let place = functions().position(|name| name == function);
    BASE + FUNCTION_BYTES * place.expect(function) as u64
}

fn function_range(function: &str) -> (u64, u64) {
    (address(function), address(function) + FUNCTION_BYTES)
}

/// Returns a kernel that has these functions.
pub fn kernel() -> Kernel {
    Kernel::new(ARCH, layout()).unwrap()
}

/// Returns the layout of that kernel.
pub fn layout() -> Layout {
    let kallsyms = functions().map(|name| format!("{:x} T {name}\n", address(name))).collect();
    let tracepoint =
        |(_, point, name, _): (_, _, &str, _)| Tracepoint { point, name: name.to_owned() };
    let tracepoints = probes().map(tracepoint).collect();
    let probe = |(function, point, _, values): (&str, Point, &str, usize)| Probe {
        address: address(function),
        operands: vec![Operand::Register(Register::Rdi); values],
        tasks: vec![],
        changes: None,
        stack: point == Point::Interrupt,
        only: None,
    };
    let program = TraceProgram {
        format: FORMAT,
        preempt_count: 0,
        probes: probes().map(probe).collect(),
        task: TaskLayout::default(),
        stack_ns_min: 10_000,
        zoom: None,
        returns: vec![
            function_range("native_queued_spin_lock_slowpath"),
            function_range("smp_call_function_many_cond"),
        ],
        inject: vec![],
    };
    // As in 6.12.
    let hrtimer = HrtimerLayout { softexpires: 32, expires: 24, leftmost: 32 };
    Layout { format: LAYOUT_FORMAT, kallsyms, tracepoints, program, hrtimer }
}

/// Creates a segment of a timeline, with nothing but its times, cause and function.
pub fn segment(start_ns: u64, end_ns: u64, cause: Cause, function: Option<&str>) -> Segment {
    Segment {
        start_ns,
        end_ns,
        cause,
        cpu: None,
        other_cpu: None,
        function: function.map(str::to_owned),
        callers: Vec::new(),
        comm: String::new(),
        pid: 1,
        context: String::new(),
        since_ns: None,
        folded: None,
    }
}

/// Creates the description of a task.
pub fn task(address: u64, pid: u32, tgid: u32, prio: i32, comm: &str) -> Task {
    Task { address, pid, tgid, prio, comm: comm.to_owned() }
}

/// A trace under construction. Sites are announced by themselves.
#[derive(Clone, Debug)]
pub struct Stream {
    bytes: Vec<u8>,
    sites: HashMap<(u64, u64, u64), u64>,
    has_clocks: bool,
    cpu: u32,
    /// Times of the last events, by CPU; only the first where they share a clock.
    clocks_ns: HashMap<u32, u64>,
    events: u64,
}

impl Stream {
    /// Creates an empty trace.
    #[expect(clippy::new_without_default, reason = "an empty trace is nobody's default")]
    pub fn new() -> Self {
        Self::of_format(FORMAT)
    }

    /// Creates an empty trace of a machine in which each CPU has a clock.
    pub fn with_clocks() -> Self {
        Self { has_clocks: true, ..Self::of_format(FORMAT | CLOCK_PER_CPU) }
    }

    fn of_format(format: u32) -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(format.to_le_bytes());
        Self {
            bytes,
            sites: HashMap::new(),
            has_clocks: false,
            cpu: 0,
            clocks_ns: HashMap::new(),
            events: 0,
        }
    }

    fn numbers(&mut self, numbers: &[u64]) {
        for mut number in numbers.iter().copied() {
            while number >= 0x80 {
                self.bytes.push(number as u8 | 0x80);
                number >>= 7;
            }
            self.bytes.push(number as u8);
        }
    }

    /// Sets the CPU of the following events.
    pub fn on(&mut self, cpu: u32) -> &mut Self {
        self.numbers(&[CPU, cpu.into()]);
        self.cpu = cpu;
        self
    }

    /// Describes a task.
    pub fn task(&mut self, task: &Task) -> &mut Self {
        let Task { address, pid, tgid, prio, ref comm } = *task;
        let prio = prio.cast_unsigned().into();
        self.numbers(&[TASK, address, pid.into(), tgid.into(), prio]);
        let mut bytes = [0; COMM_BYTES];
        bytes[..comm.len()].copy_from_slice(comm.as_bytes());
        self.bytes.extend(bytes);
        self
    }

    /// Adds an event at the first instruction of a function.
    pub fn event(&mut self, ns: u64, kind: SiteKind, function: &str, values: &[u64]) -> &mut Self {
        let (number, field) = kind.encode();
        let (address, next) = (address(function), self.sites.len() as u64);
        let site = *self.sites.entry((number, address, field)).or_insert(next);
        if site == next {
            self.numbers(&[SITE, number, address, field]);
        }
        let clock = if self.has_clocks { self.cpu } else { 0 };
        let last_ns = self.clocks_ns.insert(clock, ns).unwrap_or(0);
        self.numbers(&[FIRST_EVENT + site, ns.wrapping_sub(last_ns)]);
        self.numbers(values);
        self.events += 1;
        self
    }

    /// Adds the call of a function with a probe.
    pub fn probe(&mut self, ns: u64, function: &str, values: &[u64]) -> &mut Self {
        let probe = probes().position(|(name, ..)| name == function);
        self.event(ns, SiteKind::Probe(probe.expect(function) as u32), function, values)
    }

    /// Adds the stack at the last event, with returns to these functions, the innermost first.
    pub fn stack(&mut self, callers: &[&str]) -> &mut Self {
        self.numbers(&[STACK, callers.len() as u64]);
        for caller in callers {
            self.numbers(&[address(caller) + 0x40]);
        }
        self
    }

    /// Returns the whole trace.
    pub fn finish(&mut self) -> Vec<u8> {
        let events = self.events;
        self.numbers(&[END, 0, events]);
        std::mem::take(&mut self.bytes)
    }
}

/// Reads a trace, which may be anything, in every way. The results do not matter, only that they
/// come in bounded time and memory.
pub fn read_in_every_way(trace: &[u8], kernel: &Kernel) {
    let target = Target { comm: PROBE, is_realtime: true, first_waits: true };
    let window = Window { start_ns: 0, end_ns: u64::MAX };
    for opportunities in [Opportunities::Voluntary, Opportunities::Everywhere] {
        let Ok(findings) = findings(trace, kernel, target, opportunities, window) else { continue };
        let Some(bound) = findings.bound else { continue };
        let offset_ns = findings.clock_offset_ns;
        let moved = moved_timers(trace, kernel, target, &bound, offset_ns).unwrap_or_default();
        moved.iter().for_each(|moved| drop(kernel.moved(moved)));
        if let Some(closed) = bound.longest.first() {
            let _ = closed_timeline(trace, kernel, *closed);
        }
    }
    let mut changes = Changes::default();
    changes.make_preemptible("do_nanosleep");
    changes.make_preemptible("asm_exit");
    changes.cut("_raw_spin_lock", 1);
    changes.cut("asm_exit", u64::MAX);
    if let Ok(attribution) = Attribution::read(trace, kernel, target, window, changes) {
        for opportunities in [Opportunities::Voluntary, Opportunities::Everywhere] {
            let _ = counterfactual(trace, kernel, target, opportunities, window, &attribution);
        }
    }
    let found = wakeups(trace, kernel, target, window).unwrap_or_default();
    for timeline in timelines(trace, kernel, worst(found, 4)).unwrap_or_default() {
        let _ = (timeline.segments_count(), timeline.causes());
    }
    let _ = function_graph(trace, kernel);
    let _ = divergence(trace, trace, kernel);
    let _ = perfetto(trace, kernel, None, std::io::sink());
    let _ = ftrace_text(trace, kernel, None, std::io::sink());
    for start_ns in [0, 5_000_000] {
        let _ = lanes(trace, kernel, Window { start_ns, end_ns: u64::MAX });
    }
}

/// Name of the probe of [`busy`].
pub const PROBE: &str = "cyclictest";

/// Returns a trace with `wakeups` of a real-time probe, 1 ms apart, each behind a section
/// with preemption off.
pub fn busy(wakeups: u64) -> Vec<u8> {
    busy_from(1, wakeups)
}

/// Returns the trace of [`busy`] with its first wakeup at a later millisecond of virtual time.
pub fn busy_from(first_ms: u64, wakeups: u64) -> Vec<u8> {
    const WORKER: u64 = 0xa1;
    const SLEEPER: u64 = 0xa2;
    const TIMER: u64 = 0xb0;
    const USER_CS: u64 = 0x33;
    const KERNEL_CS: u64 = 0x10;
    let mut stream = Stream::new();
    stream.task(&task(WORKER, 70, 70, 120, "worker")).task(&task(SLEEPER, 72, 71, 9, PROBE));
    stream.on(0).probe(1_000, "__switch_to", &[WORKER, SLEEPER]).event(
        2_000,
        SiteKind::Sysret,
        "asm_exit",
        &[],
    );
    for wakeup in first_ms..first_ms + wakeups {
        let due_ns = wakeup * 1_000_000;
        // One cycle a nanosecond, and no time between the clocks.
        let clock = [0, 0, 1, 0, 0];
        stream
            .probe(due_ns - 900_000, "entry_SYSCALL_64", &[230])
            .probe(due_ns - 899_000, "hrtimer_start_range_ns", &[TIMER, due_ns, 0, 0, 0xc0])
            .probe(due_ns - 898_000, "__schedule", &[])
            .probe(due_ns - 897_000, "__switch_to", &[SLEEPER, WORKER])
            .event(due_ns - 896_000, SiteKind::IrqsOn, "finish_task_switch", &[])
            .event(due_ns - 895_000, SiteKind::Sysret, "asm_exit", &[])
            .probe(due_ns - 50_000, "entry_SYSCALL_64", &[1])
            .event(due_ns - 49_000, SiteKind::IrqsOn, "do_syscall_64", &[])
            .event(due_ns - 40_000, SiteKind::PreemptAdd(1), "_raw_spin_lock", &[])
            .probe(
                due_ns + 10,
                "asm_sysvec_apic_timer_interrupt",
                &[address("_raw_spin_lock"), KERNEL_CS],
            )
            .stack(&["do_nanosleep", "do_syscall_64"])
            .probe(due_ns + 50, "hrtimer_wakeup", &[&[TIMER, due_ns, SLEEPER], &clock[..]].concat())
            .probe(due_ns + 60, "try_to_wake_up", &[SLEEPER])
            .probe(due_ns + 70, "resched_curr", &[])
            .event(due_ns + 80, SiteKind::NeedReschedSet, "resched_curr", &[])
            .event(due_ns + 100, SiteKind::ExceptionReturn, "asm_exit", &[0])
            .event(due_ns + 20_000, SiteKind::PreemptAdd(-1), "_raw_spin_unlock", &[])
            .stack(&["do_nanosleep", "do_syscall_64"])
            .probe(due_ns + 21_000, "__schedule", &[])
            .event(due_ns + 21_010, SiteKind::IrqsOff, "__schedule", &[])
            .event(due_ns + 21_020, SiteKind::NeedReschedClear, "__schedule", &[])
            .probe(due_ns + 21_030, "__switch_to", &[WORKER, SLEEPER])
            .event(due_ns + 21_040, SiteKind::IrqsOn, "finish_task_switch", &[])
            .event(due_ns + 21_050, SiteKind::Sysret, "asm_exit", &[])
            .probe(due_ns + 30_000, "asm_exc_page_fault", &[0x40_0000, USER_CS])
            .event(due_ns + 31_000, SiteKind::ExceptionReturn, "asm_exit", &[1]);
    }
    stream.finish()
}

/// Returns a trace of these events. Each event is the number of a probe, nanoseconds since the last
/// event, and values, of which it carries as many as its kind has.
pub fn events(events: &[(usize, u64, [u64; 8])]) -> Vec<u8> {
    add_events(Stream::new(), 1, events)
}

/// Returns a trace of events, in the form of [`events`], of `cpus` CPUs with a clock each.
pub fn events_of_cpus(cpus: u32, events: &[(usize, u64, [u64; 8])]) -> Vec<u8> {
    add_events(Stream::with_clocks(), cpus, events)
}

fn add_events(mut stream: Stream, cpus: u32, events: &[(usize, u64, [u64; 8])]) -> Vec<u8> {
    let kinds = [
        (SiteKind::ExceptionReturn, 1),
        (SiteKind::Sysret, 0),
        (SiteKind::PreemptAddValue, 1),
        (SiteKind::PreemptSubValue, 1),
        (SiteKind::PreemptAdd(0x100), 0),
        (SiteKind::IrqsOff, 0),
        (SiteKind::IrqsOn, 0),
        (SiteKind::Enter, 1),
        (SiteKind::Return, 1),
        (SiteKind::Stolen, 1),
    ];
    let mut clocks_ns = vec![0_u64; cpus as usize];
    for prio in [9, 120] {
        stream.task(&task(prio, 72, 71, prio as i32, PROBE));
    }
    for (number, delta_ns, values) in events {
        if cpus > 1 {
            stream.on(values[6] as u32 % cpus);
        }
        let clock_ns = &mut clocks_ns[stream.cpu as usize];
        *clock_ns = clock_ns.wrapping_add(*delta_ns);
        let ns = *clock_ns;
        // Tasks that are known, and numbers that are small, more often than not.
        let values = values.map(|value| match value % 4 {
            0 => 9,
            1 => value >> 59,
            2 => value >> 32,
            _ => value,
        });
        match probes().nth(*number) {
            Some((function, _, _, count)) => stream.probe(ns, function, &values[..count]),
            None => stream.event(ns, SiteKind::Halt, "default_idle", &[]),
        };
        let (kind, count) = kinds[values[7] as usize % kinds.len()];
        stream.event(ns, kind, "asm_exit", &values[..count]);
    }
    stream.finish()
}

/// Returns a trace with an end that fits its readable events.
pub fn ended(trace: &[u8], kernel: &Kernel) -> Vec<u8> {
    let mut ended = trace.to_vec();
    let Ok(mut decoder) = Decoder::new(trace, kernel.program()) else { return ended };
    let mut events = 0;
    loop {
        match decoder.next_item() {
            Ok(Some(Item::Event(_))) => events += 1,
            Ok(Some(_)) => {}
            _ => break,
        }
    }
    let mut end = Stream { bytes: Vec::new(), events, ..Stream::new() };
    ended.extend(end.finish());
    ended
}
