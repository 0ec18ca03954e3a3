//! The two ports that matter, as descriptors: results go to the host, and an exit is an exit.

use preemptlab_protocol::{EXIT_PORT, RESULTS_PORT};
pub use preemptlab_sys::arch::syscall;

use super::{channel, confine};
use crate::kernel;

/// What a command could not be confined by ends with this status, and nothing was executed.
const NOT_CONFINED: i32 = 126;

/// Gives up what a command must not have. No port was ever allowed; of the machine there is more.
pub fn forbid_ports() {
    if confine::enter().is_err() {
        kernel::exit(NOT_CONFINED);
    }
}

/// Ends the process where the guest would end its machine. No watchdog is there to be told anything.
pub fn write_port(port: u16, _: u8) {
    if port == EXIT_PORT {
        kernel::exit(0);
    }
}

/// Hands results to the host.
pub fn write_port_bytes(port: u16, bytes: &[u8]) {
    if port == RESULTS_PORT {
        channel::send(bytes);
    }
}
