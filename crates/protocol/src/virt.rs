//! The slots of PCI devices that host and guest agree on, on QEMU's board `virt`.

/// Slot of the watchdog, `i6300esb`.
pub const WATCHDOG_SLOT: u8 = 1;

/// Slot of `pvpanic-pci`, through which the guest ends the machine.
pub const EXIT_SLOT: u8 = 2;
