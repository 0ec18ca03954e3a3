//! Child processes that do not outlive this one.

use std::{os::unix::process::CommandExt, process::Command};

use rustix::{
    io::Errno,
    process::{Signal, getpid, getppid, set_parent_process_death_signal},
};

/// Makes the child end when the thread that starts it ends, even by SIGKILL
/// (`PR_SET_PDEATHSIG(2const)`). That thread must wait for the child.
pub(crate) fn tied(command: &mut Command) -> &mut Command {
    let parent = getpid();
    // SAFETY: between fork and exec the closure makes two system calls, and neither allocates.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::TERM))?;
            // The parent may have died before the signal was asked for.
            if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
        })
    }
}
