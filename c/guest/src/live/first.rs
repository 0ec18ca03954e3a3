//! The first process of a process namespace.

use rustix::{
    fd::OwnedFd,
    io::Errno,
    process::{
        Pid, PidfdFlags, Signal, getpgrp, getpid, pidfd_open, set_parent_process_death_signal,
    },
};

use crate::{
    arch::syscall,
    kernel::{self, Wait},
};

use linux_raw_sys::general::{__NR_poll, POLLIN, pollfd};

/// Continues as the first process of the namespace that unshare(2) has made for children; the
/// calling process only waits for it and ends as it does.
///
/// When the caller is killed, so is the first process, and with it everything in its namespace
/// (pid_namespaces(7)).
pub fn become_first() {
    let parent = pidfd_open(getpid(), PidfdFlags::empty());
    // SAFETY: the process has one thread.
    match unsafe { kernel::fork() } {
        Ok(None) => {
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            // The parent may have died before the signal was asked for.
            if !parent.is_ok_and(|parent| lives(&parent)) {
                kernel::exit(1);
            }
        }
        Ok(Some(_)) => kernel::exit(wait(getpgrp())),
        Err(_) => kernel::exit(1),
    }
}

/// Waits for the only child.
fn wait(group: Pid) -> i32 {
    loop {
        match kernel::wait_group(group, Wait::Yes) {
            Err(Errno::INTR) => {}
            Ok(Some(waited)) => return if waited.status == 0 { 0 } else { 1 },
            Ok(None) | Err(_) => return 1,
        }
    }
}

/// Whether a process has not ended: its descriptor becomes readable when it has.
fn lives(process: &OwnedFd) -> bool {
    use rustix::fd::AsRawFd;
    let mut poll = pollfd { fd: process.as_raw_fd(), events: POLLIN as i16, revents: 0 };
    // SAFETY: one entry, which the kernel writes to, and no time to wait.
    let ready = unsafe { syscall(__NR_poll, [(&raw mut poll).addr(), 1, 0, 0]) };
    ready == Ok(0)
}
