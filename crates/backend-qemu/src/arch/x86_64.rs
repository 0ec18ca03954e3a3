use preemptlab_protocol::{EXIT_PORT, RESULTS_PORT};

use super::board::Board;

/// Returns the board of a machine. It has no HPET: the kernel has the TSC and the local APIC's timers.
pub(super) fn board() -> Board {
    Board {
        machine: "q35,hpet=off".to_owned(),
        devices: vec![
            format!("isa-debugcon,iobase={RESULTS_PORT:#x},chardev=results"),
            format!("isa-debug-exit,iobase={EXIT_PORT:#x},iosize=1"),
            "ib700".to_owned(),
        ],
    }
}
