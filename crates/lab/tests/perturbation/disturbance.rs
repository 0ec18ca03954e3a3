//! Disturbances of QEMU while a cell is executed.

use std::{
    fs, hint,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::Duration,
};

use libc::{PR_SET_THP_DISABLE, SIGALRM, SIGCONT, SIGSTOP, c_int, c_ulong, pid_t};

/// Seed of the random moments.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Disturbance by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// The host does nothing in particular.
    None,
    /// Two threads for each of its CPUs that never sleep.
    Hogs,
    /// The host stops QEMU and continues it, at random moments.
    Stops,
    /// Ten thousand signals a second wake QEMU's main loop.
    Signals,
    /// The host gives QEMU no huge pages.
    NoHugePages,
}

impl Disturbance {
    /// Runs some work under the disturbance.
    pub fn during<T>(self, work: impl FnOnce() -> T) -> T {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            match self {
                Self::None => {}
                Self::Hogs => {
                    let cpus = thread::available_parallelism().map_or(1, usize::from);
                    for _ in 0..2 * cpus {
                        scope.spawn(|| {
                            while !is_over.load(Relaxed) {
                                hint::spin_loop();
                            }
                        });
                    }
                }
                Self::Stops => {
                    scope.spawn(|| stop_and_continue(&is_over));
                }
                Self::Signals => {
                    scope.spawn(|| {
                        while !is_over.load(Relaxed) {
                            thread::sleep(Duration::from_micros(100));
                            signal_children(SIGALRM, waits_for_alarms);
                        }
                    });
                }
                Self::NoHugePages => has_huge_pages(false),
            }
            let done = work();
            is_over.store(true, Relaxed);
            if self == Self::NoHugePages {
                has_huge_pages(true);
            }
            done
        })
    }
}

/// Stops this process's children after up to 200 ms each time, for as long.
fn stop_and_continue(is_over: &AtomicBool) {
    let mut state = SEED;
    let mut pause = || {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        thread::sleep(Duration::from_micros(state % 200_000));
    };
    while !is_over.load(Relaxed) {
        pause();
        signal_children(SIGSTOP, |_| true);
        pause();
        signal_children(SIGCONT, |_| true);
    }
}

/// Returns whether a process reads `SIGALRM` from a descriptor, as QEMU's main loop does (signalfd(2),
/// util/main-loop.c). Before that the signal would end it. That it is blocked says less: every start of a thread
/// blocks all signals for a moment, and QEMU's first one starts before its main loop.
fn waits_for_alarms(process: pid_t) -> bool {
    let is_signals = |descriptor: fs::DirEntry| {
        fs::read_link(descriptor.path())
            .is_ok_and(|link| link.as_os_str() == "anon_inode:[signalfd]")
    };
    let descriptors = fs::read_dir(format!("/proc/{process}/fd"));
    descriptors.into_iter().flatten().flatten().any(is_signals)
}

/// Sends a signal to every child that is to have it. A child keeps its number until this process waits for it. Should
/// it do so just here, no other process has the number yet, because numbers are given in a row
/// (pid_max, proc_sys_kernel(5)).
fn signal_children(signal: c_int, is_for: impl Fn(pid_t) -> bool) {
    for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace() {
            let child: pid_t = child.parse().unwrap();
            if !is_for(child) {
                continue;
            }
            // SAFETY: the call takes numbers.
            unsafe { libc::kill(child, signal) };
        }
    }
}

/// Allows or forbids huge pages; children inherit it (PR_SET_THP_DISABLE(2const)).
fn has_huge_pages(allowed: bool) {
    let (disabled, zero) = (c_ulong::from(!allowed), c_ulong::from(false));
    // SAFETY: the call takes numbers.
    let failed = unsafe { libc::prctl(PR_SET_THP_DISABLE, disabled, zero, zero, zero) };
    assert_eq!(failed, 0);
}
