//! A program that reads the files of strangers: bounded in time, CPU time and memory.

use std::{
    fs,
    io::{self, Read},
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit},
};

use crate::process::tied;

/// How often a program that says nothing is looked at.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// The longest time in which a program may sleep without a word and without any CPU time. A process
/// that waits for a disk does not sleep in this sense (`D` in proc_pid_stat(5)).
const SILENCE_MAX: Duration = Duration::from_secs(5);

/// The longest time of a program as a whole.
const TIME_MAX: Duration = Duration::from_secs(600);

/// The largest file that a program may write, in bytes.
const WRITTEN_BYTES_MAX: u64 = 64 << 20;

/// The most levels of programs that start programs.
const LEVELS_MAX: u32 = 4;

/// Bounds of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// CPU time, in seconds.
    pub(crate) cpu_s: u64,
    /// Memory of its own, without files that it maps, in MiB.
    pub(crate) memory_mib: u64,
}

/// Reason why a program was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It waited for something that does not come.
    Waits,
    /// It took too much time in all.
    Slow,
    /// It took too much CPU time, in seconds.
    Cpu(u64),
    /// It took too much memory, in MiB.
    Memory(u64),
    /// It said too much, in MiB.
    Output(u64),
}

/// A running program whose output is read.
pub(crate) struct Watched {
    child: Child,
    output: ChildStdout,
    bounds: Bounds,
    started: Instant,
    /// When it was last seen to do something, and the CPU time that it had then.
    alive: (Instant, u64),
    stopped: Option<StopReason>,
}

impl Watched {
    /// Starts a program. Its output is a pipe, whatever the command says.
    pub(crate) fn start(mut command: Command, bounds: Bounds) -> io::Result<Self> {
        command.stdout(Stdio::piped());
        tied(&mut command);
        // SAFETY: between fork and exec the closure makes system calls only, and does not allocate.
        unsafe {
            command.pre_exec(move || {
                let limits = [
                    (Resource::Cpu, bounds.cpu_s),
                    (Resource::Data, bounds.memory_mib << 20),
                    (Resource::Fsize, WRITTEN_BYTES_MAX),
                    (Resource::Core, 0),
                ];
                for (resource, most) in limits {
                    let most = lowest(most, rustix::process::getrlimit(resource).maximum);
                    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
                }
                Ok(())
            });
        }
        let mut child = command.spawn()?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let now = Instant::now();
        Ok(Self { child, output, bounds, started: now, alive: (now, 0), stopped: None })
    }

    /// Returns its standard input, once.
    pub(crate) fn input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Stops it for a reason.
    pub(crate) fn stop(&mut self, reason: StopReason) {
        self.stopped.get_or_insert(reason);
        self.end();
    }

    /// Waits for its end. Returns also the reason for which it was stopped, as far as that is known.
    pub(crate) fn wait(&mut self) -> io::Result<(ExitStatus, Option<StopReason>)> {
        use std::os::unix::process::ExitStatusExt;
        let status = self.child.wait()?;
        let of_signal = match status.signal() {
            Some(signal) if signal == Signal::XCPU.as_raw() => {
                Some(StopReason::Cpu(self.bounds.cpu_s))
            }
            _ => None,
        };
        Ok((status, self.stopped.or(of_signal)))
    }

    /// Ends it, unless it has ended by itself, and says why it ended as [`Self::wait`] does.
    pub(crate) fn conclude(&mut self) -> io::Result<(ExitStatus, Option<StopReason>)> {
        // Only a program that has nothing more to say is about to end.
        if self.stopped.is_none() && !matches!(self.read(&mut [0]), Ok(0)) {
            self.end();
        }
        self.wait()
    }

    fn end(&mut self) {
        let mut processes = Vec::new();
        descendants(self.child.id(), LEVELS_MAX, &mut processes);
        for process in processes.into_iter().filter_map(|id| Pid::from_raw(id.cast_signed())) {
            let _ = kill_process(process, Signal::KILL);
        }
    }

    /// Says why it has to be stopped, if it has to.
    fn overdue(&mut self) -> Option<StopReason> {
        let now = Instant::now();
        if now - self.started > TIME_MAX {
            return Some(StopReason::Slow);
        }
        let mut processes = Vec::new();
        descendants(self.child.id(), LEVELS_MAX, &mut processes);
        let states: Vec<_> = processes.into_iter().filter_map(state).collect();
        let ran_ns = states.iter().map(|(_, ran_ns)| ran_ns).sum();
        if ran_ns != self.alive.1 || states.iter().any(|(sleeps, _)| !sleeps) {
            self.alive = (now, ran_ns);
        }
        (now - self.alive.0 > SILENCE_MAX).then_some(StopReason::Waits)
    }
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut files = [PollFd::new(&self.output, PollFlags::IN)];
            match poll(&mut files, Some(&LOOK)) {
                Ok(0) => {}
                Ok(_) => {
                    self.alive.0 = Instant::now();
                    return self.output.read(buffer);
                }
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            if let Some(reason) = self.overdue() {
                self.stop(reason);
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.end();
            let _ = self.child.wait();
        }
    }
}

fn lowest(wanted: u64, allowed: Option<u64>) -> u64 {
    allowed.map_or(wanted, |allowed| wanted.min(allowed))
}

/// Lists a process and those that it started (proc_pid_task_children(5)).
fn descendants(process: u32, levels: u32, found: &mut Vec<u32>) {
    found.push(process);
    if levels == 0 {
        return;
    }
    let path = format!("/proc/{process}/task/{process}/children");
    let children = fs::read_to_string(path).unwrap_or_default();
    for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
        descendants(child, levels - 1, found);
    }
}

/// Returns whether a process sleeps, and the CPU time that it had (proc_pid_stat(5),
/// Documentation/scheduler/sched-stats.rst).
fn state(process: u32) -> Option<(bool, u64)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let sleeps = fields.next()? == "S";
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok());
    let schedstat = fs::read_to_string(format!("/proc/{process}/schedstat")).ok();
    let ran_ns = number(schedstat.as_deref().and_then(|text| text.split_whitespace().next()));
    let ticks = || number(fields.nth(10)).unwrap_or_default();
    Some((sleeps, ran_ns.unwrap_or_else(ticks)))
}
