//! The programs that this process has started.

use std::{
    fs,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

/// Interval at which a thread checks whether the work is to end.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs some work, and ends every program that it starts once a condition holds: a thread that
/// waits for a program continues with an error.
pub fn ended_when<T>(is_over: impl Fn() -> bool + Send, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        // However the work ends, the watcher hears of it at once.
        let (_done, watched) = mpsc::channel::<()>();
        scope.spawn(move || {
            while watched.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                if is_over() {
                    end();
                }
            }
        });
        work()
    })
}

/// Asks every child to end.
fn end() {
    // proc_pid_task_children(5)
    for task in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
            let Some(child) = Pid::from_raw(child) else { continue };
            let Ok(handle) = pidfd_open(child, PidfdFlags::empty()) else { continue };
            // The number could be another process's by now; the descriptor holds one process.
            if parent(child) == Some(getpid()) {
                let _ = pidfd_send_signal(&handle, Signal::TERM);
            }
        }
    }
}

/// Returns the parent of a process: the fourth field (proc_pid_stat(5)).
fn parent(process: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Pid::from_raw(stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?)
}
