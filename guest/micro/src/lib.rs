//! Micro-benchmarks of a processor and a kernel: the program `micro`, which runs on hosts and in guests.
//!
//! - `micro time CPU` executes each benchmark many times on that CPU, counted among those that the process
//!   may use, and prints `name operations ns_min ns_quartile` as a line.
//! - `micro count` executes each once between two markers, see [`preemptlab_protocol::counts`], and prints
//!   `name operations`.
//! - With `module` as its last argument it has the benchmarks of the module `preemptlab_micro`
//!   (`kmod/micro`) executed instead, which do what no program may do, and prints the module's lines.
//! - `micro between CPU OTHER` measures what two CPUs do for each other, and prints `name operations ns_min
//!   ns_quartile ns_median`, or `name error ERRNO` where the kernel refuses.
//! - `micro gaps CPU` spins, and prints `span NS` and then for each gap `stolen NS`, `own NS` where this kernel
//!   took it, or `preempted NS` where another thread had the CPU.
//! - `micro loads CPU BUFFER...` measures loads of buffers such as `lines:1024`, and prints `huge BYTES_GRANTED
//!   BYTES_ASKED`, and for each `KIND COUNT LOADS` with the nanoseconds of so many loads: chained, independent, in
//!   sequence.
//! - `micro translations CPU` prints what the processor says of TLBs there: CPUID's words on x86-64, nothing on arm64.
//! - `micro arch` prints the architecture that it was built for.
//! - `micro cpus` prints the numbers of the CPUs that the process may use.
//! - `micro read PATH...` prints `PATH BYTES`, and then the bytes, of each of these small files that is there. With it a
//!   machine is described from another one.
//!
//! Prices are fitted on these benchmarks, so that no workload of preemptlab may be among them: what a
//! workload takes is what the prices have to predict.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod arch;
mod benchmark;
mod between;
mod calls;
mod gaps;
mod handled;
mod list;
mod loads;
mod marks;
mod memory;
mod meter;
mod module;
mod pairs;
mod partner;
mod place;
mod processes;
mod programs;
mod sockets;

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::panic::PanicInfo;

use linux_raw_sys::general::{__NR_setitimer, ITIMER_REAL, itimerval, timeval};
use preemptlab_sys::{
    arch::syscall,
    file::{self, say},
    kernel,
};
use rustix::{fd::RawFd, io::Errno};

use crate::loads::Buffer;
use crate::meter::{Meter, Purpose, Spread};
pub use crate::{benchmark::Benchmark, list::benchmarks};

const STDOUT: RawFd = 1;
const STDERR: RawFd = 2;

/// The status of a program that could not measure everything.
const FAILED: i32 = 2;

/// Longer than any command line of the program.
const ARGUMENTS_BYTES_MAX: usize = 65_536;

/// No file of the kernel that tells of a CPU is larger, but for the list of all of them, of which the begin will do.
const FILE_BYTES_MAX: usize = 16_384;

/// What is measured between two CPUs, or of one that spins, takes a few seconds at most.
const SECONDS_MAX: i64 = 60;

/// Does what the command line says.
pub fn run() -> ! {
    let lines = arguments().and_then(|wanted| match wanted {
        Wanted::Benchmarks(purpose, Place::Program) => all(purpose),
        Wanted::Benchmarks(purpose, Place::Kernel) => module::all(purpose),
        Wanted::Between(cpu, other) => bounded().and_then(|()| between::all(cpu, other)),
        Wanted::Gaps(cpu) => bounded().and_then(|()| gaps::all(cpu)),
        Wanted::Translations(cpu) => arch::translations(cpu),
        Wanted::Arch => Ok(format!("{}\n", arch::NAME)),
        Wanted::Cpus => place::allowed(),
        Wanted::Read(paths) => Ok(paths.iter().filter_map(|path| content(path)).collect()),
        Wanted::Loads(cpu, buffers) => bounded().and_then(|()| loads::all(cpu, &buffers)),
    });
    match lines {
        Ok(lines) => {
            say(STDOUT, &lines);
            kernel::exit(0)
        }
        Err(reason) => {
            say(STDERR, &format!("micro: {reason}\n"));
            kernel::exit(FAILED)
        }
    }
}

/// Says why the program cannot go on.
pub fn panicked(info: &PanicInfo<'_>) -> ! {
    say(STDERR, &format!("micro: {info}\n"));
    kernel::exit(FAILED)
}

/// Executes every benchmark.
fn all(purpose: Purpose) -> Result<String, String> {
    let mut lines = String::new();
    let mut meter = Meter::new(purpose);
    for benchmark in benchmarks() {
        let Benchmark { name, operations, run } = benchmark;
        let failed = |errno: Errno| format!("{name}: error {}", errno.raw_os_error());
        run(&mut meter, *operations).map_err(failed)?;
        lines += &match meter.take() {
            Some(Spread { min_ns, quartile_ns, .. }) => {
                format!("{name} {operations} {min_ns} {quartile_ns}\n")
            }
            None => format!("{name} {operations}\n"),
        };
    }
    Ok(lines)
}

/// Where benchmarks are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In this program.
    Program,
    /// In the kernel, by a module.
    Kernel,
}

/// What the command line asks for.
enum Wanted {
    /// The benchmarks of one CPU.
    Benchmarks(Purpose, Place),
    /// Those between two CPUs.
    Between(usize, usize),
    /// The gaps in the time of a CPU.
    Gaps(usize),
    /// Loads of buffers.
    Loads(usize, Vec<Buffer>),
    /// What the processor says of its TLBs.
    Translations(usize),
    /// The architecture.
    Arch,
    /// The CPUs of the process.
    Cpus,
    /// Files.
    Read(Vec<String>),
}

/// Reads the command line, which `_start` does not hand on.
fn arguments() -> Result<Wanted, String> {
    let usage = || {
        "usage: micro time CPU [module] | micro count [module] | micro between CPU OTHER | \
         micro gaps CPU | micro loads CPU BUFFER... | micro translations CPU | micro arch | micro cpus | \
         micro read PATH..."
            .to_string()
    };
    let bytes = file::read("/proc/self/cmdline", ARGUMENTS_BYTES_MAX).map_err(|_| usage())?;
    let text = core::str::from_utf8(&bytes).map_err(|_| usage())?;
    let mut arguments = text.split_terminator('\0').skip(1);
    let number = |word: Option<&str>| word.and_then(|word| word.parse().ok()).ok_or_else(usage);
    let purpose = match arguments.next() {
        Some("time") => {
            stay_on(number(arguments.next())?)?;
            Purpose::Time
        }
        Some("count") => Purpose::Count,
        Some("between") => {
            return Ok(Wanted::Between(number(arguments.next())?, number(arguments.next())?));
        }
        Some("gaps") => return Ok(Wanted::Gaps(number(arguments.next())?)),
        Some("translations") => return Ok(Wanted::Translations(number(arguments.next())?)),
        Some("arch") => return Ok(Wanted::Arch),
        Some("cpus") => return Ok(Wanted::Cpus),
        Some("read") => return Ok(Wanted::Read(arguments.map(String::from).collect())),
        Some("loads") => {
            let cpu = number(arguments.next())?;
            let buffers = arguments.map(|word| Buffer::parse(word).ok_or_else(usage));
            return Ok(Wanted::Loads(cpu, buffers.collect::<Result<_, _>>()?));
        }
        _ => return Err(usage()),
    };
    let place = match (arguments.next(), arguments.next()) {
        (None, None) => Place::Program,
        (Some("module"), None) => Place::Kernel,
        _ => return Err(usage()),
    };
    if (purpose, place) == (Purpose::Count, Place::Kernel) {
        // The module measures nothing for a program that may be moved to another CPU.
        stay_on(0)?;
    }
    Ok(Wanted::Benchmarks(purpose, place))
}

/// Returns the begin of a file with its path and its length before it; `None` for one that cannot be read.
fn content(path: &str) -> Option<String> {
    let mut bytes = file::read_from_start(file::open(path).ok()?, FILE_BYTES_MAX).ok()?;
    bytes.truncate(FILE_BYTES_MAX);
    let text = String::from_utf8_lossy(&bytes);
    Some(format!("{path} {}\n{text}", text.len()))
}

/// Has a signal end the process if it is still there after [`SECONDS_MAX`]: one of two threads that wait for each
/// other may have failed.
fn bounded() -> Result<(), String> {
    let (never, last) =
        (timeval { tv_sec: 0, tv_usec: 0 }, timeval { tv_sec: SECONDS_MAX, tv_usec: 0 });
    let once = itimerval { it_interval: never, it_value: last };
    let arguments = [ITIMER_REAL as usize, (&raw const once).addr(), 0, 0];
    // SAFETY: the kernel reads the time.
    let set = unsafe { syscall(__NR_setitimer, arguments) };
    set.map(drop).map_err(|errno| format!("no timer can be set: error {}", errno.raw_os_error()))
}

/// Keeps the process on a CPU.
fn stay_on(cpu: usize) -> Result<(), String> {
    let failed = |errno: Errno| format!("the CPU cannot be chosen: error {}", errno.raw_os_error());
    place::stay_on(cpu).map_err(failed)
}
