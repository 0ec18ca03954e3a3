//! The timer slack of ordinary threads that a real-time task has forked.
//!
//! Since Linux 6.12 a real-time task has no timer slack, and what it forks takes that for its default,
//! also when it becomes an ordinary task (`copy_process` in kernel/fork.c, `__setscheduler_params` in
//! kernel/sched/syscalls.c).

use alloc::{format, string::ToString};

use rustix::{io::Errno, process::Pid};

use crate::{
    file::{read_kernel, write_kernel},
    login::TIMER_SLACK_NS,
    processes::{self, WRITABLE},
    trouble::{Attempt, Result},
};

/// Gives threads of a process, but not the first, the timer slack of a login. Returns whether so many
/// have it; a real-time one does not take it.
pub fn give(process: Pid, count: u32) -> Result<bool> {
    let mut having = 0;
    for thread in processes::threads(process)? {
        if thread != process.as_raw_pid() && give_one(thread)? {
            having += 1;
        }
    }
    Ok(having >= count)
}

fn give_one(thread: i32) -> Result<bool> {
    // proc_pid_timerslack_ns(5); /proc has the folder of a thread, too, without listing it.
    let path = format!("{WRITABLE}{thread}/timerslack_ns");
    let slack = TIMER_SLACK_NS.to_string();
    match write_kernel(&path, &slack).and_then(|()| read_kernel(&path)) {
        Ok(has) => Ok(has == slack),
        // It has ended.
        Err(Errno::NOENT | Errno::SRCH) => Ok(false),
        Err(errno) => Err(errno).attempt(|| format!("write {slack} to {path}")),
    }
}

#[cfg(test)]
mod tests {
    use std::{process, sync::mpsc, thread};

    use super::*;

    #[test]
    fn threads_have_the_slack_of_a_login() {
        let (wait, waiting) = mpsc::channel::<()>();
        let sleeper = thread::spawn(move || waiting.recv());
        let this = Pid::from_raw(process::id() as i32).unwrap();
        assert!(give(this, 1).unwrap());
        assert!(!give(this, 1000).unwrap());
        drop(wait);
        sleeper.join().unwrap().unwrap_err();
    }
}
