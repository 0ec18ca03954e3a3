//! Executes the benchmarks on the machine.
//!
//! The program is a child in the session of its caller: where the kernel groups processes by session
//! (`sched_autogroup`), it has the share of the user's command, and no session of its own that would compete
//! with all others.

use std::{
    fs::File,
    io::{self, Write},
    os::fd::AsRawFd,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::{
    CalibrateError, Gaps, Pair, PairPass, PairTimes, Pass, Stolen, Times,
    caches::{Buffer, LoadTimes},
};

/// Passes of a steady machine.
const PASSES_MIN: usize = 8;

/// Passes after which a machine is not steady. A pass takes about a second.
const PASSES_MAX: usize = 60;

/// Passes after which what takes two CPUs is not steady.
const PAIR_PASSES_MAX: usize = 24;

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
    fn of(done: usize, range: (usize, usize), differing: usize) -> Self {
        let (least, most) = range;
        let further = usize::from(differing > 0);
        Self { done, expected: (done + further).clamp(least, most), most, differing }
    }
}

/// The program of benchmarks, as this machine executes it.
pub struct Program(File);

impl Program {
    /// Opens the program, which then needs no file system.
    ///
    /// # Errors
    ///
    /// [`CalibrateError::Program`]
    pub fn open(program: &[u8]) -> Result<Self, CalibrateError> {
        let file = memfd_create("micro", MemfdFlags::CLOEXEC).map_err(io::Error::from);
        let mut file: File = file.map_err(CalibrateError::Program)?.into();
        file.write_all(program).map_err(CalibrateError::Program)?;
        Ok(Self(file))
    }

    /// Executes it once, and returns its output.
    fn execute(
        &self,
        arguments: &[&str],
        is_cancelled: &AtomicBool,
    ) -> Result<String, CalibrateError> {
        let mut command = Command::new(format!("/proc/self/fd/{}", self.0.as_raw_fd()));
        command.args(arguments).env_clear().stdin(Stdio::null());
        let output = command.output().map_err(CalibrateError::Program)?;
        if is_cancelled.load(Ordering::Relaxed) {
            return Err(CalibrateError::Interrupted);
        }
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(CalibrateError::Failed(format!("{}{}", said, output.status)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Executes the benchmarks of one CPU again and again, on one CPU after the other, until their times come
    /// again, or have not for too long. Tells after each pass how many are done, and how many may follow.
    ///
    /// # Errors
    ///
    /// When the program cannot be executed, or the user cancels.
    pub fn measure(
        &self,
        place: Place,
        is_cancelled: &AtomicBool,
        on_pass: impl Fn(Passes),
    ) -> Result<Times, CalibrateError> {
        let cpus = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut times = Times::default();
        while times.passes() < PASSES_MIN
            || (times.passes() < PASSES_MAX && !times.differing().is_empty())
        {
            // Both halves have been on each CPU.
            let cpu = (times.passes() / 2 % cpus).to_string();
            let mut arguments = vec!["time", &cpu];
            if place == Place::Kernel {
                arguments.push("module");
            }
            times.add(Pass::parse(&self.execute(&arguments, is_cancelled)?)?);
            on_pass(Passes::of(times.passes(), (PASSES_MIN, PASSES_MAX), times.differing().len()));
        }
        Ok(times)
    }

    /// Executes the benchmarks between two CPUs again and again, until their times come again, or have not for too
    /// long, and in each pass observes the gaps in the time of one of them. Each half of the passes begins on
    /// each of both.
    ///
    /// # Errors
    ///
    /// When the program cannot be executed, or the user cancels.
    pub fn measure_two(
        &self,
        pair: Pair,
        is_cancelled: &AtomicBool,
        on_pass: impl Fn(Passes),
    ) -> Result<(PairTimes, Stolen), CalibrateError> {
        let (mut times, mut spans) = (PairTimes::default(), Vec::new());
        while times.passes() < PASSES_MIN
            || (times.passes() < PAIR_PASSES_MAX && times.differing() > 0)
        {
            let mut cpus = [pair.cpu, pair.other].map(|cpu| cpu.to_string());
            if times.passes() / 2 % 2 == 1 {
                cpus.reverse();
            }
            let [cpu, other] = &cpus;
            let between = self.execute(&["between", cpu, other], is_cancelled)?;
            times.add(PairPass::parse(&between)?);
            spans.push(Gaps::parse(&self.execute(&["gaps", cpu], is_cancelled)?)?);
            on_pass(Passes::of(times.passes(), (PASSES_MIN, PAIR_PASSES_MAX), times.differing()));
        }
        Ok((times, Stolen::of(&spans)))
    }

    /// Observes the gaps in the time of one CPU.
    ///
    /// # Errors
    ///
    /// When the program cannot be executed, or the user cancels.
    pub fn measure_gaps(
        &self,
        cpu: usize,
        is_cancelled: &AtomicBool,
        on_pass: impl Fn(Passes),
    ) -> Result<Stolen, CalibrateError> {
        let mut spans = Vec::new();
        while spans.len() < PASSES_MIN {
            spans.push(Gaps::parse(&self.execute(&["gaps", &cpu.to_string()], is_cancelled)?)?);
            on_pass(Passes::of(spans.len(), (PASSES_MIN, PASSES_MIN), 0));
        }
        Ok(Stolen::of(&spans))
    }

    /// Measures loads of buffers on a CPU again and again, until their times come again, or have not for too
    /// many passes.
    ///
    /// # Errors
    ///
    /// When the program cannot be executed, or the user cancels.
    pub(crate) fn measure_loads(
        &self,
        cpu: usize,
        buffers: Vec<Buffer>,
        passes: (usize, usize),
        is_cancelled: &AtomicBool,
        on_pass: &dyn Fn(Passes),
    ) -> Result<LoadTimes, CalibrateError> {
        let (least, most) = passes;
        let mut arguments = vec!["loads".to_owned(), cpu.to_string()];
        arguments.extend(buffers.iter().map(Buffer::to_string));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut times = LoadTimes::new(buffers);
        while times.passes() < least || (times.passes() < most && !times.differing().is_empty()) {
            times.add(&self.execute(&arguments, is_cancelled)?)?;
            on_pass(Passes::of(times.passes(), passes, times.differing().len()));
        }
        Ok(times)
    }

    /// Returns what the processor says of a CPU's TLBs, in the program's words.
    pub(crate) fn cpuid(
        &self,
        cpu: usize,
        is_cancelled: &AtomicBool,
    ) -> Result<String, CalibrateError> {
        self.execute(&["cpuid", &cpu.to_string()], is_cancelled)
    }
}
