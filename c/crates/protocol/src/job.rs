//! What one cell does after it was forked from the boot snapshot.

use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// The name of the `fw_cfg` file that carries the [`Job`], as JSON.
pub const JOB_FILE: &str = "opt/preemptlab/job";

/// One cell's work. The guest runs it as it stands and decides nothing by itself.
///
/// The order of events: seed the entropy pool, set the preemption mode and the other settings,
/// start the load and wait until it works ([`LoadStart`]), start the probes, wait until every probe
/// has ended, stop the load. The window that is measured lies between the last two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// See [`FORMAT`](crate::FORMAT).
    pub format: u32,
    /// Feeds the kernel's entropy pool, and so address-space layout and hash seeds.
    pub seed: u64,
    /// What to write to `sched/preempt` in debugfs; nothing is written when the kernel already
    /// runs in that mode.
    pub preempt: String,
    /// The tick's frequency that the kernel must turn out to have, in Hz; `None` where nothing
    /// tells.
    pub hz: Option<u32>,
    /// What else is put into force or was asked for at boot, and how it shows.
    pub settings: Vec<Setting>,
    /// Period of the timer that ends the time slices of the virtual CPUs, in nanoseconds; `None`
    /// with one CPU, which needs none. See `docs/virtual-time.md`.
    pub skew_ns: Option<u64>,
    /// The cell fails when it has not ended after this much virtual time, counted from the fork.
    pub limit_ns: u64,
    /// When the load counts as running.
    pub load_start: LoadStart,
    /// Run for the whole window, and are then killed.
    pub load: Vec<Command>,
    /// Run to their end; the window ends with the last of them.
    pub probes: Vec<Command>,
}

/// When the load counts as running, so that the window holds none of its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadStart {
    /// Every load command must have written this many bytes (with all its processes and threads).
    pub written_bytes_min: u64,
    /// And this much time must have passed since then, in nanoseconds.
    pub settle_ns: u64,
}

/// A switch of the system besides the mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// As the experiment writes it; names the setting in failures.
    pub name: String,
    /// What puts it into force; `None` for what the kernel was told at boot.
    pub write: Option<Write>,
    /// What shows that it is in force: all of it.
    pub evidence: Vec<Evidence>,
}

/// A text for a file of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// Its path.
    pub file: String,
    /// What to write.
    pub text: String,
}

/// What shows that a setting is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Evidence {
    /// The file holds one of these texts, but for white space around it.
    Text {
        /// Its path.
        file: String,
        /// The texts.
        any_of: Vec<String>,
    },
    /// One of the file's words is this one.
    Word {
        /// Its path.
        file: String,
        /// The word.
        word: String,
    },
    /// The kernel did not hand this word of its command line on to init, as it does with what it
    /// does not know.
    Known {
        /// The word.
        parameter: String,
    },
    /// There is a kernel thread whose name begins with one of these.
    KernelThread {
        /// The beginnings.
        any_of: Vec<String>,
    },
}

/// A program to run in the guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Names the command in the report.
    pub name: String,
    /// The program's absolute path, then its arguments.
    pub argv: Vec<String>,
    /// Whether it runs as an ordinary user; a database server refuses to run as root.
    pub unprivileged: bool,
    /// The policy it starts under; what it then sets for itself is its own business.
    pub policy: Policy,
    /// Threads besides the first one that become ordinary tasks by themselves, and are then given the
    /// timer slack of a login: since Linux 6.12 what a real-time task forks has none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ordinary_threads: u32,
    /// Waits this long before it starts, in nanoseconds.
    pub delay_ns: u64,
    /// Files that it writes, whose content goes into the report.
    pub files: Vec<String>,
    /// What ends it; `None` for a command that knows its end, or is killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<EndSignal>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A signal that every process of a command is sent, so that it comes to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndSignal {
    /// Kind of the signal.
    pub signal: CommandSignal,
    /// Time from the start of the command to the signal, in nanoseconds.
    pub after_ns: u64,
}

/// Kind of a signal, named as `signal(7)` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandSignal {
    /// That of an alarm clock, by which many programs end a measurement.
    #[serde(rename = "SIGALRM")]
    Alarm,
    /// The request to end.
    #[serde(rename = "SIGTERM")]
    Terminate,
}

/// A scheduling policy, named as `sched(7)` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// `SCHED_OTHER`, nice 0.
    Other,
    /// `SCHED_FIFO` at this priority, 1 to 99.
    Fifo(u8),
    /// `SCHED_DEADLINE`; what it forks is `SCHED_OTHER`, because the kernel lets such a task fork
    /// nothing else.
    Deadline(Deadline),
}

/// The parameters of a `SCHED_DEADLINE` task, in nanoseconds, named as `sched(7)` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deadline {
    /// CPU time that it may take of each period.
    pub runtime_ns: u64,
    /// Time from the start of a period by which it has had its CPU time.
    pub deadline_ns: u64,
    /// Length of a period.
    pub period_ns: u64,
}
