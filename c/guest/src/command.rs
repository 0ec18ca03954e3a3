//! Runs one command of a job.

use alloc::{format, string::String};
use core::ptr;

use preemptlab_protocol::{
    Command, CommandReport, CommandSignal, Deadline, EndSignal, Exit, Policy,
};
use rustix::{
    fd::OwnedFd,
    fs::{MemfdFlags, memfd_create},
    io::Errno,
    process::{Pid, Signal, kill_process_group, test_kill_process_group},
};

use crate::{
    children::{self, Ended},
    clock, file, kernel,
    program::{Outputs, Process, describe},
    slack,
    trouble::{Attempt, Result, Trouble, name},
};

/// A command whose process waits to become its program.
pub struct Waiting<'job> {
    command: &'job Command,
    process: Process,
    outputs: Outputs,
}

impl<'job> Waiting<'job> {
    /// Forks the process of a command. The calling process must be an ordinary task, see
    /// [`login::prepare_children`](crate::login::prepare_children).
    pub fn new(command: &'job Command) -> Result<Self> {
        let file = || memory_file().attempt(|| format!("start {}", describe(command)));
        let outputs = Outputs { stdout: file()?, stderr: file()?, exec_error: file()? };
        Ok(Self { command, process: Process::new(command, &outputs)?, outputs })
    }

    /// The command.
    pub fn command(&self) -> &'job Command {
        self.command
    }

    /// The process group that the command will lead.
    pub fn group(&self) -> Pid {
        self.process.group
    }

    /// Has the process become the program, under the policy that the command declares. The policy is
    /// set from here, because among a heavy load the process might wait long for the chance to do it
    /// itself.
    pub fn start(self) -> Result<Running<'job>> {
        let Self { command, process, outputs } = self;
        let start_ns = clock::now_ns();
        let group = process.group;
        set_policy(group, command)?;
        process.go();
        Ok(Running {
            command,
            group,
            start_ns,
            end: None,
            end_signal: command.end,
            user_ns: 0,
            system_ns: 0,
            voluntary_switches: 0,
            involuntary_switches: 0,
            written_bytes: None,
            outputs,
        })
    }
}

/// A command that was started, and may have ended.
///
/// It leads a process group of its own, by which its processes are counted and killed. It stays in
/// init's session: a session of its own would be an autogroup of its own (`SCHED_AUTOGROUP`), and
/// then one probe would weigh as much as the whole load, but not on `-rt` kernels, which Debian
/// builds without.
pub struct Running<'job> {
    command: &'job Command,
    group: Pid,
    start_ns: u64,
    end: Option<(u64, Exit)>,
    /// What is still to be sent.
    end_signal: Option<EndSignal>,
    user_ns: u64,
    system_ns: u64,
    voluntary_switches: u64,
    involuntary_switches: u64,
    written_bytes: Option<(u64, u64)>,
    outputs: Outputs,
}

impl<'job> Running<'job> {
    /// Whether this is the command that was started, not one that is equal to it.
    pub fn runs(&self, command: &Command) -> bool {
        ptr::eq(self.command, command)
    }

    /// The process group that the command leads.
    pub fn group(&self) -> Pid {
        self.group
    }

    /// Whether all threads of the command that are to be ordinary tasks have the timer slack of one,
    /// after they were given it; so has a command that has ended, and one that has no such threads.
    pub fn takes_slack(&self) -> Result<bool> {
        match self.command.ordinary_threads {
            0 => Ok(true),
            _ if !self.is_alive() => Ok(true),
            threads => slack::give(self.group, threads),
        }
    }

    /// Whether the command itself still runs.
    pub fn is_alive(&self) -> bool {
        self.end.is_none()
    }

    /// Whether the command ended by itself with status 0.
    pub fn has_succeeded(&self) -> bool {
        matches!(self.end, Some((_, Exit::Code(0))))
    }

    /// How the command ended, for people.
    pub fn describe_end(&self) -> String {
        let mut text = describe(self.command);
        text += &match self.end {
            Some((_, Exit::Code(code))) => format!(" ended with status {code}"),
            Some((_, Exit::Signal(signal))) => format!(" was killed by signal {signal}"),
            Some((_, Exit::Stopped)) => " was stopped".into(),
            None => " still runs".into(),
        };
        let stderr = read_text(&self.outputs.stderr, 1 << 10).0;
        if !stderr.trim().is_empty() {
            text += &format!(" and said: {}", stderr.trim());
        }
        text
    }

    /// Notes what a load has written when the window opens, and then when it closes.
    pub fn note_written(&mut self, bytes: u64) {
        let first = self.written_bytes.map_or(bytes, |(first, _)| first);
        self.written_bytes = Some((first, bytes));
    }

    /// Notes which processes of the command's group have ended since the last look.
    pub fn look(&mut self) -> Result<()> {
        while let Some(ended) = children::take_ended(self.group) {
            self.note_usage(&ended);
            if ended.pid == self.group.as_raw_pid() {
                self.note_end(ended.exit)?;
            }
        }
        Ok(())
    }

    fn note_end(&mut self, exit: Exit) -> Result<()> {
        self.end = Some((clock::now_ns(), exit));
        match self.outputs.error() {
            Some(errno) => {
                let what = describe(self.command);
                Err(Trouble::other(format!("cannot execute {what}: {}", name(errno))))
            }
            None => Ok(()),
        }
    }

    fn note_usage(&mut self, ended: &Ended) {
        self.user_ns += ended.user_ns;
        self.system_ns += ended.system_ns;
        self.voluntary_switches += ended.voluntary_switches;
        self.involuntary_switches += ended.involuntary_switches;
    }

    /// When the command's end signal is due; `None` where there is none, or none any more.
    pub fn signal_due_ns(&self) -> Option<u64> {
        let signal = self.end_signal.filter(|_| self.is_alive())?;
        Some(self.start_ns.saturating_add(signal.after_ns))
    }

    /// Sends the command's end signal when it is due.
    pub fn signal_if_due(&mut self, now_ns: u64) {
        if self.signal_due_ns().is_some_and(|due_ns| due_ns <= now_ns)
            && let Some(EndSignal { signal, .. }) = self.end_signal.take()
        {
            let signal = match signal {
                CommandSignal::Alarm => Signal::ALARM,
                CommandSignal::Terminate => Signal::TERM,
            };
            // Whether it has ended in the meantime, the next look at it tells.
            let _ = kill_process_group(self.group, signal);
        }
    }

    /// Kills every process of the command's group that is left; returns at once.
    pub fn kill(&self) {
        let _ = kill_process_group(self.group, Signal::KILL);
    }

    /// Waits until nothing is left of the command's group, after [`Self::kill`]. A process that
    /// cannot be killed keeps init here, until the watchdog ends the cell.
    pub fn wait_killed(&mut self) {
        loop {
            while let Some(ended) = children::wait_for_group(self.group) {
                self.note_usage(&ended);
                if ended.pid == self.group.as_raw_pid() {
                    self.end = Some((clock::now_ns(), Exit::Stopped));
                }
            }
            if test_kill_process_group(self.group).is_err() {
                return;
            }
            self.kill();
            clock::sleep_ns(clock::NS_PER_MS);
        }
    }

    /// What became of the command, with at most so many bytes of each of its outputs, and the name
    /// of an output that was longer.
    pub fn report(&self, output_bytes_max: usize) -> (CommandReport, Option<String>) {
        let mut too_long = None;
        let mut bounded = |name: &str, (text, whole): (String, bool)| {
            if !whole {
                too_long = Some(format!("{name} of {}", describe(self.command)));
            }
            text
        };
        let (end_ns, exit) = self.end.unwrap_or((clock::now_ns(), Exit::Stopped));
        let report = CommandReport {
            name: self.command.name.clone(),
            start_ns: self.start_ns,
            end_ns,
            exit,
            written_bytes: self.written_bytes,
            user_ns: self.user_ns,
            system_ns: self.system_ns,
            voluntary_switches: self.voluntary_switches,
            involuntary_switches: self.involuntary_switches,
            stdout: bounded("standard output", read_text(&self.outputs.stdout, output_bytes_max)),
            stderr: bounded("standard error", read_text(&self.outputs.stderr, output_bytes_max)),
            files: self
                .command
                .files
                .iter()
                .filter_map(|path| {
                    let file = file::open(path).ok()?;
                    let text = bounded(path, read_text(&file, output_bytes_max));
                    Some((path.clone(), text))
                })
                .collect(),
        };
        (report, too_long)
    }
}

/// Gives a process the policy that its command declares.
fn set_policy(process: Pid, command: &Command) -> Result<()> {
    match command.policy {
        Policy::Other => Ok(()),
        Policy::Fifo(priority) => kernel::set_fifo(process, priority)
            .attempt(|| format!("give {} the priority SCHED_FIFO {priority}", describe(command))),
        Policy::Deadline(Deadline { runtime_ns, deadline_ns, period_ns }) => {
            let times = [runtime_ns, deadline_ns, period_ns];
            let [runtime, deadline, period] = times;
            kernel::set_deadline(process, times).attempt(|| {
                format!(
                    "give {} SCHED_DEADLINE with {runtime} ns in {deadline} ns of each {period} ns",
                    describe(command)
                )
            })
        }
    }
}

/// A file in memory that has no name and does not outlive an execve(2).
fn memory_file() -> core::result::Result<OwnedFd, Errno> {
    memfd_create("output", MemfdFlags::CLOEXEC)
}

/// The text so far, cut off after so many bytes, and whether that is all of it.
fn read_text(file: &OwnedFd, bytes_max: usize) -> (String, bool) {
    let mut bytes = file::read_from_start(file, bytes_max).unwrap_or_default();
    let whole = bytes.len() <= bytes_max;
    bytes.truncate(bytes_max);
    (String::from_utf8_lossy(&bytes).into_owned(), whole)
}
