//! Micro-benchmarks of a processor and a kernel: the program `micro`, which runs on hosts and in guests.
//!
//! - `micro time CPU` executes each benchmark many times on that CPU, counted among those that the process
//!   may use, and prints `name operations ns_min ns_quartile` as a line.
//! - `micro count` executes each once between two markers, see [`preemptlab_protocol::counts`], and prints
//!   `name operations`.
//! - With `module` as its last argument it has the benchmarks of the module `preemptlab_micro`
//!   (`kmod/micro`) executed instead, which do what no program may do, and prints the module's lines.
//!
//! Prices are fitted on these benchmarks, so that no workload of preemptlab may be among them: what a
//! workload takes is what the prices have to predict.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod calls;
mod compute;
mod list;
mod memory;
mod meter;
mod module;
mod pairs;
mod place;
mod processes;
mod programs;
mod sockets;

use alloc::{
    format,
    string::{String, ToString},
};
use core::panic::PanicInfo;

use preemptlab_sys::{
    file::{self, say},
    kernel,
};
use rustix::{fd::RawFd, io::Errno};

pub use crate::list::{BENCHMARKS, Benchmark};
use crate::meter::{Meter, Purpose, Spread};

const STDOUT: RawFd = 1;
const STDERR: RawFd = 2;

/// The status of a program that could not measure everything.
const FAILED: i32 = 2;

/// Longer than any command line of the program.
const ARGUMENTS_BYTES_MAX: usize = 4096;

/// Does what the command line says.
pub fn run() -> ! {
    let lines = arguments().and_then(|(purpose, place)| match place {
        Place::Program => all(purpose),
        Place::Kernel => module::all(purpose),
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
    for benchmark in BENCHMARKS {
        let Benchmark { name, operations, run } = benchmark;
        let failed = |errno: Errno| format!("{name}: error {}", errno.raw_os_error());
        run(&mut meter, *operations).map_err(failed)?;
        lines += &match meter.take() {
            Some(Spread { min_ns, quartile_ns }) => {
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

/// Reads the command line, which `_start` does not hand on.
fn arguments() -> Result<(Purpose, Place), String> {
    let usage = || "usage: micro time CPU [module] | micro count [module]".to_string();
    let bytes = file::read("/proc/self/cmdline", ARGUMENTS_BYTES_MAX).map_err(|_| usage())?;
    let text = core::str::from_utf8(&bytes).map_err(|_| usage())?;
    let mut arguments = text.split_terminator('\0').skip(1);
    let purpose = match arguments.next() {
        Some("time") => {
            let cpu = arguments.next().and_then(|cpu| cpu.parse().ok()).ok_or_else(usage)?;
            stay_on(cpu)?;
            Purpose::Time
        }
        Some("count") => Purpose::Count,
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
    Ok((purpose, place))
}

/// Keeps the process on a CPU.
fn stay_on(cpu: usize) -> Result<(), String> {
    let failed = |errno: Errno| format!("the CPU cannot be chosen: error {}", errno.raw_os_error());
    place::stay_on(cpu).map_err(failed)
}
