//! The recorded places of a kernel and their meaning, from the kernel's own symbols and types.

use preemptlab_model::Arch;
use preemptlab_protocol::{
    FORMAT,
    trace::{Only, Operand, Probe, Register, TaskLayout, TraceProgram, Zoom},
};
use preemptlab_symbols::{Symbols, Types, function};
use serde::{Deserialize, Serialize};

use crate::{
    KernelError,
    arch::{self, ArchInfo, Entry},
    point::Point,
};

/// Least length of a section whose end is recorded with its stack, in nanoseconds. Shorter sections
/// explain no latency, and there are hundreds of thousands of them a second.
const STACK_NS_MIN: u64 = 5_000;

/// The functions that softirqs run (kernel/softirq.c and the users of `open_softirq`).
const SOFTIRQS: [&str; 11] = [
    "blk_done_softirq",
    "hrtimer_run_softirq",
    "irq_poll_softirq",
    "net_rx_action",
    "net_tx_action",
    "rcu_core_si",
    "run_rebalance_domains",
    "run_timer_softirq",
    "sched_balance_softirq",
    "tasklet_action",
    "tasklet_hi_action",
];

/// The function that calls the handlers of an interrupt's line (kernel/irq/handle.c). The interrupts of the CPU
/// itself have no line.
const DEVICE_IRQ: &str = "handle_irq_event";

/// Functions in which a task waits for a lock, besides the one in which its CPU spins.
const LOCK_WAITS: [&str; 8] = [
    "__mutex_lock",
    "__rt_mutex_slowlock_locked",
    "rt_mutex_slowlock",
    "rt_mutex_slowlock_block",
    "rt_spin_lock_slowlock",
    "rtlock_slowlock_locked",
    "rwsem_down_read_slowpath",
    "rwsem_down_write_slowpath",
];

/// Functions that are about to change a task's priority.
const PRIORITY_CHANGES: [&str; 2] = ["__sched_setscheduler", "rt_mutex_setprio"];

/// Functions of the scheduling classes that are called after a task's priority or class has changed. A task that
/// continues to run is described there, and not only at its next switch.
const PRIORITY_CHANGED: [&str; 6] = [
    "prio_changed_dl",
    "prio_changed_fair",
    "prio_changed_rt",
    "switched_to_dl",
    "switched_to_fair",
    "switched_to_rt",
];

/// Functions that choose the task of a deadline server (kernel/sched/fair.c and ext.c, since 6.12).
const SERVER_PICKS: [&str; 2] = ["ext_server_pick_task", FAIR_SERVER_PICK];

/// The function of the timer by which a deadline task waits for its next period.
const PERIOD_TIMER: &str = "dl_task_timer";

/// The one of [`SERVER_PICKS`] that every kernel with the fair server has.
const FAIR_SERVER_PICK: &str = "fair_server_pick_task";

/// Functions in which a CPU spins until other CPUs have answered its interrupt (kernel/smp.c).
const IPI_WAITS: [&str; 2] = ["smp_call_function_many_cond", "smp_call_function_single"];

/// Largest number of probes at one address. System calls, faults and other exceptions of arm64 have the same one.
const PROBES_MAX: usize = 8;

/// The longest name of a function (include/linux/kallsyms.h, `KSYM_NAME_LEN`).
const NAME_BYTES_MAX: usize = 512;

/// Offsets in `struct hrtimer`, and of its queue's first timer in `struct hrtimer_clock_base`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HrtimerLayout {
    /// `_softexpires`
    pub softexpires: u64,
    /// `node.expires`
    pub expires: u64,
    /// The queue's first timer; a timer's node is its first member.
    pub leftmost: u64,
}

impl HrtimerLayout {
    fn new(types: &Types) -> Result<Self, KernelError> {
        Ok(Self {
            softexpires: offset(types, "hrtimer", "_softexpires")?,
            expires: offset(types, "hrtimer", "node.expires")?,
            leftmost: offset(types, "hrtimer_clock_base", "active.rb_root.rb_leftmost")?,
        })
    }
}

/// Meaning of a probe, with the name of its function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tracepoint {
    /// Meaning of the probe's events.
    pub point: Point,
    /// Name of the function, without the kernel's prefixes of entries.
    pub name: String,
}

impl Tracepoint {
    /// Returns whether a CPU spins from the event on, until another one has done something.
    pub(crate) fn spins(&self, arch: &ArchInfo) -> bool {
        self.point == Point::IpiWait || self.point == Point::LockWait && self.name == arch.spin_wait
    }

    /// Returns whether the priority of a task changes behind the event.
    pub(crate) fn changes_priority(&self) -> bool {
        self.point == Point::TaskChange && PRIORITY_CHANGES.contains(&self.name.as_str())
    }
}

/// Everything that a trace of one boot is read with, in a form that can be kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// The version of this form.
    pub format: u32,
    /// Content of the guest's `/proc/kallsyms`.
    pub kallsyms: String,
    /// By the probe's number.
    pub tracepoints: Vec<Tracepoint>,
    /// Program of the plugin: the probes that it records.
    pub program: TraceProgram,
    /// Layout of the kernel's timers.
    pub hrtimer: HrtimerLayout,
}

/// The version of [`Layout`].
pub const LAYOUT_FORMAT: u32 = 1;

impl Layout {
    /// Finds the places in a kernel of an architecture that the plugin records; on a machine with several CPUs also those where
    /// one waits for another.
    ///
    /// # Errors
    ///
    /// [`KernelError`] when the kernel lacks a place without which nothing can be explained.
    pub fn new(
        arch: Arch,
        kallsyms: String,
        types: &Types,
        has_several_cpus: bool,
    ) -> Result<Self, KernelError> {
        let symbols = parse(&kallsyms)?;
        let arch = arch::of(arch);
        let (tracepoints, probes) = (Vec::new(), Vec::new());
        let mut found = Finder { arch, symbols: &symbols, tracepoints, probes };
        found.all(types)?;
        let returns = if has_several_cpus { found.waits() } else { Vec::new() };
        let Finder { tracepoints, probes, .. } = found;
        let task = |member| offset(types, "task_struct", member);
        let program = TraceProgram {
            format: FORMAT,
            preempt_count: (arch.preempt_count)(&symbols, types)
                .map_err(|missing| KernelError::Lacks(missing.to_owned()))?,
            probes,
            task: TaskLayout {
                pid: task("pid")?,
                tgid: task("tgid")?,
                prio: task("prio")?,
                comm: task("comm")?,
            },
            stack_ns_min: STACK_NS_MIN,
            zoom: None,
            returns,
            inject: Vec::new(),
        };
        let hrtimer = HrtimerLayout::new(types)?;
        Ok(Self { format: LAYOUT_FORMAT, kallsyms, tracepoints, program, hrtimer })
    }

    /// Returns whether every call of `__cond_resched` is recorded with its caller, every task with its
    /// present priority, and the begin of a deadline task's next period. Layouts that earlier versions made lack them.
    pub fn is_complete(&self) -> bool {
        let mut probes = self.program.probes.iter().zip(&self.tracepoints);
        let tells_callers = probes.all(|(probe, tracepoint)| {
            tracepoint.point != Point::CondResched || !probe.operands.is_empty()
        });
        let is_recorded = |name: &&str| {
            let is_it = |tracepoint: &Tracepoint| tracepoint.name == **name;
            self.tracepoints.iter().any(is_it) || !has_symbol(&self.kallsyms, name)
        };
        tells_callers
            && PRIORITY_CHANGED
                .iter()
                .chain(&SERVER_PICKS)
                .chain(&[DEVICE_IRQ, PERIOD_TIMER])
                .all(is_recorded)
    }
}

/// A kernel that can be traced.
#[derive(Clone, Debug)]
pub struct Kernel {
    arch: &'static ArchInfo,
    symbols: Symbols,
    /// By the probe's number.
    tracepoints: Vec<Tracepoint>,
    program: TraceProgram,
    pub(crate) hrtimer: HrtimerLayout,
    has_fair_server: bool,
}

/// Information of a trace about the fair server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FairServer {
    /// The kernel has none.
    Missing,
    /// The kernel has one, and the trace was made before it was recorded.
    Unrecorded,
    /// The trace tells when it chooses a task.
    Recorded,
}

impl Kernel {
    /// Makes a layout of a kernel of an architecture ready for use. It may come from a stranger.
    ///
    /// # Errors
    ///
    /// When it is of another format or does not fit itself.
    pub fn new(arch: Arch, layout: Layout) -> Result<Self, KernelError> {
        let Layout { format, kallsyms, tracepoints, program, hrtimer } = layout;
        if format != LAYOUT_FORMAT {
            let found = format!("has format {format}, not {LAYOUT_FORMAT}");
            return Err(KernelError::Layout(found));
        }
        let broken = |what: &str| Err(KernelError::Layout(what.to_owned()));
        if tracepoints.len() != program.probes.len() {
            return broken("does not say what each probe means");
        }
        // It is executed as it is, and must not make the guest another one.
        if program.format != FORMAT || program.zoom.is_some() || !program.inject.is_empty() {
            return broken("has a program of probes that is none");
        }
        if program.returns.len() > program.probes.len() {
            return broken("names more functions than it has probes");
        }
        let is_name = |name: &str| name.len() <= NAME_BYTES_MAX && !name.contains(char::is_control);
        if !tracepoints.iter().all(|tracepoint| is_name(&tracepoint.name)) {
            return broken("names a probe in a way that cannot be");
        }
        let has_fair_server = has_symbol(&kallsyms, FAIR_SERVER_PICK);
        let arch = arch::of(arch);
        let is_read = |probe: &Probe| registers(probe).all(|it| arch.registers.contains(&it));
        if !program.probes.iter().all(is_read) {
            return broken("reads registers of another processor");
        }
        let is_shift = |only: &Only| u32::from(only.shift) < u64::BITS;
        if !program.probes.iter().filter_map(|probe| probe.only.as_ref()).all(is_shift) {
            return broken("has a condition that never holds");
        }
        let mut places: Vec<u64> = program.probes.iter().map(|probe| probe.address).collect();
        places.sort_unstable();
        if places.chunk_by(|a, b| a == b).any(|same| same.len() > PROBES_MAX) {
            return broken("has too many probes at one address");
        }
        let symbols = parse(&kallsyms)?;
        Ok(Self { arch, symbols, tracepoints, program, hrtimer, has_fair_server })
    }

    /// Returns the facts about its processor.
    pub(crate) fn arch(&self) -> &'static ArchInfo {
        self.arch
    }

    /// Returns the plugin's program.
    pub fn program(&self) -> &TraceProgram {
        &self.program
    }

    /// Returns the plugin's program that records every call between two points of virtual time.
    pub fn zoom(&self, start_ns: u64, end_ns: u64) -> TraceProgram {
        let functions = self.symbols.functions().map(|(address, _)| address).collect();
        let zoom = Zoom { start_ns, end_ns, functions };
        TraceProgram { zoom: Some(zoom), ..self.program.clone() }
    }

    /// Returns the meaning of a probe of the program.
    pub fn tracepoint(&self, probe: u32) -> &Tracepoint {
        &self.tracepoints[probe as usize]
    }

    /// Returns whether traces tell when a CPU stops spinning.
    pub(crate) fn tells_waits(&self) -> bool {
        !self.program.returns.is_empty()
    }

    /// Returns whether the kernel has the fair server, and whether its traces tell for which tasks.
    pub(crate) fn fair_server(&self) -> FairServer {
        let is_recorded = |it: &Tracepoint| it.point == Point::ServerPick;
        match self.tracepoints.iter().any(is_recorded) {
            true => FairServer::Recorded,
            false if self.has_fair_server => FairServer::Unrecorded,
            false => FairServer::Missing,
        }
    }

    /// Returns the name in the source of the function that holds an address.
    pub fn function(&self, address: u64) -> Option<&str> {
        self.symbols.find(address).map(|located| located.function())
    }

    /// Returns where a call was made, from the address to which it returns, in the form of the kernel's
    /// backtraces: `function+0x1a2`.
    pub fn call_site(&self, address: u64) -> Option<String> {
        let function = self.caller(address)?;
        let start = self.symbols.find(address.checked_sub(1)?)?.start;
        Some(format!("{function}+{:#x}", address - start))
    }

    /// Returns the name of the function that made a call, from the address on the stack to which
    /// the call returns: that of the instruction before it.
    pub fn caller(&self, address: u64) -> Option<&str> {
        let located = self.symbols.find(address.checked_sub(1)?)?;
        // A function does not begin with the end of a call.
        (address - located.start >= self.arch.call_bytes).then(|| located.function())
    }
}

struct Finder<'a> {
    arch: &'static ArchInfo,
    symbols: &'a Symbols,
    tracepoints: Vec<Tracepoint>,
    probes: Vec<Probe>,
}

impl Finder<'_> {
    fn all(&mut self, types: &Types) -> Result<(), KernelError> {
        let ArchInfo { syscall_entry, return_address, spin_wait, .. } = *self.arch;
        let [first, second, ..] = self.arch.arguments;
        let tasks = |registers: &[Register]| registers.to_vec();
        self.required("__switch_to", Point::Switch, &[first, second], tasks(&[first, second]))?;
        self.required("try_to_wake_up", Point::Waking, &[first], tasks(&[first]))?;
        self.required("__schedule", Point::Schedule, &[], vec![])?;
        if let Some((name, register)) = syscall_entry {
            self.required(name, Point::Syscall, &[register], vec![])?;
        }
        self.required("resched_curr", Point::NeedResched { is_lazy: false }, &[], vec![])?;
        self.timer_starts(types)?;
        self.timer_expiry(types)?;
        self.optional("resched_curr_lazy", Point::NeedResched { is_lazy: true }, &[]);
        if self.optional("__cond_resched", Point::CondResched, &[])
            && let Some(probe) = self.probes.last_mut()
        {
            probe.operands.push(return_address);
        }
        self.optional(DEVICE_IRQ, Point::DeviceIrq, &[]);
        for name in SOFTIRQS {
            self.optional(name, Point::Softirq, &[]);
        }
        let mut waits: Vec<&str> = LOCK_WAITS.into_iter().chain([spin_wait]).collect();
        waits.sort_unstable();
        for name in waits {
            self.optional(name, Point::LockWait, &[first]);
        }
        for name in ["wake_up_new_task", "__set_task_comm"].into_iter().chain(PRIORITY_CHANGES) {
            if self.optional(name, Point::TaskChange, &[first])
                && let Some(probe) = self.probes.last_mut()
            {
                probe.changes = Some(first);
            }
        }
        for name in PRIORITY_CHANGED {
            if self.optional(name, Point::TaskChange, &[second])
                && let Some(probe) = self.probes.last_mut()
            {
                probe.tasks = tasks(&[second]);
            }
        }
        for name in SERVER_PICKS {
            self.optional(name, Point::ServerPick, &[]);
        }
        self.interrupts()
    }

    /// Finds where CPUs wait for each other, and returns the functions whose returns end it.
    fn waits(&mut self) -> Vec<(u64, u64)> {
        for name in IPI_WAITS {
            self.optional(name, Point::IpiWait, &[]);
        }
        let end = |start: u64| {
            let mut functions = self.symbols.functions().map(|(address, _)| address);
            Some((start, functions.find(|address| *address > start)?))
        };
        let waits = self.probes.iter().zip(&self.tracepoints);
        let waits = waits.filter(|(_, tracepoint)| tracepoint.spins(self.arch));
        waits.filter_map(|(probe, _)| end(probe.address)).collect()
    }

    /// Finds the entry of every interrupt and exception.
    fn interrupts(&mut self) -> Result<(), KernelError> {
        let arch = self.arch;
        let symbols = self.symbols.starting_with(arch.entry_prefix);
        let entries: Vec<(u64, Entry<'_>)> = symbols
            .flat_map(|(address, symbol)| {
                (arch.entries)(symbol).into_iter().map(move |entry| (address, entry))
            })
            .collect();
        for (address, Entry { name, point, operands, only }) in entries {
            let stack = point == Point::Interrupt;
            self.probes.push(Probe {
                address,
                operands,
                tasks: vec![],
                changes: None,
                stack,
                only,
            });
            self.tracepoints.push(Tracepoint { point, name: name.to_owned() });
        }
        for (function, name) in arch.handlers {
            if self.optional(function, Point::IrqHandler, &[])
                && let Some(tracepoint) = self.tracepoints.last_mut()
            {
                (*name).clone_into(&mut tracepoint.name);
            }
        }
        let has = |is_it: &dyn Fn(&Tracepoint) -> bool| self.tracepoints.iter().any(is_it);
        for (is_there, what) in [
            (has(&|it| it.name == arch.timer_entry), "entry of the timer interrupt"),
            (has(&|it| it.point == Point::Interrupt), "entry of interrupts"),
            (has(&|it| it.point == Point::Syscall), "entry of system calls"),
        ] {
            if !is_there {
                return Err(KernelError::Lacks(what.to_owned()));
            }
        }
        Ok(())
    }

    /// Finds the functions that start timers. Since 7.1 timers of user space have a function of
    /// their own.
    fn timer_starts(&mut self, types: &Types) -> Result<(), KernelError> {
        let arguments = self.arch.arguments;
        let queue = offset(types, "hrtimer", "base")?;
        let found = ["hrtimer_start_range_ns", "hrtimer_start_range_ns_user"]
            .map(|name| self.optional(name, Point::TimerStart, &arguments));
        if found == [false, false] {
            return Err(KernelError::Lacks("function hrtimer_start_range_ns".to_owned()));
        }
        for (probe, tracepoint) in self.probes.iter_mut().zip(&self.tracepoints) {
            if tracepoint.point == Point::TimerStart {
                let base = Some(arguments[0]);
                probe.operands.push(Operand::Memory { base, offset: queue, bytes: 8 });
            }
        }
        Ok(())
    }

    fn timer_expiry(&mut self, types: &Types) -> Result<(), KernelError> {
        let missing = |what: &str| KernelError::Lacks(what.to_owned());
        let [timer_register, ..] = self.arch.arguments;
        let address =
            self.address("hrtimer_wakeup").ok_or_else(|| missing("function hrtimer_wakeup"))?;
        // Static variables have no types in BTF; since 6.13 the structure around has a name.
        let core = ["tk_core", "timekeeper_data"];
        let core = core.into_iter().find_map(|name| self.symbols.address(name));
        let core = core.ok_or_else(|| self.missing_variable("tk_core"))?;
        // Before, it is a sequence counter, which has no name for its place, and the timekeeper.
        let behind = types.size_of("seqcount_raw_spinlock_t").map_or(8, u64::from);
        let behind = offset(types, "tk_data", "timekeeper").unwrap_or(behind.next_multiple_of(8));
        let keeper = core.wrapping_add(behind);
        let memory = |base, offset, bytes| Operand::Memory { base, offset, bytes };
        let timer = |structure, member| {
            Ok::<_, KernelError>(memory(Some(timer_register), offset(types, structure, member)?, 8))
        };
        let clock = |member: &str, bytes| {
            let offset = offset(types, "timekeeper", member)?;
            Ok::<_, KernelError>(memory(None, keeper.wrapping_add(offset), bytes))
        };
        let mut operands = vec![
            Operand::Register(timer_register),
            timer("hrtimer", "_softexpires")?,
            timer("hrtimer_sleeper", "task")?,
            clock("tkr_mono.base", 8)?,
            clock("tkr_mono.cycle_last", 8)?,
            clock("tkr_mono.mult", 4)?,
            clock("tkr_mono.shift", 4)?,
            clock("tkr_mono.xtime_nsec", 8)?,
        ];
        self.push(address, "hrtimer_wakeup", Point::TimerExpire, operands.clone(), vec![]);
        if let Some(address) = self.address(PERIOD_TIMER) {
            let timer_offset = offset(types, "task_struct", "dl.dl_timer")?;
            operands[2] = Operand::Register(timer_register);
            let point = Point::PeriodExpire { timer_offset };
            self.push(address, PERIOD_TIMER, point, operands, vec![]);
        }
        Ok(())
    }

    /// Returns the reason why a kernel cannot be traced that lacks a variable, which may be that its kallsyms lists
    /// functions alone: then the kernel's first task has no name either.
    fn missing_variable(&self, name: &str) -> KernelError {
        match self.symbols.address("init_task") {
            Some(_) => KernelError::Lacks(format!("variable {name}")),
            None => KernelError::NoVariables,
        }
    }

    fn required(
        &mut self,
        name: &str,
        point: Point,
        registers: &[Register],
        tasks: Vec<Register>,
    ) -> Result<(), KernelError> {
        let address = self.address(name);
        let address = address.ok_or_else(|| KernelError::Lacks(format!("function {name}")))?;
        let operands = registers.iter().copied().map(Operand::Register).collect();
        self.push(address, name, point, operands, tasks);
        Ok(())
    }

    fn optional(&mut self, name: &str, point: Point, registers: &[Register]) -> bool {
        self.required(name, point, registers, vec![]).is_ok()
    }

    fn push(
        &mut self,
        address: u64,
        name: &str,
        point: Point,
        operands: Vec<Operand>,
        tasks: Vec<Register>,
    ) {
        self.probes.push(Probe {
            address,
            operands,
            tasks,
            changes: None,
            stack: false,
            only: None,
        });
        self.tracepoints.push(Tracepoint { point, name: name.to_owned() });
    }

    /// Returns the address of a function, or of the variant that the compiler has made of it.
    fn address(&self, name: &str) -> Option<u64> {
        let variant = || {
            self.symbols
                .starting_with(name)
                .find(|(_, found)| function(found) == name && !found.contains(".cold"))
        };
        self.symbols.address(name).or_else(|| variant().map(|(address, _)| address))
    }
}

/// Returns the registers that a probe reads.
fn registers(probe: &Probe) -> impl Iterator<Item = Register> {
    let operands = probe.operands.iter().filter_map(|operand| match *operand {
        Operand::Register(register) => Some(register),
        Operand::Memory { base, .. } => base,
    });
    let only = probe.only.iter().map(|only| only.register);
    operands.chain(only).chain(probe.tasks.iter().copied()).chain(probe.changes)
}

/// Returns whether a kernel has a symbol of exactly that name.
fn has_symbol(kallsyms: &str, name: &str) -> bool {
    kallsyms.lines().any(|line| line.split_whitespace().nth(2) == Some(name))
}

fn parse(kallsyms: &str) -> Result<Symbols, KernelError> {
    Ok(Symbols::parse(kallsyms)?)
}

fn offset(types: &Types, structure: &str, member: &str) -> Result<u64, KernelError> {
    let found = types.member_offset(structure, member);
    let found = found.ok_or_else(|| KernelError::Lacks(format!("member {structure}.{member}")))?;
    Ok(found.offset_bytes.into())
}
