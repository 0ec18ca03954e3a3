use preemptlab_model::{GuestCpu, Machine};
use preemptlab_protocol::virt::{EXIT_SLOT, WATCHDOG_SLOT};

use super::board::Board;

/// Returns the board of a machine. The guest finds PCI's configuration below 4 GiB (`highmem-ecam`).
///
/// Where no profile names a processor, it is the one whose guests take the least of the host's time: `max` has pointer
/// authentication, for which QEMU computes a cipher.
pub(super) fn board(machine: &Machine) -> Board {
    let cpu = machine.prices.as_ref().and_then(|pricing| pricing.of.cpu);
    Board {
        machine: "virt,gic-version=3,highmem-ecam=off".to_owned(),
        cpu: cpu.unwrap_or(GuestCpu::NeoverseN1).name().to_owned(),
        devices: vec![
            ("-serial", "chardev:results".to_owned()),
            ("-device", format!("i6300esb,addr={WATCHDOG_SLOT:#x}")),
            ("-device", format!("pvpanic-pci,addr={EXIT_SLOT:#x}")),
        ],
    }
}
