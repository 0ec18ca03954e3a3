//! QEMU's board `virt`, which has no ports: those of the protocol stand for its devices.
//!
//! | port | device |
//! |---|---|
//! | results | the second PL011 |
//! | `fw_cfg` | the same, in memory |
//! | watchdog | `i6300esb`, at [`WATCHDOG_SLOT`] of PCI |
//! | exit | `pvpanic-pci`, at [`EXIT_SLOT`] |
//!
//! They are reached through `/dev/mem`, because no driver is needed then, and none is in the way.

use core::{
    ptr,
    sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed},
};

use preemptlab_protocol::{
    EXIT_PORT, RESULTS_PORT, WATCHDOG_DISABLE_PORT, WATCHDOG_PORT,
    virt::{EXIT_SLOT, WATCHDOG_SLOT},
};
pub use preemptlab_sys::arch::syscall;
use rustix::{
    fd::OwnedFd,
    fs::{CWD, FileType, Mode, OFlags, makedev, mknodat, open, unlink},
    io::Errno,
    mm::{MapFlags, ProtFlags, mmap},
    system::{RebootCommand, reboot},
};

use crate::{
    clock::NS_PER_SEC,
    fw_cfg::{DATA_PORT, SELECTOR_PORT},
};

/// Addresses of devices (`base_memmap` in QEMU's hw/arm/virt.c), with PCI's configuration below 4 GiB.
const FW_CFG: u64 = 0x0902_0000;
const SECOND_UART: u64 = 0x0904_0000;
const PCI: u64 = 0x3f00_0000;

/// Where `fw_cfg` is told which file is read (QEMU docs/specs/fw_cfg.rst).
const FW_CFG_SELECTOR: usize = 8;

/// The control register of a PL011 (UARTCR), and its bits that let it transmit.
const UART_CONTROL: usize = 0x30;
const UART_TRANSMITS: u16 = 0x101;

/// Registers of a PCI device's configuration, and the bit of the command that lets it answer in memory.
const PCI_COMMAND: usize = 0x04;
const PCI_MEMORY: u16 = 1 << 1;
const PCI_BAR: usize = 0x10;

/// Registers of `i6300esb` (QEMU hw/watchdog/wdt_i6300esb.c): in its configuration, and in memory.
const ESB_CONFIG: usize = 0x60;
const ESB_LOCK: usize = 0x68;
const ESB_STAGES: [usize; 2] = [0, 4];
const ESB_RELOAD: usize = 0xc;

/// It neither interrupts after its first stage nor counts finely; its action is taken after its second one.
const ESB_QUIET: u16 = 0b11;
const ESB_ENABLED: u8 = 1 << 1;

/// The writes that let the next one change a stage.
const ESB_UNLOCK: [u16; 2] = [0x80, 0x86];

/// A count of a stage: 32,768 periods of 33 MHz.
const ESB_COUNT_NS: u64 = 32_768 * NS_PER_SEC / 33_000_000;

/// The event of `pvpanic` that ends the machine (`PVPANIC_SHUTDOWN`, include/uapi/misc/pvpanic.h).
const PVPANIC_SHUTDOWN: u8 = 1 << 2;

const PAGE_BYTES: usize = 4096;

/// The device with physical memory, mem(4), which is there before `/dev` is.
const MEMORY: &str = "/memory";

static FILES: Registers = Registers::new();
static RESULTS: Registers = Registers::new();
static WATCHDOG_CONFIG: Registers = Registers::new();
static WATCHDOG: Registers = Registers::new();
static END: Registers = Registers::new();

/// How often the machine was told to end.
static ENDS: AtomicU32 = AtomicU32::new(0);

/// Reaches the devices. Where that fails, the machine is switched off, because nothing can be told.
pub fn allow_ports() {
    if reach_devices().is_err() {
        switch_off();
    }
}

/// Nothing: a program that is executed has none of these mappings.
pub fn forbid_ports() {}

/// Writes a byte to a port.
pub fn write_port(port: u16, value: u8) {
    match port {
        WATCHDOG_PORT => arm_watchdog(expiry_ns(value)),
        WATCHDOG_DISABLE_PORT => WATCHDOG_CONFIG.write(ESB_LOCK, 0_u8),
        // The main loop of QEMU hears of it when all CPUs are idle, which those of an unruly command may never be.
        EXIT_PORT if ENDS.fetch_add(1, Relaxed) > 0 => switch_off(),
        EXIT_PORT => END.write(0, PVPANIC_SHUTDOWN),
        _ => {}
    }
}

/// Writes 16 bits to a port.
pub fn write_port_word(port: u16, value: u16) {
    if port == SELECTOR_PORT {
        FILES.write(FW_CFG_SELECTOR, value.to_be());
    }
}

/// Writes bytes to a port, one after the other.
pub fn write_port_bytes(port: u16, bytes: &[u8]) {
    if port == RESULTS_PORT {
        bytes.iter().for_each(|byte| RESULTS.write(0, *byte));
    }
}

/// Fills a slice from a port, byte by byte.
pub fn read_port_bytes(port: u16, bytes: &mut [u8]) {
    if port == DATA_PORT {
        bytes.iter_mut().for_each(|byte| *byte = FILES.read(0));
    }
}

/// The time that `ib700` takes, for which the port is named.
fn expiry_ns(value: u8) -> u64 {
    (30 - 2 * u64::from(value & 0xf)) * NS_PER_SEC
}

/// Has the watchdog expire after its two stages.
fn arm_watchdog(expiry_ns: u64) {
    WATCHDOG_CONFIG.write(ESB_LOCK, 0_u8);
    WATCHDOG_CONFIG.write(ESB_CONFIG, ESB_QUIET);
    for stage in ESB_STAGES {
        ESB_UNLOCK.into_iter().for_each(|word| WATCHDOG.write(ESB_RELOAD, word));
        WATCHDOG.write(stage, (expiry_ns / 2 / ESB_COUNT_NS) as u32);
    }
    WATCHDOG_CONFIG.write(ESB_LOCK, ESB_ENABLED);
}

fn switch_off() {
    // Only a kernel that refuses comes back.
    let _ = reboot(RebootCommand::PowerOff);
}

fn reach_devices() -> Result<(), Errno> {
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, MEMORY, FileType::CharacterDevice, mode, makedev(1, 1))?;
    let memory = open(MEMORY, OFlags::RDWR | OFlags::SYNC | OFlags::CLOEXEC, Mode::empty());
    unlink(MEMORY)?;
    let memory = memory?;
    FILES.map(&memory, FW_CFG)?;
    RESULTS.map(&memory, SECOND_UART)?;
    RESULTS.write(UART_CONTROL, UART_TRANSMITS);
    WATCHDOG_CONFIG.map(&memory, configuration_of(WATCHDOG_SLOT))?;
    WATCHDOG.map(&memory, WATCHDOG_CONFIG.memory_of_device())?;
    let end_config = Registers::new();
    end_config.map(&memory, configuration_of(EXIT_SLOT))?;
    END.map(&memory, end_config.memory_of_device())
}

/// The configuration of the device in a slot of the first bus (PCI Express, ECAM).
fn configuration_of(slot: u8) -> u64 {
    PCI + (u64::from(slot) << 15)
}

/// A device's registers.
struct Registers(AtomicPtr<u8>);

/// A width in which registers are read and written.
trait Word: Copy {}
impl Word for u8 {}
impl Word for u16 {}
impl Word for u32 {}

impl Registers {
    const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Maps those at a physical address.
    fn map(&self, memory: &OwnedFd, address: u64) -> Result<(), Errno> {
        let within = address as usize % PAGE_BYTES;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let page = address - within as u64;
        // SAFETY: a new mapping at a place of the kernel's choice, which is never unmapped.
        let mapped =
            unsafe { mmap(ptr::null_mut(), PAGE_BYTES, access, MapFlags::SHARED, memory, page)? };
        self.0.store(mapped.cast::<u8>().wrapping_add(within), Relaxed);
        Ok(())
    }

    /// Returns the address of the memory of the PCI device whose configuration this is, and lets it answer there.
    fn memory_of_device(&self) -> u64 {
        self.write(PCI_COMMAND, self.read::<u16>(PCI_COMMAND) | PCI_MEMORY);
        u64::from(self.read::<u32>(PCI_BAR) & !0xf)
    }

    fn read<T: Word + Default>(&self, at: usize) -> T {
        let start = self.0.load(Relaxed);
        if start.is_null() {
            return T::default();
        }
        // SAFETY: the offset is one of the device's registers, aligned to its width.
        unsafe { start.add(at).cast::<T>().read_volatile() }
    }

    fn write<T: Word>(&self, at: usize, value: T) {
        let start = self.0.load(Relaxed);
        if !start.is_null() {
            // SAFETY: as above.
            unsafe { start.add(at).cast::<T>().write_volatile(value) };
        }
    }
}
