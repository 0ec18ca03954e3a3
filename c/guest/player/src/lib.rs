//! Plays a scenario in the guest: the program `/player`.
//!
//! Its one argument is a [`preemptlab_protocol::script::Script`]; it prints a [`preemptlab_protocol::script::Played`] as
//! one line. Each thread of the script is a process with one thread, which to the scheduler is the
//! same. What happens in the kernel, the module `preemptlab_scenario` does (`kmod/scenario`), whose
//! device is only opened by a script that needs it. A script that cannot be played ends the program
//! with status 2 and a reason on its standard error.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod actor;
mod board;
mod busy;
mod check;
mod device;
mod folder;
mod futex;
mod kernel_threads;
mod operation;
mod play;
mod quiet;
mod scheduler;
mod trouble;

use alloc::{format, string::String};
use core::panic::PanicInfo;

use preemptlab_protocol::script::Script;
use preemptlab_sys::{
    file::{self, say},
    kernel,
};
use rustix::fd::RawFd;

use crate::trouble::{Attempt, Result, Trouble};

const STDOUT: RawFd = 1;
const STDERR: RawFd = 2;

/// The status of a player that cannot play its script.
const REFUSED: i32 = 2;

/// The longest argument that the kernel takes (`MAX_ARG_STRLEN` in include/uapi/linux/binfmts.h),
/// and the program's name.
const ARGUMENTS_BYTES_MAX: usize = (128 << 10) + 4096;

/// Plays the script of the command line.
pub fn run() -> ! {
    match script().and_then(|script| play::play(&script)) {
        Ok(played) => {
            let line = serde_json::to_string(&played).unwrap_or_default();
            say(STDOUT, &format!("{line}\n"));
            kernel::exit(0)
        }
        Err(trouble) => {
            complain(&trouble.0);
            kernel::exit(REFUSED)
        }
    }
}

/// Says why the program cannot go on.
pub fn panicked(info: &PanicInfo<'_>) -> ! {
    complain(&format!("{info}"));
    kernel::exit(REFUSED)
}

/// The script, from the command line, which `_start` does not hand on.
fn script() -> Result<Script> {
    let bytes = file::read("/proc/self/cmdline", ARGUMENTS_BYTES_MAX)
        .attempt(|| "read the command line".into())?;
    let mut arguments = bytes.split(|&byte| byte == 0).skip(1);
    // A NUL ends the last argument, and nothing follows it.
    let (Some(script), Some([]), None) = (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err(Trouble("usage: player SCRIPT, a scenario as JSON".into()));
    };
    let script = serde_json::from_slice(script)
        .map_err(|error| Trouble(format!("the script cannot be read: {error}")))?;
    check::check(&script)?;
    Ok(script)
}

fn complain(reason: &str) {
    say(STDERR, &format!("player: {reason}\n"));
}

/// A name as the kernel takes it.
fn c_string(name: &str) -> Result<alloc::ffi::CString> {
    alloc::ffi::CString::new(name).map_err(|_| Trouble(String::from("a name holds a NUL")))
}
