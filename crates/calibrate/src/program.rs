//! Executes the benchmarks on the machine.
//!
//! On this machine the program is a child in the session of its caller: where the kernel groups processes by session
//! (`sched_autogroup`), it has the share of the user's command, and no session of its own that would compete
//! with all others.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsRawFd, OwnedFd},
    process::{Command, Stdio},
    str::FromStr,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use preemptlab_model::Arch;
use rustix::{
    fs::{MemfdFlags, memfd_create},
    thread::CpuSet,
};

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

/// The most that the program prints: of 4096 gaps, or of files that tell of a machine.
const OUTPUT_BYTES_MAX: u64 = 4 << 20;

/// The program of benchmarks, and how a machine executes it.
#[derive(Debug)]
pub enum Program {
    /// From this machine's memory.
    Here(File),
    /// By a command, which executes it elsewhere with the words that follow.
    By(Reach),
}

/// Reads what a program prints; one that has more to say than is read ends by its pipe.
fn bounded(from: Option<OwnedFd>) -> String {
    let mut bytes = Vec::new();
    // What came before an error is what it said.
    let _ = from.map(|from| File::from(from).take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A command that executes the program on another machine, such as `ssh pi ./micro`. Its words are separated by blanks,
/// and no shell reads them here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    program: String,
    arguments: Vec<String>,
}

impl FromStr for Reach {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.chars().any(|c| c.is_control()) {
            return Err("a command has no control characters".to_owned());
        }
        let mut words = text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned);
        let program = words.next().ok_or("a command has a word at least, such as `ssh`")?;
        Ok(Self { program, arguments: words.collect() })
    }
}

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
        Ok(Self::Here(file))
    }

    /// Executes it once, and returns its output.
    fn execute(
        &self,
        arguments: &[&str],
        is_cancelled: &AtomicBool,
    ) -> Result<String, CalibrateError> {
        let mut command = match self {
            Self::Here(file) => {
                let mut command = Command::new(format!("/proc/self/fd/{}", file.as_raw_fd()));
                command.env_clear();
                command
            }
            Self::By(Reach { program, arguments }) => {
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
        };
        let pipes = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = pipes.stderr(Stdio::piped()).spawn().map_err(CalibrateError::Program)?;
        let [stdout, stderr] =
            [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
        let (said, errors) = thread::scope(|scope| {
            let errors = scope.spawn(|| bounded(stderr));
            (bounded(stdout), errors.join().unwrap_or_default())
        });
        let status = child.wait().map_err(CalibrateError::Program)?;
        if is_cancelled.load(Ordering::Relaxed) {
            return Err(CalibrateError::Interrupted);
        }
        match status.success() {
            true => Ok(said),
            false => Err(CalibrateError::Failed(format!("{errors}{status}"))),
        }
    }

    /// Returns the architecture that it was built for.
    ///
    /// # Errors
    ///
    /// When the program cannot be executed, or is another one.
    pub fn arch(&self, is_cancelled: &AtomicBool) -> Result<Arch, CalibrateError> {
        let said = self.execute(&["arch"], is_cancelled)?;
        let arch = Arch::ALL.into_iter().find(|arch| arch.platform().debian == said.trim());
        arch.ok_or_else(|| CalibrateError::Line(said.chars().take(80).collect()))
    }

    /// Returns the CPUs that it may use, of which there is at least one.
    ///
    /// # Errors
    ///
    /// When the program cannot be executed, or the user cancels.
    pub fn cpus(&self, is_cancelled: &AtomicBool) -> Result<Vec<usize>, CalibrateError> {
        let said = self.execute(&["cpus"], is_cancelled)?;
        let unreadable = |line: &str| CalibrateError::Line(line.chars().take(80).collect());
        let cpu = |line: &str| line.parse().ok().filter(|cpu| *cpu < CpuSet::MAX_CPU);
        let cpus = said.lines().map(|line| cpu(line).ok_or_else(|| unreadable(line)));
        let cpus = cpus.collect::<Result<Vec<_>, _>>()?;
        if cpus.is_empty() { Err(unreadable("")) } else { Ok(cpus) }
    }

    /// Returns those of these files that the machine has, with their texts.
    ///
    /// # Errors
    ///
    /// When the program cannot be executed, or prints files that nobody asked for.
    pub(crate) fn read(
        &self,
        paths: &[String],
        is_cancelled: &AtomicBool,
    ) -> Result<Vec<(String, String)>, CalibrateError> {
        let arguments: Vec<&str> =
            std::iter::once("read").chain(paths.iter().map(String::as_str)).collect();
        let said = self.execute(&arguments, is_cancelled)?;
        let mut rest = said.as_str();
        let mut files = Vec::new();
        while !rest.is_empty() {
            let unreadable = || CalibrateError::Line(rest.chars().take(80).collect());
            let (head, text) = rest.split_once('\n').ok_or_else(unreadable)?;
            let (path, bytes) = head.split_once(' ').ok_or_else(unreadable)?;
            let bytes: usize = bytes.parse().map_err(|_| unreadable())?;
            let text = text.get(..bytes).ok_or_else(unreadable)?;
            if !paths.iter().any(|asked| asked == path) {
                return Err(unreadable());
            }
            files.push((path.to_owned(), text.to_owned()));
            rest = &rest[head.len() + 1 + bytes..];
        }
        Ok(files)
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
        let cpus = self.cpus(is_cancelled)?.len();
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
    pub(crate) fn translations(
        &self,
        cpu: usize,
        is_cancelled: &AtomicBool,
    ) -> Result<String, CalibrateError> {
        self.execute(&["translations", &cpu.to_string()], is_cancelled)
    }
}
