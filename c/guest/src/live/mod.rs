//! A cell on the kernel of the machine itself.
//!
//! The program is started with the job as standard input and the place for its message as standard
//! output, in namespaces of its own whose files are those of the guest's image (`crates/backend-host`).
//! What `/init` does through devices of the virtual machine happens through these descriptors.
//!
//! This program is trusted and is root of the machine, the commands of the job are neither: between
//! fork and exec each gives up what would reach beyond the cell (`confine.rs`).

pub mod arch;
pub mod channel;
mod confine;
pub mod file;
mod first;
pub mod machine;
mod proc;

use alloc::format;

use preemptlab_protocol::{DONE_CODE, Message};
use rustix::io::Errno;

use crate::{
    boot, cell, kernel, network, results,
    trouble::{Attempt, Result, Trouble},
};

/// The first port that takes no privilege; commands have none in the network namespace.
const FIRST_FREE_PORT: &str = "/proc/sys/net/ipv4/ip_unprivileged_port_start";

/// Runs the cell, and ends with it.
pub fn run() -> ! {
    // In the process namespace of the machine.
    let machine = machine::take().attempt(|| "mount the machine's own /proc and /sys".into());
    // What follows happens in the process namespace that this process was given for its children.
    first::become_first();
    let message = match machine.and_then(|()| prepare()) {
        Ok(()) => cell::run(),
        Err(trouble) => Message::Failed(trouble.into_failure()),
    };
    results::send(&message);
    results::exit(DONE_CODE)
}

/// What `/init` does of its boot where a kernel runs already.
fn prepare() -> Result<()> {
    channel::take().attempt(|| "keep the job and the place for the results".into())?;
    boot::leave_console().attempt(|| "open /dev/null".into())?;
    machine::take_own().attempt(|| "mount the cell's own /proc".into())?;
    proc::mount()?;
    network::bring_up_loopback()?;
    match file::write_kernel(FIRST_FREE_PORT, "0") {
        Err(Errno::NOENT) => {}
        result => result.attempt(|| format!("write 0 to {FIRST_FREE_PORT}"))?,
    }
    let config = boot::config()?;
    if let Some(module) = config.modules.first() {
        return Err(Trouble::other(format!(
            "the machine's own kernel is given no module {module}"
        )));
    }
    confine::prepare()?;
    proc::protect()?;
    confine::rehearse()?;
    kernel::block_child_signal().attempt(|| "block SIGCHLD".into())?;
    config.prepare.iter().try_for_each(boot::prepare)
}
