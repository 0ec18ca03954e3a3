//! arm64.
//!
//! `preempt_count` is a member of the current task's `thread_info` (arch/arm64/include/asm/thread_info.h), whose
//! address the kernel keeps in SP_EL0. Instructions load, change and store it; what they store is seen. The flag
//! `PREEMPT_NEED_RESCHED` is a word of its own behind it, inverted (arch/arm64/include/asm/preempt.h). Encodings are
//! those of the Arm Architecture Reference Manual (DDI 0487), C4.1 and C6.2.

mod class;
mod encoding;
mod memory;

use std::{collections::HashMap, ffi::CStr};

use preemptlab_protocol::{
    prices::Class,
    trace::{Register, stream::SiteKind},
};

use self::encoding::{general, word};
use super::processor::{Effect, Processor, Spaces, Use};
use crate::qemu::Guest;

/// arm64.
pub struct Aarch64;

/// The kernel's half of the address space: bit 55 chooses the table, and the bits above repeat it.
const KERNEL_START: u64 = 0xff80_0000_0000_0000;

/// Distance of the flag from the count, in bytes.
const NEED_RESCHED_OFFSET: u64 = 4;

/// The bit I of DAIF and of a saved program status.
const IRQ_MASKED: u64 = 1 << 7;

/// The bit of a saved program status that tells a mode of 32 bits, and the level of exceptions in one of 64 bits. Only
/// user space has modes of 32 bits.
const MODE_32_BITS: u64 = 0x10;
const LEVEL_MASK: u64 = 0xc;

/// The registers of one CPU in the interrupt controller: two frames of 64 KiB.
const REDISTRIBUTOR_BYTES: u64 = 0x2_0000;

/// Functions at work that are recorded.
const CALLERS_MAX: usize = 24;

impl Processor for Aarch64 {
    fn registers(&self) -> &'static [Register] {
        &Register::ARM64
    }

    fn class(&self, address: u64, bytes: &[u8], _: bool) -> Class {
        class::class(address >= KERNEL_START, bytes)
    }

    fn entries(&self, guest: &Guest) -> Option<HashMap<u64, Class>> {
        let vectors = guest.register(Register::VbarEl1);
        (vectors >= KERNEL_START).then(|| class::entries(vectors))
    }

    /// Its interrupt controller and its timers are registers of the system; devices are mapped anywhere.
    fn leaves_block(&self, _: u64, _: &[u8]) -> bool {
        false
    }

    fn kernel_start(&self) -> u64 {
        KERNEL_START
    }

    fn effect(&self, _: u64, bytes: &[u8], preempt_count: u64) -> Option<Effect> {
        let word = word(bytes);
        store(word, preempt_count).or_else(|| system(word))
    }

    /// RET, and those that check a signed address.
    fn is_return(&self, bytes: &[u8]) -> bool {
        let word = word(bytes);
        word & 0xffff_fc1f == 0xd65f_0000 || matches!(word, 0xd65f_0bff | 0xd65f_0fff)
    }

    fn uses(&self, block: &[&[u8]]) -> Vec<Use> {
        memory::uses(block)
    }

    fn spaces(&self) -> Spaces {
        memory::SPACES
    }

    fn stack_pointer(&self) -> Register {
        Register::Sp
    }

    fn count_address(&self, guest: &Guest, preempt_count: u64) -> u64 {
        guest.register(Register::SpEl0).wrapping_add(preempt_count)
    }

    fn restores_irqs(&self, guest: &Guest, effect: Effect) -> bool {
        effect.amount.is_none_or(|register| guest.register(register) & IRQ_MASKED == 0)
    }

    fn returns_to_user(&self, guest: &Guest) -> bool {
        let status = guest.register(Register::SpsrEl1);
        status & MODE_32_BITS != 0 || status & LEVEL_MASK == 0
    }

    /// The link register, and those that the records of frames keep: each holds the address of the next, and a
    /// return address (AAPCS64, 6.4.6).
    fn stack(&self, guest: &Guest) -> Option<Vec<u64>> {
        let mut words = vec![guest.register(Register::X30)];
        let mut frame = guest.register(Register::X29);
        while words.len() < CALLERS_MAX && frame >= KERNEL_START && frame.is_multiple_of(16) {
            let Some(record) = guest.bytes(frame, 16) else { break };
            let (next, address) = record.split_at(8);
            let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
            let (next, address) = (word(next), word(address));
            words.push(if address >= KERNEL_START { address } else { 0 });
            // Frames lie one above the other; that below an interrupt may lie on another stack.
            if next == frame {
                break;
            }
            frame = next;
        }
        Some(words)
    }

    fn processor_id(&self) -> &'static CStr {
        c"mp-affinity"
    }

    /// Each CPU has registers of its own in the interrupt controller, 128 KiB apart (Arm IHI 0069, 12.10). QEMU
    /// numbers up to 16 CPUs in the lowest level of affinity.
    fn message_address(&self, first: u64, processor_id: u64) -> u64 {
        first + (processor_id & 0xf) * REDISTRIBUTOR_BYTES
    }
}

/// `str wT, [xN, #offset]` of what may be the count or the flag.
fn store(word: u32, preempt_count: u64) -> Option<Effect> {
    if word & 0xffc0_0000 != 0xb900_0000 {
        return None;
    }
    let offset = u64::from(word >> 10 & 0xfff) * 4;
    let base = general(word >> 5)?;
    let value = general(word);
    let kind = match (offset.checked_sub(preempt_count)?, value) {
        (0, None) => SiteKind::PreemptSet(0),
        (0, Some(_)) => SiteKind::PreemptSetValue,
        (NEED_RESCHED_OFFSET, None) => SiteKind::NeedReschedSet,
        // It is 1 where it is not 0.
        (NEED_RESCHED_OFFSET, Some(_)) => SiteKind::NeedReschedClear,
        _ => return None,
    };
    Some(Effect { kind, amount: value, address: Some((base, preempt_count)) })
}

/// Instructions about interrupts: MSR of DAIF, ERET, WFI.
fn system(word: u32) -> Option<Effect> {
    let masks_irqs = word >> 8 & 2 != 0;
    let kind = match word {
        // ERET, and those that check a signed address.
        0xd69f_03e0 | 0xd69f_0bff | 0xd69f_0fff => SiteKind::ExceptionReturn,
        0xd503_207f => SiteKind::Halt,
        // WFIT
        _ if word & 0xffff_ffe0 == 0xd503_1020 => SiteKind::Halt,
        // MSR DAIFSet and DAIFClr, #imm
        _ if word & 0xffff_f0ff == 0xd503_40df && masks_irqs => SiteKind::IrqsOff,
        _ if word & 0xffff_f0ff == 0xd503_40ff && masks_irqs => SiteKind::IrqsOn,
        // MSR DAIF, xT
        _ if word & 0xffff_ffe0 == 0xd51b_4220 => {
            let amount = general(word);
            return Some(Effect { kind: SiteKind::FlagsRestore, amount, address: None });
        }
        _ => return None,
    };
    Some(kind.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The count's offset in Debian's kernels since 6.12.
    const COUNT: u64 = 8;

    #[track_caller]
    fn effect(word: u32) -> Option<Effect> {
        Aarch64.effect(0, &word.to_le_bytes(), COUNT)
    }

    #[test]
    fn finds_changes_of_the_count() {
        let address = |base| Some((base, COUNT));
        // str w1, [x0, #8]; str wzr, [x19, #8]
        let found = effect(0xb900_0801).unwrap();
        assert_eq!(found.kind, SiteKind::PreemptSetValue);
        assert_eq!((found.amount, found.address), (Some(Register::X1), address(Register::X0)));
        let found = effect(0xb900_0a7f).unwrap();
        assert_eq!((found.kind, found.address), (SiteKind::PreemptSet(0), address(Register::X19)));
        // str wzr, [x0, #12]; str w1, [x0, #12]
        let found = effect(0xb900_0c1f).unwrap();
        assert_eq!((found.kind, found.address), (SiteKind::NeedReschedSet, address(Register::X0)));
        assert_eq!(effect(0xb900_0c01).unwrap().kind, SiteKind::NeedReschedClear);
        // str w1, [sp, #8]; str x1, [x0, #8]; ldr w1, [x0, #8]; str w1, [x0, #16]; str w1, [x0, #4]
        for word in [0xb900_0be1, 0xf900_0401, 0xb940_0801, 0xb900_1001, 0xb900_0401] {
            assert_eq!(effect(word), None, "{word:#x}");
        }
    }

    #[test]
    fn finds_interrupts_and_returns() {
        let kind = |word| effect(word).map(|effect| effect.kind);
        assert_eq!(kind(0xd503_43df), Some(SiteKind::IrqsOff)); // msr daifset, #3
        assert_eq!(kind(0xd503_42df), Some(SiteKind::IrqsOff)); // msr daifset, #2
        assert_eq!(kind(0xd503_4fdf), Some(SiteKind::IrqsOff)); // msr daifset, #15
        assert_eq!(kind(0xd503_43ff), Some(SiteKind::IrqsOn)); // msr daifclr, #3
        assert_eq!(kind(0xd503_48ff), None); // msr daifclr, #8: debug exceptions
        assert_eq!(kind(0xd503_207f), Some(SiteKind::Halt)); // wfi
        assert_eq!(kind(0xd503_205f), None); // wfe
        assert_eq!(kind(0xd69f_03e0), Some(SiteKind::ExceptionReturn)); // eret
        let restore = effect(0xd51b_4233).unwrap(); // msr daif, x19
        assert_eq!((restore.kind, restore.amount), (SiteKind::FlagsRestore, Some(Register::X19)));
        assert_eq!(effect(0xd53b_4233), None); // mrs x19, daif
        let is_return = |word: u32| Aarch64.is_return(&word.to_le_bytes());
        assert!(is_return(0xd65f_03c0) && is_return(0xd65f_0020)); // ret; ret x1
        assert!(is_return(0xd65f_0bff)); // retaa
        assert_eq!(kind(0xd69f_0bff), Some(SiteKind::ExceptionReturn)); // eretaa
        assert_eq!(effect(0xd51b_423f).unwrap().amount, None); // msr daif, xzr
        assert!(!is_return(0xd61f_0020) && !is_return(0xd503_201f)); // br x1; nop
    }

    #[test]
    fn each_cpu_has_registers_of_its_own() {
        let address = |cpu| Aarch64.message_address(0x80b_0200, cpu);
        assert_eq!([0, 1, 7].map(address), [0x80b_0200, 0x80d_0200, 0x819_0200]);
    }

    #[test]
    fn garbage_has_no_effect() {
        for bytes in [&[][..], &[0xc3], &[0xff; 3], &[0xff; 4]] {
            assert_eq!(Aarch64.effect(0, bytes, COUNT), None);
            assert!(!Aarch64.is_return(bytes));
        }
        assert_eq!(Aarch64.effect(0, &0xb900_0801_u32.to_le_bytes(), u64::MAX), None);
    }
}
