//! What QEMU exports and the scheduler calls. Declared after QEMU 10.0; every one of them is looked
//! up by its name, and no offset into QEMU's types is written down.

use std::{
    cell::Cell,
    ffi::{CStr, c_char, c_int, c_void},
    mem,
    ptr::{self, NonNull},
};

/// `CPUState`
pub type CpuState = *mut c_void;

/// `BQLLockFunc`: the mutex, and the file and the line that lock it (include/qemu/main-loop.h).
pub type Lock = unsafe extern "C" fn(*mut c_void, *const c_char, c_int);

/// `AccelOpsClass::handle_interrupt` (include/system/accel-ops.h).
pub type HandleInterrupt = unsafe extern "C" fn(CpuState, c_int);

/// `QEMU_CLOCK_VIRTUAL` (include/qemu/timer.h).
const CLOCK_VIRTUAL: c_int = 1;

/// `QEMU_TIMER_ATTR_ALL` (include/qemu/timer.h).
const TIMERS_ALL: c_int = -1;

/// Larger than `CPUState` (QEMU 10.0: 11 KiB).
const DUMMY_WORDS: usize = 8192;

/// The number of pointers at the start of a class among which its functions are.
const CLASS_WORDS: usize = 64;

/// The functions and variables of this QEMU.
pub struct Qemu {
    get_cpu: unsafe extern "C" fn(c_int) -> CpuState,
    can_run: unsafe extern "C" fn(CpuState) -> bool,
    has_no_work: unsafe extern "C" fn(CpuState) -> bool,
    is_idle: unsafe extern "C" fn(CpuState) -> bool,
    is_running: unsafe extern "C" fn() -> bool,
    prepare: unsafe extern "C" fn(CpuState, i64),
    execute: unsafe extern "C" fn(CpuState) -> c_int,
    process: unsafe extern "C" fn(CpuState),
    exit: unsafe extern "C" fn(CpuState),
    take: unsafe extern "C" fn(*const c_char, c_int),
    unlock: unsafe extern "C" fn(),
    unlock_mutex: Lock,
    run_timers: unsafe extern "C" fn(c_int) -> bool,
    deadline_ns: unsafe extern "C" fn(c_int, c_int) -> i64,
    now_ns: unsafe extern "C" fn() -> i64,
    update: unsafe extern "C" fn(CpuState),
    code: Option<Code>,
    count_ns: i64,
    lock_function: NonNull<Lock>,
    /// A `CPUState` that QEMU is told to take what it has executed from.
    dummy: Box<[Cell<u64>]>,
    /// The word of it that holds how much it was to execute.
    budget: usize,
}

/// The cache of translated code. Its functions are QEMU's own affair and have other names in later versions.
struct Code {
    bytes: unsafe extern "C" fn() -> usize,
    bytes_max: unsafe extern "C" fn() -> usize,
    flush: unsafe extern "C" fn(CpuState),
}

/// What this QEMU lacks.
pub struct Lacks(pub &'static CStr);

impl Qemu {
    /// Finds everything, before any CPU executes.
    ///
    /// # Errors
    ///
    /// The name of what is missing.
    pub fn find() -> Result<Self, Lacks> {
        // SAFETY: the symbols have these types.
        unsafe {
            let to_ns: unsafe extern "C" fn(i64) -> i64 = function(c"icount_to_ns")?;
            let mut qemu = Self {
                get_cpu: function(c"qemu_get_cpu")?,
                can_run: function(c"cpu_can_run")?,
                has_no_work: function(c"cpu_work_list_empty")?,
                is_idle: function(c"cpu_thread_is_idle")?,
                is_running: function(c"runstate_is_running")?,
                prepare: function(c"icount_prepare_for_run")?,
                execute: function(c"tcg_cpu_exec")?,
                process: function(c"icount_process_data")?,
                exit: function(c"cpu_exit")?,
                take: function(c"bql_lock_impl")?,
                unlock: function(c"bql_unlock")?,
                unlock_mutex: function(c"qemu_mutex_unlock_impl")?,
                run_timers: function(c"qemu_clock_run_timers")?,
                deadline_ns: function(c"qemu_clock_deadline_ns_all")?,
                now_ns: function(c"icount_get")?,
                update: function(c"icount_update")?,
                code: Code::find().ok(),
                count_ns: to_ns(1),
                lock_function: symbol(c"bql_mutex_lock_func")?.cast(),
                dummy: vec![Cell::new(0); DUMMY_WORDS].into(),
                budget: 0,
            };
            qemu.budget = qemu.find_budget().ok_or(Lacks(c"CPUState::icount_budget"))?;
            Ok(qemu)
        }
    }

    /// Finds the field that says how much a CPU was to execute: where it is 1 and all else is 0,
    /// QEMU counts one instruction more. Then the count is what it was.
    ///
    /// # Safety
    ///
    /// `update` is QEMU's.
    unsafe fn find_budget(&self) -> Option<usize> {
        let before_ns = self.now_ns();
        let budget = (0..self.dummy.len()).find(|&word| {
            let now_ns = self.now_ns();
            self.dummy[word].set(1);
            // SAFETY: the dummy is larger than what QEMU takes it for, and aligned.
            unsafe { (self.update)(self.dummy.as_ptr().cast_mut().cast()) };
            self.dummy.iter().for_each(|word| word.set(0));
            self.now_ns() - now_ns == self.count_ns
        })?;
        self.count(budget, (before_ns - self.now_ns()) / self.count_ns);
        (self.now_ns() == before_ns).then_some(budget)
    }

    /// Has QEMU take so many instructions for executed.
    fn count(&self, budget: usize, counts: i64) {
        self.dummy[budget].set(counts.cast_unsigned());
        // SAFETY: the dummy is larger than what QEMU takes it for, and aligned. QEMU takes what it was
        // to execute for executed, and leaves zero there.
        unsafe { (self.update)(self.dummy.as_ptr().cast_mut().cast()) };
    }

    /// The function with which QEMU locks its global lock.
    pub fn lock(&self) -> Lock {
        // SAFETY: QEMU's variable.
        unsafe { self.lock_function.read() }
    }

    /// Replaces that function.
    pub fn replace_lock(&self, by: Lock) {
        // SAFETY: QEMU's variable, which other threads of QEMU only read.
        unsafe { self.lock_function.write(by) }
    }

    /// Replaces the function that QEMU calls where a CPU is interrupted, and returns the one of
    /// before.
    ///
    /// # Errors
    ///
    /// The name of what is missing.
    pub fn replace_handle_interrupt(by: HandleInterrupt) -> Result<HandleInterrupt, Lacks> {
        // SAFETY: the symbols have these types; a class is longer than what is looked through.
        unsafe {
            let class: unsafe extern "C" fn(*const c_char) -> *mut HandleInterrupt =
                function(c"object_class_by_name")?;
            let before: HandleInterrupt = function(c"icount_handle_interrupt")?;
            let class = class(c"tcg-accel-ops".as_ptr());
            if class.is_null() {
                return Err(Lacks(c"tcg-accel-ops"));
            }
            let fields = class.cast::<usize>();
            let slot = (0..CLASS_WORDS).find(|&word| fields.add(word).read() == before as usize);
            let slot = slot.ok_or(Lacks(c"AccelOpsClass::handle_interrupt"))?;
            class.add(slot).write(by);
            Ok(before)
        }
    }

    /// All virtual CPUs, by their numbers.
    pub fn cpus(&self) -> Vec<CpuState> {
        // SAFETY: the function only looks through QEMU's list of CPUs.
        let cpu = |number| unsafe { (self.get_cpu)(number) };
        (0..).map(cpu).take_while(|cpu| !cpu.is_null()).collect()
    }

    /// Whether the machine runs.
    pub fn is_running(&self) -> bool {
        // SAFETY: the call only reads.
        unsafe { (self.is_running)() }
    }

    /// Whether QEMU itself wants something of a CPU.
    pub fn is_wanted(&self, cpu: CpuState) -> bool {
        // SAFETY: the CPU is one of QEMU's.
        unsafe { !(self.can_run)(cpu) || !(self.has_no_work)(cpu) }
    }

    /// Whether a CPU halts, with nothing that wakes it.
    pub fn is_idle(&self, cpu: CpuState) -> bool {
        // SAFETY: the CPU is one of QEMU's.
        unsafe { (self.is_idle)(cpu) }
    }

    /// Virtual time: of the CPU that executes, or, between turns, what is published.
    pub fn now_ns(&self) -> i64 {
        // SAFETY: the thread of the CPUs may read it at any time that a device may.
        unsafe { (self.now_ns)() }
    }

    /// Publishes another virtual time, and returns it: the first one from then on that whole
    /// instructions lead to.
    pub fn publish(&self, time_ns: i64) -> i64 {
        let now_ns = self.now_ns();
        let counts = self.counts(time_ns - now_ns);
        if counts != 0 {
            self.count(self.budget, counts);
        }
        now_ns + counts * self.count_ns
    }

    /// The number of instructions that take at least this time.
    fn counts(&self, ns: i64) -> i64 {
        ns.div_euclid(self.count_ns) + i64::from(ns.rem_euclid(self.count_ns) != 0)
    }

    /// How far the next virtual timer is from the published time; `None` where there is none.
    pub fn deadline_ns(&self) -> Option<i64> {
        // SAFETY: the call only reads.
        let deadline_ns = unsafe { (self.deadline_ns)(CLOCK_VIRTUAL, TIMERS_ALL) };
        (deadline_ns >= 0).then_some(deadline_ns)
    }

    /// Serves the virtual timers that are due at the published time.
    pub fn run_timers(&self) {
        // SAFETY: this is the thread of the CPUs, with the lock.
        unsafe { (self.run_timers)(CLOCK_VIRTUAL) };
    }

    /// The time of one count.
    pub fn count_ns(&self) -> i64 {
        self.count_ns
    }

    /// Empties the cache of translated code if less than a quarter of it is free.
    ///
    /// QEMU does so by itself where the cache is full, but in the midst of a translation. It then forgets which block it was
    /// asked for (`cflags_next_tb`, accel/tcg/cpu-exec.c): one of a single instruction, before which no interrupt is taken,
    /// where an access to a device has left the block before it (`cpu_io_recompile`). Between turns nothing is lost.
    ///
    /// # Safety
    ///
    /// To be called on the thread of the CPUs, between turns.
    pub unsafe fn make_room(&self, cpu: CpuState) {
        let Some(Code { bytes, bytes_max, flush }) = &self.code else { return };
        // SAFETY: as the caller promises.
        unsafe {
            let bytes_max = bytes_max();
            if bytes() > bytes_max - bytes_max / 4 {
                flush(cpu);
            }
        }
    }

    /// Executes a CPU for this time at most, without the lock meanwhile; `begins` is called when the
    /// CPU is about to.
    ///
    /// # Safety
    ///
    /// To be called on the thread of the CPUs, with the lock, where `current_cpu` is the CPU.
    pub unsafe fn execute(&self, cpu: CpuState, ns: i64, begins: impl FnOnce()) {
        // SAFETY: as in QEMU's own loop (accel/tcg/tcg-accel-ops-rr.c).
        unsafe {
            (self.unlock)();
            (self.prepare)(cpu, self.counts(ns));
            begins();
            (self.execute)(cpu);
            (self.process)(cpu);
            (self.take)(c"turnstile".as_ptr(), 0);
        }
    }

    /// Has a CPU leave its turn, or not begin the next one.
    pub fn exit(&self, cpu: CpuState) {
        // SAFETY: the CPU is one of QEMU's.
        unsafe { (self.exit)(cpu) };
    }

    /// Does something with the lock, within the function that takes it: QEMU does not yet know that
    /// the thread has it.
    ///
    /// # Safety
    ///
    /// The mutex was locked by the function that [`Qemu::lock`] returns, on this thread,
    /// with these arguments.
    pub unsafe fn with_the_lock(
        &self,
        lock: Lock,
        (mutex, file, line): (*mut c_void, *const c_char, c_int),
        work: impl FnOnce(),
    ) {
        // SAFETY: as the caller promises.
        unsafe {
            (self.unlock_mutex)(mutex, file, line);
            (self.take)(c"turnstile".as_ptr(), 0);
            work();
            (self.unlock)();
            lock(mutex, file, line);
        }
    }
}

impl Code {
    /// Finds the functions.
    ///
    /// # Safety
    ///
    /// The symbols have these types.
    unsafe fn find() -> Result<Self, Lacks> {
        // SAFETY: as the caller promises.
        unsafe {
            Ok(Self {
                bytes: function(c"tcg_code_size")?,
                bytes_max: function(c"tcg_code_capacity")?,
                flush: function(c"tb_flush")?,
            })
        }
    }
}

/// QEMU's `current_cpu` of this thread.
///
/// # Errors
///
/// Its name, where it is missing.
pub fn current_cpu() -> Result<NonNull<CpuState>, Lacks> {
    symbol(c"current_cpu").map(NonNull::cast)
}

/// Something that this QEMU exports.
///
/// # Errors
///
/// Its name, where it is missing.
pub fn symbol(name: &'static CStr) -> Result<NonNull<c_void>, Lacks> {
    // SAFETY: the name is a C string.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }).ok_or(Lacks(name))
}

/// A function of QEMU.
///
/// # Safety
///
/// It has this type, which is that of a pointer to a function.
unsafe fn function<F: Copy>(name: &'static CStr) -> Result<F, Lacks> {
    const { assert!(mem::size_of::<F>() == mem::size_of::<*const c_void>()) };
    let found = symbol(name)?;
    // SAFETY: as the caller promises.
    Ok(unsafe { ptr::from_ref(&found).cast::<F>().read() })
}
