//! A small kernel, and traces of it made by hand.

use std::collections::HashMap;

use preemptlab_protocol::{
    FORMAT,
    trace::{
        Operand, Probe, Register, TaskLayout, TraceProgram,
        stream::{COMM_BYTES, CPU, END, FIRST_EVENT, MAGIC, SITE, STACK, SiteKind, TASK},
    },
};

use crate::{
    decode::Task,
    kernel::{HrtimerLayout, Kernel, LAYOUT_FORMAT, Layout, Point, Tracepoint},
};

/// Where the first function begins.
const BASE: u64 = 0xffff_ffff_8100_0000;
/// How far apart functions begin.
const FUNCTION_BYTES: u64 = 0x100;

/// Functions with a probe: its meaning, what it is called, and how many values it carries.
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

/// Functions without one.
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
    PROBES.into_iter().map(|(function, ..)| function).chain(FUNCTIONS)
}

/// Where a function begins.
pub(crate) fn address(function: &str) -> u64 {
    let place = functions().position(|name| name == function);
    BASE + FUNCTION_BYTES * place.expect(function) as u64
}

/// The kernel that these functions are of.
pub(crate) fn kernel() -> Kernel {
    let kallsyms = functions().map(|name| format!("{:x} T {name}\n", address(name))).collect();
    let tracepoints =
        PROBES.map(|(_, point, name, _)| Tracepoint { point, name: name.to_owned() }).to_vec();
    let probe = |(function, point, _, values): (&str, Point, &str, usize)| Probe {
        address: address(function),
        operands: vec![Operand::Register(Register::Rdi); values],
        tasks: vec![],
        changes: None,
        stack: point == Point::Interrupt,
    };
    let program = TraceProgram {
        format: FORMAT,
        preempt_count: 0,
        probes: PROBES.map(probe).to_vec(),
        task: TaskLayout::default(),
        stack_ns_min: 10_000,
        zoom: None,
        inject: vec![],
    };
    // As in 6.12.
    let hrtimer = HrtimerLayout { softexpires: 32, expires: 24, leftmost: 32 };
    let layout = Layout { format: LAYOUT_FORMAT, kallsyms, tracepoints, program, hrtimer };
    Kernel::new(layout).unwrap()
}

/// A task.
pub(crate) fn task(address: u64, pid: u32, tgid: u32, prio: i32, comm: &str) -> Task {
    Task { address, pid, tgid, prio, comm: comm.to_owned() }
}

/// A trace under construction. Sites are announced by themselves.
pub(crate) struct Stream {
    bytes: Vec<u8>,
    sites: HashMap<(u64, u64, u64), u64>,
    ns: u64,
    events: u64,
}

impl Stream {
    pub(crate) fn new() -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(FORMAT.to_le_bytes());
        Self { bytes, sites: HashMap::new(), ns: 0, events: 0 }
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

    /// What follows happens on this CPU.
    pub(crate) fn on(&mut self, cpu: u32) -> &mut Self {
        self.numbers(&[CPU, cpu.into()]);
        self
    }

    /// Describes a task.
    pub(crate) fn task(&mut self, task: &Task) -> &mut Self {
        let Task { address, pid, tgid, prio, ref comm } = *task;
        let prio = prio.cast_unsigned().into();
        self.numbers(&[TASK, address, pid.into(), tgid.into(), prio]);
        let mut bytes = [0; COMM_BYTES];
        bytes[..comm.len()].copy_from_slice(comm.as_bytes());
        self.bytes.extend(bytes);
        self
    }

    /// Something happens at the first instruction of a function.
    pub(crate) fn event(
        &mut self,
        ns: u64,
        kind: SiteKind,
        function: &str,
        values: &[u64],
    ) -> &mut Self {
        let (number, field) = kind.encode();
        let (address, next) = (address(function), self.sites.len() as u64);
        let site = *self.sites.entry((number, address, field)).or_insert(next);
        if site == next {
            self.numbers(&[SITE, number, address, field]);
        }
        self.numbers(&[FIRST_EVENT + site, ns.wrapping_sub(self.ns)]);
        self.numbers(values);
        self.ns = ns;
        self.events += 1;
        self
    }

    /// A function with a probe is called.
    pub(crate) fn probe(&mut self, ns: u64, function: &str, values: &[u64]) -> &mut Self {
        let probe = PROBES.iter().position(|(name, ..)| *name == function);
        self.event(ns, SiteKind::Probe(probe.expect(function) as u32), function, values)
    }

    /// The stack at the last event holds returns to these functions, the innermost first.
    pub(crate) fn stack(&mut self, callers: &[&str]) -> &mut Self {
        self.numbers(&[STACK, callers.len() as u64]);
        for caller in callers {
            self.numbers(&[address(caller) + 0x40]);
        }
        self
    }

    /// The whole trace.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let events = self.events;
        self.numbers(&[END, 0, events]);
        std::mem::take(&mut self.bytes)
    }
}
