//! A TCG plugin for QEMU that records what a guest's kernel does, in exact virtual time, without a
//! trace of it in the guest.
//!
//! `-plugin FILE,program=PATH,out=PATH`: the program is a [`TraceProgram`] as JSON; the stream is
//! described in [`preemptlab_protocol::trace::stream`].

mod arch;
mod clock;
mod complaint;
mod inject;
mod output;
mod qemu;
mod tracer;

use std::{
    cell::UnsafeCell,
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    fs::{File, OpenOptions},
};

use preemptlab_protocol::{
    FORMAT,
    trace::{Register, TraceProgram, stream::CLOCK_PER_CPU},
};

use crate::{
    clock::Clock,
    complaint::{complain, fail},
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
    Asked(Option<Asked>),
    Tracing(Box<Tracer>),
}

/// What QEMU was asked to record, and where.
struct Asked {
    program: TraceProgram,
    file: File,
    has_several_cpus: bool,
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
    if target.to_bytes() != b"x86_64" {
        complain("only x86_64 guests can be traced");
        return 1;
    }
    let value = |key: &str| {
        let found = arguments.iter().find_map(|argument| argument.strip_prefix(key));
        found.ok_or_else(|| format!("`{key}` is missing"))
    };
    match value("program=").and_then(|program| open(program, value("out=")?)) {
        Ok((program, file)) => {
            let asked = Asked { program, file, has_several_cpus };
            // SAFETY: nothing else runs yet.
            unsafe { *SHARED.0.get() = State::Asked(Some(asked)) };
            qemu::register(id, cpu_started, translated, ends);
            0
        }
        Err(reason) => {
            complain(&reason);
            1
        }
    }
}

fn open(program: &str, out: &str) -> Result<(TraceProgram, File), String> {
    let text = std::fs::read(program).map_err(|error| format!("no trace program: {error}"))?;
    let program: TraceProgram = serde_json::from_slice(&text)
        .map_err(|error| format!("the trace program cannot be read: {error}"))?;
    if program.format != FORMAT {
        return Err(format!("the trace program has format {}, not {FORMAT}", program.format));
    }
    let out = OpenOptions::new().write(true).open(out);
    Ok((program, out.map_err(|error| format!("the trace cannot be opened: {error}"))?))
}

extern "C" fn cpu_started(_: PluginId, _: c_uint) {
    // SAFETY: the thread of the CPUs, before any of them runs.
    let state = unsafe { &mut *SHARED.0.get() };
    let State::Asked(asked) = state else { return };
    let Some(Asked { program, file, has_several_cpus }) = asked.take() else { return };
    let registers = Register::ALL.map(Register::name);
    match (Clock::find(), Guest::new(&registers)) {
        (Ok(clock), Some(guest)) => {
            let format = if has_several_cpus { FORMAT | CLOCK_PER_CPU } else { FORMAT };
            let output = Output::new(file, format);
            match Tracer::new(program, clock, guest, output) {
                Ok(tracer) => *state = State::Tracing(Box::new(tracer)),
                Err(reason) => fail(&reason),
            }
        }
        (Err(reason), _) => fail(&reason),
        (_, None) => fail("this QEMU does not name the guest's registers"),
    }
}

extern "C" fn translated(_: PluginId, block: *mut Block) {
    // SAFETY: the thread of the CPUs; the block is valid during the callback.
    if let State::Tracing(tracer) = unsafe { &mut *SHARED.0.get() } {
        tracer.translate(&unsafe { Translation::new(block) }, executed);
    }
}

extern "C" fn executed(_: c_uint, data: *mut c_void) {
    // SAFETY: the thread of the CPUs; the data is what was asked for at translation.
    if let State::Tracing(tracer) = unsafe { &mut *SHARED.0.get() } {
        unsafe { tracer.record(data.addr() as u64) };
    }
}

extern "C" fn ends(_: PluginId, _: *mut c_void) {
    // SAFETY: the CPUs have stopped.
    if let State::Tracing(tracer) = unsafe { &mut *SHARED.0.get() } {
        tracer.finish();
    }
}
