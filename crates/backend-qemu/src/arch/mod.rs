//! QEMU's board for each architecture of guests.

mod aarch64;
mod board;
mod x86_64;

use preemptlab_model::{Arch, Machine};

use self::board::Board;

/// Returns the board of a machine.
pub(crate) fn board(machine: &Machine) -> Board {
    match machine.arch {
        Arch::Amd64 => x86_64::board(machine),
        Arch::Arm64 => aarch64::board(machine),
    }
}
