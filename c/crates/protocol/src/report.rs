//! What the guest says of a cell.

use alloc::{collections::BTreeMap, string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// A finished cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// See [`FORMAT`](crate::FORMAT).
    pub format: u32,
    /// The system as the cell's commands met it.
    pub system: System,
    /// When the probes ran.
    pub window: Window,
    /// The kernel's counters over the window.
    pub activity: Activity,
    /// How long each of the kernel's own threads ran during the window, in nanoseconds, by name;
    /// those that did not run are left out, and equal names are added up.
    pub kernel_threads_ns: BTreeMap<String, u64>,
    /// One per load command of the job, in its order.
    pub load: Vec<CommandReport>,
    /// One per probe of the job, in its order.
    pub probes: Vec<CommandReport>,
}

/// What the guest observed of the system it runs on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// `/proc/cmdline`.
    pub cmdline: String,
    /// `sched/preempt` in debugfs, the active mode in parentheses; `None` where the kernel has no
    /// such file because its mode is fixed.
    pub preempt: Option<String>,
    /// Whether `/sys/kernel/realtime` says 1.
    pub realtime: bool,
    /// `/sys/devices/system/cpu/online`.
    pub cpus_online: String,
    /// The current clock source.
    pub clocksource: String,
    /// `kernel.sched_rt_runtime_us`: beyond it, real-time tasks are throttled.
    pub sched_rt_runtime_us: i64,
    /// `kernel.sched_rt_period_us`.
    pub sched_rt_period_us: i64,
    /// `sched/features` in debugfs, as it stands.
    pub sched_features: Option<String>,
    /// `sched/base_slice_ns` in debugfs; older kernels have `min_granularity_ns` and no value here.
    pub base_slice_ns: Option<u64>,
    /// `MemTotal` of `/proc/meminfo`, in KiB.
    pub memory_kib: u64,
}

/// The time that is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// When the first probe was about to start.
    pub start_ns: u64,
    /// When the last probe had ended.
    pub end_ns: u64,
}

/// How far the kernel's counters in procfs moved during the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Activity {
    /// Context switches (`ctxt`).
    pub context_switches: u64,
    /// Interrupts of every kind (`intr`).
    pub interrupts: u64,
    /// Softirqs of every kind (`softirq`).
    pub softirqs: u64,
    /// Processes and threads created (`processes`).
    pub forks: u64,
    /// Tasks killed for want of memory (`oom_kill`).
    pub oom_kills: u64,
    /// Interrupts on all CPUs by the name that `/proc/interrupts` begins their line with: `LOC` is
    /// the local timer, `RES` the rescheduling interrupt. Those that did not happen are left out.
    pub interrupts_by_name: BTreeMap<String, u64>,
    /// Softirqs on all CPUs by their name in `/proc/softirqs`, likewise.
    pub softirqs_by_name: BTreeMap<String, u64>,
    /// The kernel's jiffies (`timestamp` of `/proc/schedstat`); `None` where it has no such file.
    pub jiffies: Option<u64>,
}

/// What became of one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandReport {
    /// The command's name in the job.
    pub name: String,
    /// When it was started.
    pub start_ns: u64,
    /// When the guest learnt that it had ended.
    pub end_ns: u64,
    /// How it ended.
    pub exit: Exit,
    /// Bytes that it had handed to `write(2)` (`wchar` of `/proc/PID/io`, all its processes and
    /// threads), when the window opened and when it closed. Only for loads.
    pub written_bytes: Option<(u64, u64)>,
    /// User time of the command's process group, with the descendants that its processes waited
    /// for.
    pub user_ns: u64,
    /// System time, likewise.
    pub system_ns: u64,
    /// Context switches because it waited for something, likewise (`ru_nvcsw`, getrusage(2)).
    pub voluntary_switches: u64,
    /// Context switches because another task was to run, likewise (`ru_nivcsw`).
    pub involuntary_switches: u64,
    /// Its standard output; what is not UTF-8 is replaced by U+FFFD.
    pub stdout: String,
    /// Its standard error, likewise.
    pub stderr: String,
    /// The content of the files that the job asked for, by path; a file that it did not write is
    /// missing here.
    pub files: BTreeMap<String, String>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// By itself, with this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// The guest killed it at the end of the window, as the job wants for a load.
    Stopped,
}

/// A cell or a boot that the guest had to give up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// What it was doing.
    pub stage: Stage,
    /// What kind of trouble it was.
    pub kind: FailureKind,
    /// What went wrong, in words, with the kernel's error where there is one.
    pub reason: String,
    /// The system, as far as it was known by then.
    pub system: Option<System>,
    /// What had become of the commands by then.
    pub commands: Vec<CommandReport>,
    /// The write of a setting that the kernel refused, where that is the trouble.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
}

/// A setting that the kernel did not take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// The setting's name in the job.
    pub setting: String,
    /// The file that was written to.
    pub file: String,
    /// The text that was written.
    pub text: String,
    /// The kernel's answer, as errno(3) numbers it.
    pub errno: i32,
}

/// What the guest does when a failure meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Before the snapshot.
    Boot,
    /// Reading the job and setting up the system for it.
    Setup,
    /// Starting the load.
    Load,
    /// Between the start of the first probe and the end of the last.
    Window,
    /// After the window.
    Collect,
}

/// The kinds of failure that the host treats differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The kernel does not offer what the job wants; not an error, but the cell cannot exist.
    Unavailable,
    /// The virtual-time limit of the job.
    TimeLimit,
    /// A task was killed for want of memory.
    OutOfMemory,
    /// Anything else.
    Other,
}
