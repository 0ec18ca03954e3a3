//! What every command starts with: what a login gives to its shell, whatever init itself has, or the
//! one who started preemptlab on the machine's own kernel.
//!
//! The values are the kernel's own for a first process, and systemd's for what it starts where these
//! differ. docs/workload.md names what a command has otherwise on purpose.

use linux_raw_sys::general::{
    __NR_ioprio_set, __NR_personality, __NR_set_mempolicy, SIGKILL, SIGSTOP,
};
use rustix::{
    fs::Mode,
    io::Errno,
    process::{Resource, Rlimit, getrlimit, setrlimit, umask},
    thread::{
        CapabilitiesSecureBits, capabilities_secure_bits, set_capabilities_secure_bits,
        set_current_timer_slack,
    },
};

use core::num::NonZeroU64;

use preemptlab_sys::{
    arch::syscall,
    kernel::{self, SIGNALS},
};

/// What a timer of an ordinary task may be late so that it expires together with others
/// (`init_task` in init/init_task.c).
pub const TIMER_SLACK_NS: NonZeroU64 = NonZeroU64::new(50_000).expect("it is not 0");

/// New files are not writable for others (`init_fs` in fs/fs_struct.c, UMASK in login.defs(5)).
const UMASK: Mode = Mode::WGRP.union(Mode::WOTH);

const UNLIMITED: Option<u64> = None;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Soft and hard limits (include/asm-generic/resource.h; the files: systemd's `DefaultLimitNOFILE`).
/// Those of processes and of pending signals follow from the memory (kernel/fork.c, `fork_init`).
const LIMITS: &[(Resource, Option<u64>, Option<u64>)] = &[
    (Resource::As, UNLIMITED, UNLIMITED),
    (Resource::Cpu, UNLIMITED, UNLIMITED),
    (Resource::Data, UNLIMITED, UNLIMITED),
    (Resource::Fsize, UNLIMITED, UNLIMITED),
    (Resource::Locks, UNLIMITED, UNLIMITED),
    (Resource::Msgqueue, Some(800 * KIB), Some(800 * KIB)),
    (Resource::Nofile, Some(KIB), Some(512 * KIB)),
    (Resource::Rss, UNLIMITED, UNLIMITED),
    (Resource::Rttime, UNLIMITED, UNLIMITED),
    (Resource::Stack, Some(8 * MIB), UNLIMITED),
];

/// Those that a cell on the machine's own kernel has otherwise (`crates/backend-host`).
#[cfg(not(feature = "cell"))]
const OWN_LIMITS: &[(Resource, Option<u64>, Option<u64>)] = &[
    (Resource::Core, Some(0), UNLIMITED),
    (Resource::Memlock, Some(8 * MIB), Some(8 * MIB)),
    (Resource::Nice, Some(0), Some(0)),
    (Resource::Rtprio, Some(0), Some(0)),
];
#[cfg(feature = "cell")]
const OWN_LIMITS: &[(Resource, Option<u64>, Option<u64>)] = &[];

/// `IOPRIO_WHO_PROCESS` of ioprio_set(2).
const IOPRIO_WHO_PROCESS: usize = 1;

/// Makes the calling process one whose children have the timer slack of a login. It must be an
/// ordinary task: since Linux 6.12 a real-time task has none, and its children take that for the
/// value that they go back to (`default_timer_slack_ns`).
pub fn prepare_children() -> Result<(), Errno> {
    set_current_timer_slack(Some(TIMER_SLACK_NS))
}

/// Gives the calling process what a login gives to its shell.
pub fn take() -> Result<(), Errno> {
    set_current_timer_slack(Some(TIMER_SLACK_NS))?;
    kernel::set_own_ordinary()?;
    umask(UMASK);
    for signal in SIGNALS.filter(|signal| ![SIGKILL, SIGSTOP].contains(signal)) {
        kernel::set_default_action(signal)?;
    }
    for &(resource, soft, hard) in LIMITS.iter().chain(OWN_LIMITS) {
        limit(resource, soft, hard)?;
    }
    // SAFETY: no pointers but null.
    unsafe {
        syscall(__NR_ioprio_set, [IOPRIO_WHO_PROCESS, 0, 0, 0])?;
        syscall(__NR_personality, [0; 4])?;
        // Not every kernel knows nodes of memory.
        known(syscall(__NR_set_mempolicy, [0; 4]))?;
    }
    if !capabilities_secure_bits()?.is_empty() {
        set_capabilities_secure_bits(CapabilitiesSecureBits::empty())?;
    }
    // A cell on the machine's own kernel has another one (`live/confine.rs`).
    #[cfg(not(feature = "cell"))]
    crate::file::write_kernel("/proc/self/oom_score_adj", "0")?;
    // Last, so that no signal comes before its action is the default one.
    kernel::unblock_signals()
}

/// Sets a limit. One that this process may not raise stays as it is.
fn limit(resource: Resource, soft: Option<u64>, hard: Option<u64>) -> Result<(), Errno> {
    match setrlimit(resource, Rlimit { current: soft, maximum: hard }) {
        Err(Errno::PERM) => {
            let Rlimit { maximum, .. } = getrlimit(resource);
            let current = soft.into_iter().chain(maximum).min();
            setrlimit(resource, Rlimit { current, maximum })
        }
        result => result,
    }
}

fn known(result: Result<usize, Errno>) -> Result<(), Errno> {
    match result {
        Err(Errno::NOSYS) => Ok(()),
        result => result.map(drop),
    }
}
