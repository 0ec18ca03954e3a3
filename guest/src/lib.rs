//! What the guest's `/init` does, from the kernel's hand-over to the last byte on the results port.
//!
//! [`run`] boots (mounts, modules, preparations), stops the machine for the snapshot, and then runs
//! the one cell that it was forked for. It never writes to the console, because console output is
//! itself a latency.
//!
//! With the feature `cell` it is the program that runs a cell on the kernel of the machine itself
//! (`live/`): nothing is booted, and no device of a virtual machine is touched.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

#[cfg_attr(feature = "cell", expect(dead_code, reason = "nothing is booted"))]
mod boot;
mod cell;
mod children;
mod command;
mod counters;
#[cfg_attr(feature = "cell", path = "live/entropy.rs")]
mod entropy;
#[cfg_attr(feature = "cell", path = "live/fw_cfg.rs")]
mod fw_cfg;
mod guard;
#[cfg(feature = "cell")]
mod live;
mod login;
mod network;
#[cfg_attr(feature = "cell", path = "live/preempt.rs")]
mod preempt;
#[cfg_attr(feature = "cell", path = "live/processes.rs")]
mod processes;
mod program;
mod results;
#[cfg_attr(feature = "cell", expect(dead_code, reason = "no module is loaded"))]
mod settings;
mod slack;
#[cfg(not(feature = "cell"))]
mod snapshot;
mod stage;
mod system;
mod tick;
mod trouble;
#[cfg(all(not(feature = "cell"), target_arch = "aarch64"))]
mod virt;
mod watchdog;

#[cfg(feature = "cell")]
pub use live::run;
#[cfg(feature = "cell")]
use live::{arch, file};
#[cfg(not(feature = "cell"))]
use preemptlab_protocol::{DONE_CODE, Message};
#[cfg(all(not(feature = "cell"), target_arch = "x86_64"))]
use preemptlab_sys::arch;
#[cfg(not(feature = "cell"))]
use preemptlab_sys::file;
use preemptlab_sys::{clock, kernel};
pub use results::panicked;
#[cfg(all(not(feature = "cell"), target_arch = "aarch64"))]
use virt as arch;

/// Runs the guest from its boot to the end of its cell.
#[cfg(not(feature = "cell"))]
pub fn run() -> ! {
    arch::allow_ports();
    match boot::boot() {
        Ok(system) => results::send(&Message::Ready(system)),
        Err(trouble) => {
            results::send(&Message::Failed(trouble.into_failure()));
            results::exit(DONE_CODE);
        }
    }
    snapshot::wait();
    // What follows happens once per cell.
    results::send(&cell::run());
    results::exit(DONE_CODE)
}
