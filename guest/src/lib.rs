//! What the guest's `/init` does, from the kernel's hand-over to the last byte on the results port.
//!
//! [`run`] boots (mounts, modules, preparations), stops the machine for the snapshot, and then runs
//! the one cell that it was forked for. It never writes to the console, because console output is
//! itself a latency.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod boot;
mod cell;
mod children;
mod command;
mod counters;
mod entropy;
mod fw_cfg;
mod network;
mod preempt;
mod processes;
mod results;
mod settings;
mod skew;
mod snapshot;
mod stage;
mod system;
mod tick;
mod trouble;
mod watchdog;

use preemptlab_protocol::{DONE_CODE, Message};
use preemptlab_sys::{arch, clock, file, kernel};
pub use results::panicked;

/// Runs the guest from its boot to the end of its cell.
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
