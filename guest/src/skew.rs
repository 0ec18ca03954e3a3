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
const ENABLED: u64 = 1;

const TIMER_CONFIGURATION: usize = 0x140;
const TIMER_INTERRUPT: u64 = 1 << 2;
const TIMER_PERIODIC: u64 = 1 << 3;
const TIMER_VALUE_SET: u64 = 1 << 6;
const TIMER_MESSAGE: u64 = 1 << 14;

const COMPARATOR: usize = 0x148;
const MESSAGE: usize = 0x150;

/// The address of the message, in the upper half: in the range of devices, and no device's.
const NOWHERE: u64 = 0xfed8_0000 << 32;

/// Makes the timer fire every `period_ns`.
pub fn bound(period_ns: u64) -> Result<()> {
    let ticks = period_ns / TICK_NS;
    if ticks == 0 {
        return Err(Trouble::other(format!(
            "a period of {period_ns} ns is below what the HPET counts in"
        )));
    }
    let hpet = Registers::map()?;
    let timer = TIMER_INTERRUPT | TIMER_PERIODIC | TIMER_MESSAGE;
    hpet.write(MESSAGE, NOWHERE);
    hpet.write(TIMER_CONFIGURATION, timer | TIMER_VALUE_SET);
    // The first write sets when the timer fires first, the second its period.
    hpet.write(COMPARATOR, ticks);
    hpet.write(COMPARATOR, ticks);
    hpet.expect(MESSAGE, u64::MAX, NOWHERE)?;
    hpet.expect(TIMER_CONFIGURATION, timer, timer)?;
    hpet.expect(COMPARATOR, u64::MAX, ticks)?;
    hpet.write(CONFIGURATION, ENABLED);
    hpet.expect(CONFIGURATION, ENABLED, ENABLED)
}

/// The device's registers. They stay mapped, because init lives as long as the machine.
struct Registers(*mut u64);

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

    fn expect(&self, register: usize, mask: u64, value: u64) -> Result<()> {
        // SAFETY: every register named above lies in the mapping.
        let read = unsafe { self.0.byte_add(register).read_volatile() };
        if read & mask == value {
            return Ok(());
        }
        Err(Trouble::other(format!(
            "the HPET's register {register:#x} holds {read:#x} instead of {value:#x}; does the \
             machine have one (hpet=on), and does the kernel leave it alone (hpet=disable)?"
        )))
    }

    fn write(&self, register: usize, value: u64) {
        // SAFETY: as above.
        unsafe { self.0.byte_add(register).write_volatile(value) };
    }
}
