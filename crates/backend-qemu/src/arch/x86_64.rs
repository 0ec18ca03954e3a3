use preemptlab_protocol::{EXIT_PORT, RESULTS_PORT};

use super::board::Board;

/// Returns the board of a machine. The guest's init uses the HPET to end turns; the kernel is told
/// to leave it alone.
pub(super) fn board(has_turn_timer: bool) -> Board {
    let hpet = if has_turn_timer { "on" } else { "off" };
    Board {
        machine: format!("q35,hpet={hpet}"),
        devices: vec![
            format!("isa-debugcon,iobase={RESULTS_PORT:#x},chardev=results"),
            format!("isa-debug-exit,iobase={EXIT_PORT:#x},iosize=1"),
            "ib700".to_owned(),
        ],
    }
}
