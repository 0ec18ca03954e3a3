//! A child process that leaves nothing behind.

use std::{
    ffi::OsString,
    io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
        unix::process::CommandExt,
    },
    process::{Child, Command, ExitStatus},
    time::Duration,
};

use preemptlab_protocol::frame::PAYLOAD_BYTES_MAX;
use rustix::{
    io::{Errno, FdFlags, fcntl_setfd},
    process::{
        Pid, PidfdFlags, Resource, Rlimit, Signal, getpid, getppid, getrlimit, kill_process_group,
        pidfd_open, prlimit, set_parent_process_death_signal, setrlimit,
    },
};

use crate::output::MemoryFile;

/// The most that a guest may write to its console or its results port; beyond it, writing fails.
/// There is room for the longest message that is accepted.
pub(crate) const OUTPUT_BYTES_MAX: u64 = PAYLOAD_BYTES_MAX as u64 + (16 << 20);

/// A child process, which is killed when it is dropped or when the thread that started it ends.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    pid: Pid,
    ended: Option<ExitStatus>,
    /// Becomes readable when the process ends.
    pidfd: OwnedFd,
    stderr: MemoryFile,
}

impl Process {
    /// Starts a program with `channel` as standard input and output. Of all other descriptors of
    /// this process it inherits `inherited` only, under their numbers here; of its environment,
    /// nothing, but it gets `environment`.
    ///
    /// It gets a process group of its own, so that Ctrl-C in a terminal reaches this process alone.
    pub(crate) fn spawn(
        program: &OsString,
        arguments: &[OsString],
        environment: &[(&str, String)],
        channel: OwnedFd,
        inherited: &[BorrowedFd<'_>],
    ) -> io::Result<Self> {
        let stderr = MemoryFile::new("stderr")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .env("LC_ALL", "C")
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(channel.try_clone()?)
            .stdout(channel)
            .stderr(stderr.try_clone()?)
            .process_group(0);
        let parent = getpid();
        let inherited: Vec<RawFd> = inherited.iter().map(AsRawFd::as_raw_fd).collect();
        // SAFETY: between fork and exec the closure only makes system calls, and allocates nothing.
        unsafe { command.pre_exec(move || confine(parent, &inherited)) };
        let mut child = command.spawn()?;
        // The descriptors for the child are in the command.
        drop(command);
        let pid = Pid::from_child(&child);
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Self { child, pid, ended: None, pidfd, stderr }),
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error.into())
            }
        }
    }

    /// Returns the time that the process's threads have had a CPU of the host, as far as the host tells
    /// it (clock_getcpuclockid(3)).
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        let mut clock = 0;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: both calls write one value each, into places that outlive them.
        let failed = unsafe {
            libc::clock_getcpuclockid(self.pid.as_raw_nonzero().get(), &raw mut clock) != 0
                || libc::clock_gettime(clock, &raw mut time) != 0
        };
        if failed {
            return None;
        }
        let seconds = u64::try_from(time.tv_sec).ok()?;
        Some(Duration::new(seconds, u32::try_from(time.tv_nsec).ok()?))
    }

    /// Lifts the bound on the size of the process's files, for the snapshot.
    pub(crate) fn allow_large_files(&self) -> io::Result<()> {
        prlimit(Some(self.pid), Resource::Fsize, getrlimit(Resource::Fsize))?;
        Ok(())
    }

    /// Kills the process if it still runs, and whatever its program has started. Returns how it
    /// ended and the last line that it wrote to its standard error.
    pub(crate) fn end(mut self) -> io::Result<(ExitStatus, String)> {
        let status = self.kill_and_wait()?;
        let stderr = self.stderr.content()?;
        let stderr = String::from_utf8_lossy(&stderr);
        let last = stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        Ok((status, last.chars().take(500).collect()))
    }

    /// Kills the process group, and then waits for its leader, because until then its number cannot
    /// belong to anything else.
    fn kill_and_wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.ended {
            return Ok(status);
        }
        // It fails only when there is nothing left to kill.
        let _ = kill_process_group(self.pid, Signal::KILL);
        let status = self.child.wait()?;
        self.ended = Some(status);
        Ok(status)
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.kill_and_wait();
    }
}

/// Confines the child before it becomes another program.
fn confine(parent: Pid, inherited: &[RawFd]) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the signal was asked for.
    if getppid() != Some(parent) {
        return Err(Errno::SRCH.into());
    }
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    let Rlimit { current, maximum } = getrlimit(Resource::Fsize);
    let current = current.map_or(OUTPUT_BYTES_MAX, |bytes| bytes.min(OUTPUT_BYTES_MAX));
    setrlimit(Resource::Fsize, Rlimit { current: Some(current), maximum })?;
    // SAFETY: the call takes no pointers, and marks descriptors without closing them.
    if unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) } != 0
    {
        return Err(io::Error::last_os_error());
    }
    for fd in inherited {
        // SAFETY: the parent keeps the descriptor open until the program has started.
        fcntl_setfd(unsafe { BorrowedFd::borrow_raw(*fd) }, FdFlags::empty())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Instant};

    use super::*;

    #[test]
    fn a_process_tells_the_time_that_it_has_had_a_cpu() {
        let spawn = |script: &str| {
            let (_, channel) = std::os::unix::net::UnixStream::pair().unwrap();
            let arguments = ["-c".into(), script.into()];
            Process::spawn(&"sh".into(), &arguments, &[], channel.into(), &[]).unwrap()
        };
        let busy = spawn("while :; do :; done");
        let asleep = spawn("exec sleep 1000");
        let patience = Instant::now() + Duration::from_secs(600);
        while busy.cpu_time().unwrap() < Duration::from_millis(300) {
            assert!(Instant::now() < patience);
            thread::sleep(Duration::from_millis(20));
        }
        assert!(asleep.cpu_time().unwrap() < Duration::from_millis(300));
    }
}
