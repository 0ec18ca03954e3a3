use preemptlab_model::{Machine, Precaution};
use preemptlab_protocol::{EXIT_PORT, RESULTS_PORT};

use super::board::Board;
use crate::topology;

/// Returns the board of a machine. It has no HPET: the kernel has the TSC and the local APIC's timers.
pub(super) fn board(machine: &Machine) -> Board {
    // Of an option that is there twice the last one counts.
    let hpet = if machine.without.contains(&Precaution::Hpet) { ",hpet=on" } else { "" };
    Board {
        machine: format!("q35,hpet=off{hpet}{}", topology::caches(machine.topology)),
        cpu: cpu(machine),
        devices: vec![
            ("-device", format!("isa-debugcon,iobase={RESULTS_PORT:#x},chardev=results")),
            ("-device", format!("isa-debug-exit,iobase={EXIT_PORT:#x},iosize=1")),
            ("-device", "ib700".to_owned()),
        ],
    }
}

/// Returns the CPU of a machine in virtual time. QEMU's own is AMD's, which describes threads and caches
/// in leaves that QEMU's translator lacks (`topoext`); a kernel looks for them in other leaves of
/// Intel's.
///
/// Where instructions have prices, the guest does not see that repeated string instructions are fast:
/// QEMU executes them byte by byte, and kernel and C library then copy 8 bytes an instruction. (The
/// kernel patches its copies at boot, so this belongs to the boot.)
fn cpu(machine: &Machine) -> String {
    let mut cpu = "max".to_owned();
    if machine.topology.is_some() {
        cpu += ",vendor=GenuineIntel";
    }
    if machine.prices.is_some() && !machine.without.contains(&Precaution::RepStrings) {
        cpu += ",-erms,-fsrm,-fsrs,-fsrc,-fzrm";
    }
    cpu
}
