//! Executes a command again and again until somebody kills it: the program `repeat`.
//!
//! `repeat PROGRAM [ARGUMENT]...` prints a line at its start and after each run, see [`Runs::line`]. A run that
//! does not end with status 0 ends the program, which then repeats what the run wrote to its standard error.
//! The standard output of the runs is thrown away: a report would hold it once for each run.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod process;
mod runs;

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::panic::PanicInfo;

use preemptlab_sys::{
    clock,
    file::{self, say},
    kernel,
};
use rustix::fd::RawFd;

use crate::{
    process::{Program, Sinks},
    runs::Runs,
};

const STDOUT: RawFd = 1;
const STDERR: RawFd = 2;

/// The status of a program that cannot go on.
const FAILED: i32 = 1;

/// Longer than all arguments or variables of a command in a cell, which its job bounds.
const ARGUMENTS_BYTES_MAX: usize = 1 << 20;

/// Repeats the command of the command line.
pub fn run() -> ! {
    let reason = match repeat() {
        Ok(never) => match never {},
        Err(reason) => reason,
    };
    complain(&reason);
    kernel::exit(FAILED)
}

/// Says why the program cannot go on.
pub fn panicked(info: &PanicInfo<'_>) -> ! {
    complain(&format!("{info}"));
    kernel::exit(FAILED)
}

/// Repeats the command until a run fails, and returns why.
fn repeat() -> Result<core::convert::Infallible, String> {
    let program =
        Program::new(strings("/proc/self/cmdline", 1)?, strings("/proc/self/environ", 0)?)
            .ok_or_else(|| "usage: repeat PROGRAM [ARGUMENT]...".to_string())?;
    let sinks = Sinks::new()?;
    let mut runs = Runs::new(clock::now_ns());
    say(STDOUT, &runs.line());
    loop {
        let begin_ns = clock::now_ns();
        program.execute(&sinks)?.map_err(|end| sinks.failure(&end))?;
        runs.add(begin_ns, clock::now_ns());
        say(STDOUT, &runs.line());
    }
}

/// Reads a file of strings that each end with a NUL, without the first ones.
fn strings(path: &str, skipped: usize) -> Result<Vec<Vec<u8>>, String> {
    let bytes = file::read(path, ARGUMENTS_BYTES_MAX)
        .map_err(|errno| format!("cannot read {path}: error {}", errno.raw_os_error()))?;
    let mut strings: Vec<Vec<u8>> = bytes.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect();
    // Nothing follows the last NUL.
    strings.pop();
    Ok(strings.into_iter().skip(skipped).collect())
}

fn complain(reason: &str) {
    say(STDERR, &format!("{}\n", reason.trim_end()));
}
