//! A timer of the virtual machine that ends the time slices of the virtual CPUs.
//!
//! Under `-icount` QEMU runs the CPUs one after the other, each until the next virtual timer is
//! due. A periodic timer that nobody in the guest notices bounds how far they drift apart: the
//! HPET's comparator 2, whose message goes to an address where nothing lives. The kernel runs with
//! `hpet=disable`, so that the device is free (IA-PC HPET specification 1.0a).

use alloc::format;
use core::ptr;

use rustix::{
    fs::{Mode, OFlags, open},
    mm::{MapFlags, ProtFlags, mmap},
};

use crate::trouble::{Attempt, Result, Trouble};

const HPET_ADDRESS: u64 = 0xfed0_0000;
const HPET_BYTES: usize = 1 << 10;

/// QEMU's HPET counts at 100 MHz (`HPET_CLK_PERIOD`, QEMU include/hw/timer/hpet.h).
const TICK_NS: u64 = 10;

const CONFIGURATION: usize = 0x010;
const ENABLED: u32 = 1;

const TIMER_CONFIGURATION: usize = 0x140;
const TIMER_INTERRUPT: u32 = 1 << 2;
const TIMER_PERIODIC: u32 = 1 << 3;
const TIMER_VALUE_SET: u32 = 1 << 6;
const TIMER_MESSAGE: u32 = 1 << 14;

const COMPARATOR: usize = 0x148;
const MESSAGE_VALUE: usize = 0x150;
const MESSAGE_ADDRESS: usize = 0x154;

/// In the range of devices, and no device's.
const NOWHERE: u32 = 0xfed8_0000;

/// Makes the timer fire every `period_ns`.
pub fn bound(period_ns: u64) -> Result<()> {
    let ticks = u32::try_from(period_ns / TICK_NS).ok().filter(|ticks| *ticks > 0);
    let ticks = ticks.ok_or_else(|| {
        Trouble::other(format!("a slice of {period_ns} ns is beyond the HPET's range"))
    })?;
    let hpet = Registers::map()?;
    let timer = TIMER_INTERRUPT | TIMER_PERIODIC | TIMER_MESSAGE;
    hpet.write(MESSAGE_VALUE, 0);
    hpet.write(MESSAGE_ADDRESS, NOWHERE);
    hpet.write(TIMER_CONFIGURATION, timer | TIMER_VALUE_SET);
    // The first write sets when the timer fires first, the second its period.
    hpet.write(COMPARATOR, ticks);
    hpet.write(COMPARATOR, ticks);
    hpet.write(CONFIGURATION, ENABLED);
    for (register, mask, value) in [
        (MESSAGE_ADDRESS, u32::MAX, NOWHERE),
        (TIMER_CONFIGURATION, timer, timer),
        (COMPARATOR, u32::MAX, ticks),
        (CONFIGURATION, ENABLED, ENABLED),
    ] {
        let read = hpet.read(register);
        if read & mask != value {
            return Err(Trouble::other(format!(
                "the HPET's register {register:#x} holds {read:#x} instead of {value:#x}; does the \
                 machine have one (hpet=on), and does the kernel leave it alone (hpet=disable)?"
            )));
        }
    }
    Ok(())
}

/// The device's registers. They stay mapped, because init lives as long as the machine.
struct Registers(*mut u32);

impl Registers {
    fn map() -> Result<Self> {
        let memory = open("/dev/mem", OFlags::RDWR | OFlags::SYNC | OFlags::CLOEXEC, Mode::empty())
            .attempt(|| "open /dev/mem".into())?;
        // SAFETY: a new mapping at a place of the kernel's choice, of a device that the kernel
        // leaves alone.
        let registers = unsafe {
            mmap(
                ptr::null_mut(),
                HPET_BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                memory,
                HPET_ADDRESS,
            )
        };
        registers
            .map(|address| Self(address.cast()))
            .attempt(|| format!("map the HPET at {HPET_ADDRESS:#x}"))
    }

    fn read(&self, register: usize) -> u32 {
        // SAFETY: every register named above lies in the mapping.
        unsafe { self.0.byte_add(register).read_volatile() }
    }

    fn write(&self, register: usize, value: u32) {
        // SAFETY: as above.
        unsafe { self.0.byte_add(register).write_volatile(value) };
    }
}
