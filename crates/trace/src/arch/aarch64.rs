//! arm64: its exceptions, whose vectors tell a level and a kind and no number, and its registers by AAPCS64.

use preemptlab_protocol::trace::{Only, Operand, Register};
use preemptlab_symbols::{Symbols, Types};
use syscalls::aarch64::Sysno;

use super::info::{ArchInfo, Entry};
use crate::point::Point;

pub(super) const INFO: ArchInfo = ArchInfo {
    machine: "aarch64",
    entry_prefix: "el",
    entries,
    device_entry: None,
    timer_entry: TIMER,
    handlers: &[
        ("arch_timer_handler_virt", TIMER),
        ("arch_timer_handler_phys", TIMER),
        ("ipi_handler", "ipi"),
        ("generic_smp_call_function_single_interrupt", CALL),
    ],
    call_entries: &[CALL],
    timer_event: None,
    vectors: &[],
    timer_message: (PENDING_ADDRESS, 1 << IPI_TIMER),
    syscall_entry: None,
    syscall,
    registers: &Register::ARM64,
    arguments: [Register::X0, Register::X1, Register::X2, Register::X3],
    return_address: Operand::Register(Register::X30),
    is_user: |status| status & MODE_32_BITS != 0 || status & LEVEL_MASK == 0,
    frame_words: 0,
    cycle_ns: COUNTER_CYCLE_NS,
    // BL
    call_bytes: 4,
    spin_wait: "queued_spin_lock_slowpath",
    preempt_count,
};

/// The interrupt of a CPU's timer.
const TIMER: &str = "arch_timer";

/// The interrupt by which a CPU has a function called on another one.
const CALL: &str = "call_function";

/// The counter of QEMU's processors `neoverse-n1` and `cortex-a72` has 62.5 MHz (`GTIMER_BACKCOMPAT_HZ`, target/arm/cpu.h, QEMU 10.0).
const COUNTER_CYCLE_NS: u64 = 16;

/// The register by which software makes the first CPU's own interrupts pending: `GICR_ISPENDR0` (Arm IHI 0069,
/// 12.11) on QEMU's board `virt` (`VIRT_GIC_REDIST`, hw/arm/virt.c).
const PENDING_ADDRESS: u64 = 0x080a_0000 + 0x1_0000 + 0x200;

/// The interrupt by which one CPU has another one look after its timers (`IPI_TIMER`, arch/arm64/kernel/smp.c, 6.1 to
/// 7.3). That of the timer itself is of no use: its handler does nothing where the timer has not expired.
const IPI_TIMER: u32 = 4;

/// The bit of a saved program status that tells a mode of 32 bits, and the level of exceptions in one of 64 bits (Arm
/// Architecture Reference Manual, DDI 0487, C5.2.20). Only user space has modes of 32 bits.
const MODE_32_BITS: u64 = 0x10;
const LEVEL_MASK: u64 = 0xc;

/// The place of the class of an exception in its syndrome, and the classes (DDI 0487, D24.2.45).
const CLASS_SHIFT: u8 = 26;
const SVC: u64 = 0x15;
/// Aborts of instructions and of data, from below and from the same level.
const ABORTS: [u64; 4] = [0x20, 0x21, 0x24, 0x25];

/// Returns the entries that a symbol is, behind a vector (arch/arm64/kernel/entry.S since 5.16): the level that was
/// interrupted, its stack and its width, and the kind. System calls and faults have the same vector; their classes
/// differ. System calls of 32 bits have numbers of their own, and are told as exceptions.
fn entries(symbol: &str) -> Vec<Entry<'_>> {
    let below = symbol.strip_prefix("el0t_64_").or_else(|| symbol.strip_prefix("el0t_32_"));
    let Some(kind) = below.or_else(|| symbol.strip_prefix("el1h_64_")) else { return Vec::new() };
    let interrupted = [Register::ElrEl1, Register::SpsrEl1].map(Operand::Register);
    let entry = |name, point| Entry { name, point, operands: interrupted.into(), only: None };
    let of = |classes: &[u64]| {
        Some(Only { register: Register::EsrEl1, shift: CLASS_SHIFT, values: classes.to_vec() })
    };
    let svc = (symbol == "el0t_64_sync").then(|| Entry {
        operands: vec![Operand::Register(Register::X8)],
        only: of(&[SVC]),
        ..entry("svc", Point::Syscall)
    });
    match kind {
        "irq" => vec![entry("irq", Point::Interrupt)],
        "fiq" => vec![entry("fiq", Point::Interrupt)],
        "error" => vec![entry("serror", Point::Exception)],
        "sync" => {
            let fault = Entry { only: of(&ABORTS), ..entry("page_fault", Point::Exception) };
            svc.into_iter().chain([fault, entry("sync", Point::Exception)]).collect()
        }
        _ => Vec::new(),
    }
}

fn syscall(number: u32) -> Option<&'static str> {
    Sysno::new(number as usize).map(|call| call.name())
}

/// Returns the offset of `preempt_count` in `thread_info`, which is the first member of a task and what SP_EL0 points
/// to (arch/arm64/include/asm/thread_info.h). Its lower half is the count.
fn preempt_count(_: &Symbols, types: &Types) -> Result<u64, &'static str> {
    let member = types.member_offset("task_struct", "thread_info.preempt_count");
    Ok(member.ok_or("member thread_info.preempt_count")?.offset_bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_known_by_their_level_and_class() {
        let names = |symbol| {
            entries(symbol).into_iter().map(|entry| (entry.name, entry.point)).collect::<Vec<_>>()
        };
        assert_eq!(names("el1h_64_irq"), [("irq", Point::Interrupt)]);
        let sync =
            [("svc", Point::Syscall), ("page_fault", Point::Exception), ("sync", Point::Exception)];
        assert_eq!(names("el0t_64_sync"), sync);
        assert_eq!(names("el1h_64_sync"), sync[1..]);
        assert_eq!(names("el0t_32_sync"), sync[1..]);
        for symbol in ["el1h_64_irq_handler", "el0_svc", "el1t_64_irq", "elf_read", "el"] {
            assert_eq!(names(symbol), [], "{symbol}");
        }
        let holds = |place: usize, class: u64| {
            let only = entries("el0t_64_sync").swap_remove(place).only;
            only.is_none_or(|only| only.holds(class << 26 | 0x7ff))
        };
        // A system call, a fault, and a breakpoint.
        assert_eq!([0x15, 0x24, 0x3c].map(|class| holds(0, class)), [true, false, false]);
        assert_eq!([0x15, 0x24, 0x3c].map(|class| holds(1, class)), [false, true, false]);
        assert!(holds(2, 0x3c));
    }

    #[test]
    fn user_space_is_known_by_the_saved_mode() {
        // EL0t, EL1h, and a mode of 32 bits.
        assert_eq!([0x6000_0000, 0x6000_0005, 0x10].map(INFO.is_user), [true, false, true]);
    }

    #[test]
    fn system_calls_have_the_architecture_s_numbers() {
        assert_eq!([63, 64, 93].map(syscall), [Some("read"), Some("write"), Some("exit")]);
    }
}
