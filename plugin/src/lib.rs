//! A TCG plugin for QEMU that has time pass by what instructions cost, and records what a guest's kernel
//! does, in exact virtual time, without a trace of either in the guest.
//!
//! `-plugin FILE[,prices=PATH[,caches=PATH[,groups=PATH]]][,program=PATH,out=PATH][,counts=PATH]`: the prices are [`Prices`] as JSON,
//! the caches [`Sizes`], the groups [`Groups`], the program is a [`TraceProgram`] as JSON; the stream is described in
//! [`preemptlab_protocol::trace::stream`]. Instructions are counted into a file of
//! [`preemptlab_protocol::counts`].

mod arch;
mod caches;
mod classifier;
mod clock;
mod complaint;
mod count;
mod inject;
mod memory;
mod meter;
mod output;
mod qemu;
mod tracer;
mod turns;

use std::{
    cell::UnsafeCell,
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    fs::{File, OpenOptions},
};

use preemptlab_protocol::{
    FORMAT,
    caches::{Caches as Sizes, Groups},
    prices::{Price, Prices},
    trace::{Register, TraceProgram, stream::CLOCK_PER_CPU},
};
use serde::de::DeserializeOwned;

use crate::{
    arch::Processor,
    caches::Caches,
    classifier::Classifier,
    clock::Clock,
    complaint::{complain, fail},
    count::Counter,
    memory::{Calls, Memory, is_recent},
    meter::Meter,
    output::Output,
    qemu::{Block, Guest, Info, PluginId, Translation},
    tracer::Tracer,
};

/// The version of the plugin interface, which QEMU looks up.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "QEMU looks it up by this name")]
pub static qemu_plugin_version: c_int = qemu::VERSION;

/// What the callbacks share.
struct Shared(UnsafeCell<State>);

enum State {
    /// Before the first CPU started.
    Asked(Option<Box<(Asked, Machine)>>),
    Running(Box<Running>),
}

/// What QEMU was asked for.
#[derive(Default)]
struct Asked {
    prices: Option<Prices>,
    caches: Option<Sizes>,
    /// Which CPUs are near to each other, where there are several with caches.
    groups: Option<Groups>,
    /// What to record, and where.
    trace: Option<(TraceProgram, File)>,
    /// Where to count instructions.
    counts: Option<File>,
}

/// The guest's machine.
#[derive(Clone, Copy)]
struct Machine {
    processor: &'static dyn Processor,
    has_several_cpus: bool,
}

/// What the plugin does while the CPUs run.
struct Running {
    clock: Clock,
    meter: Option<Meter>,
    memory: Option<Memory>,
    tracer: Option<Tracer>,
    counter: Option<Counter>,
}

// SAFETY: QEMU calls from its main thread before the CPUs start and after they have stopped, and
// from the one thread that runs all CPUs between.
unsafe impl Sync for Shared {}

static SHARED: Shared = Shared(UnsafeCell::new(State::Asked(None)));

/// Called by QEMU when it loads the plugin.
///
/// # Safety
///
/// QEMU passes valid pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: PluginId,
    info: *const Info,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: QEMU passes its description and `argc` strings.
    let (target, has_several_cpus, arguments) = unsafe {
        let count = usize::try_from(argc).unwrap_or(0);
        let arguments = (0..count).map(|index| CStr::from_ptr(*argv.add(index)).to_string_lossy());
        let target = CStr::from_ptr((*info).target_name);
        (target, (*info).cpus > 1, arguments.collect::<Vec<_>>())
    };
    let Some(processor) = arch::of(target.to_bytes()) else {
        complain("only guests of x86_64 and aarch64 have traces and prices");
        return 1;
    };
    match ask(&arguments) {
        Ok(asked) => {
            let machine = Machine { processor, has_several_cpus };
            // SAFETY: nothing else runs yet.
            unsafe { *SHARED.0.get() = State::Asked(Some(Box::new((asked, machine)))) };
            qemu::register(id, cpu_started, translated, ends);
            0
        }
        Err(reason) => {
            complain(&reason);
            1
        }
    }
}

/// Reads the plugin's arguments and the files that they name.
fn ask<T: AsRef<str>>(arguments: &[T]) -> Result<Asked, String> {
    let value = |key: &str| {
        arguments.iter().find_map(|argument| argument.as_ref().strip_prefix(key)?.strip_prefix('='))
    };
    let mut asked = Asked::default();
    if let Some(prices) = value("prices") {
        asked.prices = Some(read("prices", prices)?);
        turns::watch(turn_begins, turn_ends, turn_loses)?;
    }
    if let Some(caches) = value("caches") {
        if asked.prices.is_none() {
            return Err("caches need prices".into());
        }
        asked.caches = Some(read("caches", caches)?);
        asked.groups = value("groups").map(|groups| read("groups", groups)).transpose()?;
    }
    if let Some(program) = value("program") {
        let out = value("out").ok_or("`out=` is missing")?;
        let program: TraceProgram = read("trace program", program)?;
        if program.format != FORMAT {
            return Err(format!("the trace program has format {}, not {FORMAT}", program.format));
        }
        let out = OpenOptions::new().write(true).open(out);
        asked.trace =
            Some((program, out.map_err(|error| format!("the trace cannot be opened: {error}"))?));
    }
    if let Some(counts) = value("counts") {
        let counts = OpenOptions::new().append(true).open(counts);
        let failed = |error| format!("the file of counts cannot be opened: {error}");
        asked.counts = Some(counts.map_err(failed)?);
    }
    Ok(asked)
}

fn read<T: DeserializeOwned>(what: &str, path: &str) -> Result<T, String> {
    let text = std::fs::read(path).map_err(|error| format!("no {what}: {error}"))?;
    serde_json::from_slice(&text).map_err(|error| format!("the {what} cannot be read: {error}"))
}

extern "C" fn cpu_started(_: PluginId, _: c_uint) {
    // SAFETY: the thread of the CPUs, before any of them runs.
    let state = unsafe { &mut *SHARED.0.get() };
    let State::Asked(asked) = state else { return };
    let Some(asked) = asked.take() else { return };
    let (asked, machine) = *asked;
    match start(asked, machine) {
        Ok(running) => *state = State::Running(Box::new(running)),
        Err(reason) => fail(&reason),
    }
}

fn start(asked: Asked, machine: Machine) -> Result<Running, String> {
    let Machine { processor, has_several_cpus } = machine;
    let clock = Clock::find()?;
    let guest = |registers: &[Register]| {
        Guest::new(registers).ok_or("this QEMU does not name the guest's registers")
    };
    let tracer = asked.trace.map(|(program, file)| {
        let guest = guest(processor.registers())?;
        let format = if has_several_cpus { FORMAT | CLOCK_PER_CPU } else { FORMAT };
        Tracer::new(processor, program, guest, Output::new(file, format))
    });
    let classifier = || Ok::<_, String>(Classifier::new(processor, guest(processor.registers())?));
    let meter = asked.prices.map(|prices| Ok::<_, String>(Meter::new(prices, classifier()?)));
    let memory = asked.caches.map(|sizes| {
        let caches = Caches::new(sizes, asked.groups, processor.spaces());
        Memory::new(processor, caches, guest(processor.registers())?)
    });
    let counter = asked.counts.map(|out| Ok::<_, String>(Counter::new(classifier()?, out)));
    let (tracer, counter) = (tracer.transpose()?, counter.transpose()?);
    let (meter, memory) = (meter.transpose()?, memory.transpose()?);
    Ok(Running { clock, meter, memory, tracer, counter })
}

/// What runs, on the thread of the CPUs.
fn running() -> Option<&'static mut Running> {
    // SAFETY: every caller is a function that QEMU or the turnstile calls on the thread of the CPUs, and
    // none calls another.
    match unsafe { &mut *SHARED.0.get() } {
        State::Running(running) => Some(running),
        State::Asked(_) => None,
    }
}

extern "C" fn translated(_: PluginId, block: *mut Block) {
    let Some(Running { clock, meter, memory, tracer, counter }) = running() else { return };
    // SAFETY: the block is valid during the callback.
    let block = unsafe { Translation::new(block) };
    let left = match meter {
        Some(meter) => meter.translate(&block, clock, settle),
        None => {
            (1..=block.len() as u64).rev().map(|left| left * u64::from(Price::ONE.get())).collect()
        }
    };
    if let Some(memory) = memory {
        let calls = Calls { read: has_read, written: has_written, fetches, remaps };
        memory.translate(&block, &left, clock, calls);
    }
    if let Some(tracer) = tracer {
        tracer.translate(&block, &left, executed);
    }
    if let Some(counter) = counter {
        counter.translate(&block, clock, marked);
    }
}

extern "C" fn settle(_: c_uint, block_len: *mut c_void) {
    if let Some(Running { clock, meter: Some(meter), .. }) = running() {
        // SAFETY: the callback of a block of so many instructions, of which QEMU has at most 512.
        unsafe { meter.settle(clock, block_len.addr() as u16) };
    }
}

extern "C" fn has_read(_: c_uint, info: u32, address: u64, place: *mut c_void) {
    if !is_recent(address, false) {
        accessed(info, address, place, false);
    }
}

extern "C" fn has_written(_: c_uint, info: u32, address: u64, place: *mut c_void) {
    if !is_recent(address, true) {
        accessed(info, address, place, true);
    }
}

#[cold]
fn accessed(info: u32, address: u64, place: *mut c_void, is_write: bool) {
    let access = (info, address, place.addr() as u64, is_write);
    // SAFETY: every caller is the callback of an access.
    pays(|memory, clock, balance| unsafe { memory.accessed(access, clock, balance) });
}

extern "C" fn fetches(_: c_uint, line: *mut c_void) {
    pays(|memory, _, _| memory.fetches(line.addr() as u64));
}

/// Charges what memory says of the CPU with this clock and balance.
fn pays(says: impl FnOnce(&mut Memory, &Clock, i64) -> u32) {
    if let Some(Running { clock, meter: Some(meter), memory: Some(memory), .. }) = running() {
        let price = says(memory, clock, meter.balance());
        if price > 0 {
            // SAFETY: every caller is a callback.
            unsafe { meter.charge(clock, price) };
        }
    }
}

extern "C" fn remaps(_: c_uint, how: *mut c_void) {
    if let Some(Running { memory: Some(memory), .. }) = running() {
        memory.remaps(how.addr() as u64);
    }
}

extern "C" fn executed(_: c_uint, place: *mut c_void) {
    if let Some(Running { clock, meter, tracer: Some(tracer), .. }) = running() {
        let balance = meter.as_ref().map_or(0, Meter::balance);
        // SAFETY: the data is what was asked for at translation.
        unsafe { tracer.record(place.addr(), clock, balance) };
    }
}

extern "C" fn marked(_: c_uint, marker: *mut c_void) {
    if let Some(Running { counter: Some(counter), .. }) = running() {
        counter.mark(marker.addr() as u32);
    }
}

extern "C" fn turn_begins(cpu: c_uint) {
    if let Some(Running { meter: Some(meter), memory, .. }) = running() {
        meter.begin(cpu as usize);
        if let Some(memory) = memory {
            memory.begin(cpu as usize);
        }
    }
}

extern "C" fn turn_ends(is_over: bool) -> i64 {
    match running() {
        Some(Running { meter: Some(meter), .. }) => meter.end(is_over),
        _ => 0,
    }
}

extern "C" fn turn_loses(cpu: c_uint, from_ns: i64, until_ns: i64) {
    if let Some(Running { tracer: Some(tracer), .. }) = running() {
        tracer.lost(cpu, from_ns.cast_unsigned(), until_ns.cast_unsigned());
    }
}

extern "C" fn ends(_: PluginId, _: *mut c_void) {
    // The CPUs have stopped.
    if let Some(Running { tracer: Some(tracer), .. }) = running() {
        tracer.finish();
    }
}
