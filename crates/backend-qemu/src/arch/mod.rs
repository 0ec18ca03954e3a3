//! QEMU's board for each architecture of guests.

mod board;
mod x86_64;

use preemptlab_model::Arch;

use self::board::Board;

/// Returns the board of an architecture.
pub(crate) fn board(arch: Arch) -> Board {
    match arch {
        Arch::Amd64 => x86_64::board(),
    }
}
