//! QEMU's board for each architecture of guests.

mod board;
mod x86_64;

use preemptlab_model::Arch;

use self::board::Board;

/// Returns the board of an architecture, with or without the timer that ends turns.
pub(crate) fn board(arch: Arch, has_turn_timer: bool) -> Board {
    match arch {
        Arch::Amd64 => x86_64::board(has_turn_timer),
    }
}
