//! Disturbances of QEMU while a cell is executed.

use std::{
    fs, hint,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::Duration,
};

use libc::{PR_SET_THP_DISABLE, SIGCONT, SIGSTOP, c_int, c_ulong, pid_t};

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
        signal_children(SIGSTOP);
        pause();
        signal_children(SIGCONT);
    }
}

/// Sends a signal to every child. A child keeps its number until this process waits for it. Should
/// it do so just here, no other process has the number yet, because numbers are given in a row
/// (pid_max, proc_sys_kernel(5)).
fn signal_children(signal: c_int) {
    for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace() {
            let child: pid_t = child.parse().unwrap();
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
