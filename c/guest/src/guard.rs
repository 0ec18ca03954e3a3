//! Keeps a cell to its limit and its window to its end, whatever the commands do.
//!
//! init is a `SCHED_FIFO` task, and while probes measure not the most urgent one. A command that made
//! itself more urgent, and never sleeps, would keep init from noticing anything. The guard is a
//! process of `SCHED_DEADLINE`, which the scheduler prefers to every `SCHED_FIFO` task, and to which it
//! has granted its small part of the CPU whatever other deadline tasks take. It sleeps for the whole
//! cell, but for the moments below; no task has to do with it before.
//!
//! - When the last probe has ended and init does not notice, the guard stops every process but init,
//!   so that init has a CPU.
//! - When the cell's limit has passed and the cell has not ended, it kills them.
//! - It keeps the machine's watchdog from expiring until then, and no longer.

use alloc::vec::Vec;

#[cfg(not(feature = "cell"))]
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::{
    event::{PollFd, PollFlags, poll},
    fd::{AsFd, OwnedFd},
    io::{Errno, read, write},
    pipe::{PipeFlags, pipe_with},
    process::{Pid, PidfdFlags, Signal, pidfd_open, setpgid, test_kill_process},
};

use crate::{
    clock, kernel,
    trouble::{Attempt, Result},
    watchdog::Watchdog,
};

/// Runtime, deadline and period of the guard: a thousandth of a CPU, soon after it wakes.
#[cfg(not(feature = "cell"))]
const TIMES_NS: [u64; 3] = [100_000, 10_000_000, 100_000_000];

/// Of `SCHED_FIFO`, where the kernel does not grant that much (`sched_rt_runtime_us`), or where the
/// cell may not use all CPUs.
const PRIORITY: u8 = 99;

/// Time for init to notice by itself, in nanoseconds.
const GRACE_NS: u64 = 100 * clock::NS_PER_MS;

/// The bytes of a process's number in the pipe.
const PID_BYTES: usize = size_of::<i32>();

/// More probes than a job may have.
const PROBES_MAX: usize = 1024;

/// The guard of a cell, which it sees through to its end.
pub struct Guard {
    probes: OwnedFd,
}

impl Guard {
    /// Starts the guard of a cell with this limit.
    pub fn start(limit_ns: u64) -> Result<Self> {
        let cannot = || "start the cell's guard".into();
        let (told, probes) = pipe_with(PipeFlags::CLOEXEC).attempt(cannot)?;
        // SAFETY: init has one thread, and the child is one that never returns.
        let Some(guard) = unsafe { kernel::fork() }.attempt(cannot)? else {
            drop(probes);
            watch(limit_ns, &told)
        };
        // Among the commands' groups it would be waited for.
        setpgid(Some(guard), Some(guard)).attempt(cannot)?;
        precede_all(guard).attempt(cannot)?;
        Ok(Self { probes })
    }

    /// Tells the guard which processes are the probes.
    pub fn watch_probes(&self, probes: impl Iterator<Item = Pid>) -> Result<()> {
        let bytes: Vec<u8> = probes.flat_map(|probe| probe.as_raw_pid().to_ne_bytes()).collect();
        write(&self.probes, &bytes).attempt(|| "tell the cell's guard of the probes".into())?;
        Ok(())
    }
}

/// Makes the guard more urgent than every command.
#[cfg(not(feature = "cell"))]
fn precede_all(guard: Pid) -> core::result::Result<(), Errno> {
    let mut all = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|cpu| all.set(cpu));
    // The scheduler grants a part of every CPU that the task can be on, and only all of them.
    let granted =
        sched_setaffinity(Some(guard), &all).and_then(|()| kernel::set_deadline(guard, TIMES_NS));
    granted.or_else(|_| kernel::set_fifo(guard, PRIORITY))
}

/// Makes the guard as urgent as a command can be: on the machine's own kernel none may become a deadline
/// task. As one the guard would have a thousandth of a CPU for its end, which takes the cell's file systems
/// down.
#[cfg(feature = "cell")]
fn precede_all(guard: Pid) -> core::result::Result<(), Errno> {
    kernel::set_fifo(guard, PRIORITY)
}

/// The life of the guard.
fn watch(limit_ns: u64, told: &OwnedFd) -> ! {
    let mut alarm = Alarm {
        limit_ns: limit_ns.saturating_add(GRACE_NS),
        watchdog: Watchdog::arm(clock::now_ns()),
    };
    let probes = if alarm.is_ready(told) { read_pids(told) } else { Vec::new() };
    if !probes.is_empty() && probes.iter().all(|probe| alarm.has_ended(*probe)) {
        clock::sleep_ns(GRACE_NS);
        // init takes every process that has ended and that it knows of.
        if probes.iter().any(|probe| test_kill_process(*probe).is_ok()) {
            kernel::signal_all(Signal::STOP);
        }
    }
    alarm.wait();
    loop {
        kernel::signal_all(Signal::KILL);
        clock::sleep_ns(GRACE_NS);
    }
}

fn read_pids(told: &OwnedFd) -> Vec<Pid> {
    let mut bytes = [0; PROBES_MAX * PID_BYTES];
    let count = read(told, &mut bytes).unwrap_or(0);
    let (numbers, _) = bytes[..count].as_chunks::<PID_BYTES>();
    numbers.iter().filter_map(|number| Pid::from_raw(i32::from_ne_bytes(*number))).collect()
}

/// When the guard acts.
struct Alarm {
    limit_ns: u64,
    watchdog: Watchdog,
}

impl Alarm {
    /// Waits until a process has ended. Returns whether it has before the limit.
    fn has_ended(&mut self, process: Pid) -> bool {
        match pidfd_open(process, PidfdFlags::empty()) {
            Ok(process) => self.is_ready(&process),
            // It is gone already.
            Err(errno) => errno == Errno::SRCH,
        }
    }

    /// Waits until there is something to read. Returns whether there is before the limit.
    fn is_ready(&mut self, file: &OwnedFd) -> bool {
        self.poll(&mut [PollFd::from_borrowed_fd(file.as_fd(), PollFlags::IN)])
    }

    /// Waits for the limit.
    fn wait(&mut self) {
        self.poll(&mut []);
    }

    fn poll(&mut self, files: &mut [PollFd<'_>]) -> bool {
        loop {
            let now_ns = clock::now_ns();
            if now_ns >= self.limit_ns {
                return false;
            }
            self.watchdog.pet(now_ns);
            let until_ns = self.limit_ns.min(self.watchdog.due_ns());
            let left = clock::timespec(until_ns.saturating_sub(now_ns));
            if poll(files, Some(&left)).is_ok_and(|ready| ready > 0) {
                return true;
            }
        }
    }
}
