//! A cell on the kernel of the machine itself.
//!
//! The program is started with the job as standard input and the place for its message as standard
//! output, in namespaces of its own whose files are those of the guest's image (`crates/live`).
//! What `/init` does through devices of the virtual machine happens through these descriptors.

pub mod arch;
pub mod channel;
pub mod file;
mod first;

use alloc::format;

use preemptlab_protocol::{DONE_CODE, Message};
use rustix::mount::{MountFlags, mount};

use crate::{
    boot, cell, kernel, network, results,
    trouble::{Attempt, Result, Trouble},
};

/// Runs the cell, and ends with it.
pub fn run() -> ! {
    // What follows happens in the process namespace that this process was given for its children.
    first::become_first();
    let message = match prepare() {
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
    mount("proc", "/proc", "proc", MountFlags::NOSUID, None)
        .attempt(|| "mount proc on /proc".into())?;
    network::bring_up_loopback()?;
    let config = boot::config()?;
    if let Some(module) = config.modules.first() {
        return Err(Trouble::other(format!(
            "the machine's own kernel is given no module {module}"
        )));
    }
    kernel::block_child_signal().attempt(|| "block SIGCHLD".into())?;
    config.prepare.iter().try_for_each(boot::prepare)
}
