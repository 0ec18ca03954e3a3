//! Executes the benchmarks on the machine.
//!
//! The program is a child in the session of its caller: where the kernel groups processes by session
//! (`sched_autogroup`), it has the share of the user's command, and no session of its own that would compete
//! with all others.

use std::{
    io::{self, Write},
    os::fd::AsRawFd,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::{CalibrateError, Pass, Times};

/// Passes of a steady machine.
const PASSES_MIN: usize = 8;

/// Passes after which a machine is not steady. A pass takes about a second.
const PASSES_MAX: usize = 60;

/// Where benchmarks are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the program itself, which needs no privilege.
    Program,
    /// In the kernel, by the module that the program asks.
    Kernel,
}

/// Passes over all benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passes {
    /// Number of those that are done.
    pub done: usize,
    /// Number that there will be, if the times so far come again.
    pub expected: usize,
    /// Number that there will be at most.
    pub most: usize,
    /// Number of benchmarks whose times have not come again yet.
    pub differing: usize,
}

impl Passes {
    fn of(times: &Times) -> Self {
        let (done, differing) = (times.passes(), times.differing().len());
        let further = usize::from(differing > 0);
        Self {
            done,
            expected: (done + further).clamp(PASSES_MIN, PASSES_MAX),
            most: PASSES_MAX,
            differing,
        }
    }
}

/// Executes the program of benchmarks again and again, on one CPU after the other, until its times come
/// again, or have not for too long. Tells after each pass how many are done, and how many may follow.
///
/// # Errors
///
/// When the program cannot be executed, or the user cancels.
pub fn measure(
    program: &[u8],
    place: Place,
    is_cancelled: &AtomicBool,
    on_pass: impl Fn(Passes),
) -> Result<Times, CalibrateError> {
    let file = memfd_create("micro", MemfdFlags::CLOEXEC).map_err(io::Error::from);
    let mut file: std::fs::File = file.map_err(CalibrateError::Program)?.into();
    file.write_all(program).map_err(CalibrateError::Program)?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let cpus = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut times = Times::default();
    while times.passes() < PASSES_MIN
        || (times.passes() < PASSES_MAX && !times.differing().is_empty())
    {
        // Both halves have been on each CPU.
        let cpu = times.passes() / 2 % cpus;
        let mut command = Command::new(&path);
        command.args(["time", &cpu.to_string()]);
        if place == Place::Kernel {
            command.arg("module");
        }
        command.env_clear().stdin(Stdio::null());
        let output = command.output().map_err(CalibrateError::Program)?;
        if is_cancelled.load(Ordering::Relaxed) {
            return Err(CalibrateError::Interrupted);
        }
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(CalibrateError::Failed(format!("{}{}", said, output.status)));
        }
        times.add(Pass::parse(&String::from_utf8_lossy(&output.stdout))?);
        on_pass(Passes::of(&times));
    }
    Ok(times)
}
