//! Executes virtual CPUs in the place of QEMU's own loop, as [`Clocks`] decides.
//!
//! QEMU's loop (`rr_cpu_thread_fn`, accel/tcg/tcg-accel-ops-rr.c) gives the CPUs turns on one clock:
//! N busy CPUs share the speed of one. Here each has a clock of its own. The scheduler runs where that
//! loop takes QEMU's global lock, until all CPUs are idle or QEMU wants something of one. Then it lets
//! the loop pass, which executes nothing because every CPU is asked to leave its turn.

use std::{
    cell::{Cell, OnceCell, RefCell},
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    ptr::NonNull,
    sync::OnceLock,
};

use crate::{
    arch::{self, Guest},
    clocks::{Clocks, Delivery, Left, Step},
    qemu::{CpuState, HandleInterrupt, Lacks, Lock, Qemu, current_cpu},
    spin,
    steals::Steals,
    threads::is_thread_of_cpus,
    turns::watcher,
};

/// How much a turn with prices may be short of its end: as much as a clock differs from due time.
const SLACK_COUNTS: i64 = 128;

static SCHEDULER: OnceLock<Scheduler> = OnceLock::new();

struct Scheduler {
    qemu: Qemu,
    guest: &'static Guest,
    lock: Lock,
    handle_interrupt: HandleInterrupt,
    lookahead_ns: i64,
    steals: Option<Steals>,
    machine: OnceCell<Machine>,
    /// The CPU that executes.
    executing: Cell<Option<usize>>,
    is_inside: Cell<bool>,
    /// Timers are served.
    serves_timers: Cell<bool>,
}

// SAFETY: only the thread of the CPUs uses what can change.
unsafe impl Sync for Scheduler {}
// SAFETY: as above.
unsafe impl Send for Scheduler {}

/// QEMU is asked whether it wants something of a CPU where a turn was left early, which is where it has a CPU
/// leave, and after so many turns: the CPU that it had leave may have come to its end just then.
const TURNS_UNASKED: u32 = 64;

/// The CPUs, once they are all there.
struct Machine {
    cpus: Vec<CpuState>,
    /// Which of them may be busy that was idle, or idle that was busy.
    may_differ: Vec<Cell<bool>>,
    clocks: RefCell<Clocks>,
    /// The time to which everything has come: that of the timers served last.
    past_ns: Cell<i64>,
    /// QEMU's variable of the thread.
    current: NonNull<CpuState>,
}

/// Takes the place of QEMU's loop for machines with several CPUs or with prices.
///
/// To be called by the thread of the CPUs before they execute.
///
/// # Errors
///
/// The name of what this QEMU lacks.
pub fn install(lookahead_ns: i64, steals: Option<Steals>) -> Result<(), Lacks> {
    let qemu = Qemu::find()?;
    current_cpu()?;
    let guest = arch::of_this_qemu()?;
    spin::watch(guest)?;
    let handle_interrupt = Qemu::replace_handle_interrupt(handle_interrupt)?;
    let lock = qemu.lock();
    let (machine, executing, is_inside, serves_timers) = Default::default();
    let scheduler = Scheduler {
        qemu,
        guest,
        lock,
        handle_interrupt,
        lookahead_ns,
        steals,
        machine,
        executing,
        is_inside,
        serves_timers,
    };
    SCHEDULER.get_or_init(|| scheduler).qemu.replace_lock(take_lock);
    Ok(())
}

/// `bql_mutex_lock_func`
unsafe extern "C" fn take_lock(mutex: *mut c_void, file: *const c_char, line: c_int) {
    let Some(scheduler) = SCHEDULER.get() else { return };
    // SAFETY: as the caller promises.
    unsafe { (scheduler.lock)(mutex, file, line) };
    // SAFETY: the compiler's name of a source file.
    let is_loop = unsafe { CStr::from_ptr(file) }.to_bytes().ends_with(b"tcg-accel-ops-rr.c");
    if !is_loop || !is_thread_of_cpus() || scheduler.is_inside.get() || !scheduler.qemu.is_running()
    {
        return;
    }
    scheduler.is_inside.set(true);
    let arguments = (mutex, file, line);
    // SAFETY: the mutex has just been locked with these arguments.
    unsafe { scheduler.qemu.with_the_lock(scheduler.lock, arguments, || scheduler.schedule()) };
    scheduler.is_inside.set(false);
}

/// `AccelOpsClass::handle_interrupt`. For QEMU all CPUs are of this thread, so that it does not end
/// the turn of a CPU that interrupts another one.
unsafe extern "C" fn handle_interrupt(cpu: CpuState, mask: c_int) {
    let Some(scheduler) = SCHEDULER.get() else { return };
    // SAFETY: as the caller promises.
    let at_once = || unsafe { (scheduler.handle_interrupt)(cpu, mask) };
    if let Some(machine) = scheduler.machine.get().filter(|_| scheduler.serves_timers.get())
        && let Some(number) = machine.cpus.iter().position(|other| *other == cpu)
    {
        let now_ns = machine.past_ns.get();
        machine.clocks.borrow_mut().interrupted_by_timer(number, now_ns);
    }
    let between = || {
        let machine = scheduler.machine.get().filter(|_| is_thread_of_cpus())?;
        let sender = scheduler.executing.get()?;
        let target = machine.cpus.iter().position(|other| *other == cpu)?;
        (target != sender).then_some((machine, sender, target))
    };
    let Some((machine, sender, target)) = between() else { return at_once() };
    machine.may_differ[target].set(true);
    let now_ns = scheduler.qemu.now_ns();
    let can_wait = (scheduler.guest.can_wait)(mask);
    match machine.clocks.borrow_mut().interrupt(target, now_ns, mask, can_wait) {
        Delivery::Now => at_once(),
        Delivery::Later => {}
        Delivery::Wakes => {
            at_once();
            scheduler.qemu.exit(machine.cpus[sender]);
        }
    }
}

impl Machine {
    /// Takes every CPU for one that may have become idle or busy.
    fn look_at_all(&self) {
        self.may_differ.iter().for_each(|may_differ| may_differ.set(true));
    }
}

impl Scheduler {
    /// Executes the CPUs until all are idle, or QEMU wants something of one.
    fn schedule(&self) {
        let Some(machine) = self.machine() else { return };
        let qemu = &self.qemu;
        machine.past_ns.set(qemu.now_ns());
        machine.look_at_all();
        let mut timer_ns = self.timer_ns(machine);
        let mut unasked = TURNS_UNASKED;
        while qemu.is_running() {
            if unasked == TURNS_UNASKED {
                unasked = 0;
                if machine.cpus.iter().any(|cpu| qemu.is_wanted(*cpu)) {
                    break;
                }
            }
            self.observe(machine);
            let step = machine.clocks.borrow_mut().next(timer_ns);
            match step {
                Step::Idle => break,
                Step::Timers(at_ns) => {
                    machine.past_ns.set(qemu.publish(at_ns));
                    self.serves_timers.set(true);
                    qemu.run_timers();
                    self.serves_timers.set(false);
                    machine.look_at_all();
                    timer_ns = self.timer_ns(machine);
                }
                Step::Execute { cpu, now_ns, until_ns } => {
                    let (now_ns, left) = self.execute(machine, cpu, now_ns, until_ns);
                    machine.may_differ[cpu].set(true);
                    timer_ns = self.timer_ns(machine);
                    machine.clocks.borrow_mut().went(now_ns, left, timer_ns);
                    unasked = if left == Left::Early { TURNS_UNASKED } else { unasked + 1 };
                }
            }
        }
        self.publish_past(machine);
        machine.cpus.iter().for_each(|cpu| qemu.exit(*cpu));
    }

    fn machine(&self) -> Option<&Machine> {
        if let Some(machine) = self.machine.get() {
            return Some(machine);
        }
        let current = current_cpu().ok()?;
        let (cpus, now_ns) = (self.qemu.cpus(), self.qemu.now_ns());
        let slack_ns = watcher().map_or(0, |_| SLACK_COUNTS * self.qemu.count_ns());
        let clocks = Clocks::new(cpus.len(), now_ns, self.lookahead_ns, slack_ns);
        let clocks = match &self.steals {
            Some(steals) => clocks.with_steals(steals.clone()),
            None => clocks,
        };
        let clocks = RefCell::new(clocks);
        let past_ns = Cell::new(now_ns);
        let may_differ = vec![Cell::new(true); cpus.len()];
        let machine = Machine { cpus, may_differ, clocks, past_ns, current };
        Some(self.machine.get_or_init(|| machine))
    }

    /// Looks which of the CPUs that may have changed are idle, and tells those whose time has come of their interrupts.
    fn observe(&self, machine: &Machine) {
        for (number, &cpu) in machine.cpus.iter().enumerate() {
            while machine.may_differ[number].take() {
                let is_idle = self.qemu.is_idle(cpu);
                let mut clocks = machine.clocks.borrow_mut();
                clocks.observe(number, is_idle, machine.past_ns.get());
                let Some(mask) = clocks.take_due(number) else { break };
                drop(clocks);
                machine.may_differ[number].set(true);
                // SAFETY: QEMU's function, with a CPU of QEMU, on the thread of the CPUs.
                unsafe { (self.handle_interrupt)(cpu, (self.guest.when_due)(mask)) };
            }
        }
    }

    /// When the next timer is due.
    fn timer_ns(&self, machine: &Machine) -> i64 {
        // QEMU says how far it is from the published time, and 0 for all that is past.
        let now_ns = self.qemu.publish(machine.past_ns.get());
        self.qemu.deadline_ns().map_or(i64::MAX, |deadline_ns| now_ns.saturating_add(deadline_ns))
    }

    /// Executes a CPU for its turn, or what is left of it. Returns to which time it has come, and how it left.
    fn execute(&self, machine: &Machine, number: usize, now_ns: i64, until_ns: i64) -> (i64, Left) {
        let qemu = &self.qemu;
        let cpu = machine.cpus[number];
        let watcher = watcher();
        let now_ns = qemu.publish(now_ns);
        let stolen = machine.clocks.borrow_mut().take_stolen(number);
        spin::has_spun();
        self.executing.set(Some(number));
        // SAFETY: this is the thread of the CPUs, and their lock is taken.
        unsafe {
            machine.current.write(cpu);
            qemu.make_room(cpu);
            qemu.execute(cpu, until_ns.saturating_sub(now_ns), || {
                if let Some(watcher) = watcher {
                    (watcher.begins)(number as c_uint);
                    for gap in stolen {
                        (watcher.loses)(number as c_uint, gap.start_ns, gap.end_ns);
                    }
                }
            });
        }
        self.executing.set(None);
        let (mut now_ns, has_spun) = (qemu.now_ns(), spin::has_spun());
        let mut left = if has_spun { Left::Paused } else { Left::Early };
        if let Some(watcher) = watcher {
            // Where QEMU left for a reason of its own, the turn goes on as if it had not.
            let is_over = machine.clocks.borrow().is_over(now_ns);
            if !has_spun && (is_over || now_ns >= until_ns || qemu.is_idle(cpu)) {
                left = Left::Settled;
            }
            now_ns += (watcher.ends)(left != Left::Early) * qemu.count_ns();
        }
        (now_ns, left)
    }

    /// Publishes the time to which everything has come. Where all CPUs are idle it is the latest of
    /// their clocks, as far as no timer comes before it.
    fn publish_past(&self, machine: &Machine) {
        let timer_ns = self.timer_ns(machine);
        if let Some(idle_ns) = machine.clocks.borrow().all_idle_ns() {
            let past_ns = machine.past_ns.get().max(idle_ns.min(timer_ns));
            machine.past_ns.set(self.qemu.publish(past_ns));
        }
    }
}
