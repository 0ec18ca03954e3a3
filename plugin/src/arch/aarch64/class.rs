//! Which class of prices an instruction is of. Encodings are those of the Arm Architecture Reference Manual (DDI 0487),
//! C4.1 and C5. Only instructions of ARMv8.2 are told apart: QEMU's processors here have no others.

use std::collections::HashMap;

use disarm64::{InsnOpcode, decoder::decode};
use disarm64_defn::InsnClass;
use preemptlab_protocol::prices::Class;

use super::encoding::word;

/// Tells the class of an instruction. Bytes that are none are plain.
pub fn class(in_kernel: bool, bytes: &[u8]) -> Class {
    let either = |user, kernel| if in_kernel { kernel } else { user };
    let plain = either(Class::UserPlain, Class::KernelPlain);
    let branch = either(Class::UserBranch, Class::KernelBranch);
    let word = word(bytes);
    let Some(instruction) = decode(word) else { return plain };
    let definition = instruction.definition();
    match (definition.class, definition.mnemonic) {
        (_, "eret" | "eretaa" | "eretab") => Class::Eret,
        (_, "ret" | "retaa" | "retab") => branch,
        (_, "udiv" | "sdiv") => Class::Divide,
        // A prefetch waits for nothing.
        (_, "prfm" | "prfum") => plain,
        (InsnClass::IC_SYSTEM, name) => system(name, word).unwrap_or(plain),
        (InsnClass::BRANCH_REG, _) => Class::Indirect,
        (
            InsnClass::BRANCH_IMM
            | InsnClass::COMPBRANCH
            | InsnClass::CONDBRANCH
            | InsnClass::TESTBRANCH,
            _,
        ) => branch,
        (InsnClass::DP_3SRC, _) => Class::Multiply,
        (class, _) if is_atomic(class) => Class::Locked,
        (InsnClass::LDSTEXCL, name) if is_exclusive(name) => Class::Locked,
        (class, _) if is_load_or_store(class) => {
            if is_of_vector_registers(word) {
                Class::Vector
            } else {
                either(Class::UserMemory, Class::KernelMemory)
            }
        }
        (class, _) if is_general(class) => plain,
        _ => Class::Vector,
    }
}

/// Instructions that read memory and write it as one.
pub(super) fn is_atomic(class: InsnClass) -> bool {
    matches!(class, InsnClass::LSE_ATOMIC | InsnClass::LSE128_ATOMIC | InsnClass::THE)
}

/// Loads and stores that another CPU's access may fail (LDXR, STXR), and none that only have an order (LDAR, STLR).
fn is_exclusive(name: &str) -> bool {
    ["ldx", "ldax", "stx", "stlx"].iter().any(|start| name.starts_with(start))
}

pub(super) fn is_load_or_store(class: InsnClass) -> bool {
    matches!(
        class,
        InsnClass::LDST_IMM10
            | InsnClass::LDST_IMM9
            | InsnClass::LDST_POS
            | InsnClass::LDST_REGOFF
            | InsnClass::LDST_UNPRIV
            | InsnClass::LDST_UNSCALED
            | InsnClass::LDSTEXCL
            | InsnClass::LDSTNAPAIR_OFFS
            | InsnClass::LDSTPAIR_INDEXED
            | InsnClass::LDSTPAIR_OFF
            | InsnClass::LOADLIT
            | InsnClass::RCPC3
    )
}

/// The bit V of loads and stores (C4.1.94).
pub(super) fn is_of_vector_registers(word: u32) -> bool {
    word & 1 << 26 != 0
}

/// Instructions of general registers, and exceptions, whose price their entry has.
fn is_general(class: InsnClass) -> bool {
    matches!(
        class,
        InsnClass::AARCH64_MISC
            | InsnClass::ADDSUB_CARRY
            | InsnClass::ADDSUB_EXT
            | InsnClass::ADDSUB_IMM
            | InsnClass::ADDSUB_SHIFT
            | InsnClass::BITFIELD
            | InsnClass::CONDCMP_IMM
            | InsnClass::CONDCMP_REG
            | InsnClass::CONDSEL
            | InsnClass::CSSC
            | InsnClass::DP_1SRC
            | InsnClass::DP_2SRC
            | InsnClass::EXCEPTION
            | InsnClass::EXTRACT
            | InsnClass::LOG_IMM
            | InsnClass::LOG_SHIFT
            | InsnClass::MOVEWIDE
            | InsnClass::PCRELADDR
    )
}

/// The class of an instruction of the system; `None` for what is plain.
fn system(name: &str, word: u32) -> Option<Class> {
    match name {
        "dmb" | "dsb" => Some(Class::Fence),
        "isb" | "sb" => Some(Class::Isb),
        "wfet" => Some(Class::Pause),
        "wfit" => Some(Class::Halt),
        "hint" => match word >> 5 & 0x7f {
            // YIELD, WFE
            1 | 2 => Some(Class::Pause),
            // WFI
            3 => Some(Class::Halt),
            _ => None,
        },
        "mrs" | "mrrs" => register(word, Class::Mrs),
        // Of an immediate to a field of the state: DAIF, PAN and their kin.
        "msr" if word & 1 << 20 == 0 => Some(Class::Flags),
        "msr" | "msrr" => register(word, Class::Msr),
        "sys" | "sysl" | "sysp" => Some(operation(word)),
        _ => None,
    }
}

/// The number of a system register, or of an operation: op0, op1, CRn, CRm and op2.
const fn number(op0: u32, op1: u32, crn: u32, crm: u32, op2: u32) -> u32 {
    op0 << 14 | op1 << 11 | crn << 7 | crm << 3 | op2
}

/// The class of an access to a system register; `other` where no other class has it.
fn register(word: u32, other: Class) -> Option<Class> {
    const SP_EL0: u32 = number(3, 0, 4, 1, 0);
    const TPIDR_EL0: u32 = number(3, 3, 13, 0, 2);
    const TPIDRRO_EL0: u32 = number(3, 3, 13, 0, 3);
    const TPIDR_EL1: u32 = number(3, 0, 13, 0, 4);
    const TTBR0_EL1: u32 = number(3, 0, 2, 0, 0);
    const TTBR1_EL1: u32 = number(3, 0, 2, 0, 1);
    const DAIF: u32 = number(3, 3, 4, 2, 1);
    const PAN: u32 = number(3, 0, 4, 2, 3);
    const NZCV: u32 = number(3, 3, 4, 2, 0);
    /// CNTPCT_EL0, CNTVCT_EL0, and those two that wait for nothing before them.
    const COUNTERS: [u32; 4] = [
        number(3, 3, 14, 0, 1),
        number(3, 3, 14, 0, 2),
        number(3, 3, 14, 0, 5),
        number(3, 3, 14, 0, 6),
    ];
    /// CNTP_* and CNTV_*.
    const TIMERS: [u32; 2] = [number(3, 3, 14, 2, 0), number(3, 3, 14, 3, 0)];
    /// ICC_PMR_EL1 (Arm IHI 0069, 12.2).
    const PRIORITY: u32 = number(3, 0, 4, 6, 0);
    /// The other registers of the CPU's interface.
    const INTERFACE: std::ops::RangeInclusive<u32> =
        number(3, 0, 12, 8, 0)..=number(3, 0, 12, 15, 7);

    let number = word >> 5 & 0xffff;
    match number {
        SP_EL0 | TPIDR_EL0 | TPIDRRO_EL0 | TPIDR_EL1 | NZCV => None,
        TTBR0_EL1 | TTBR1_EL1 if other == Class::Msr => Some(Class::Ttbr),
        DAIF | PAN => Some(Class::Flags),
        _ if COUNTERS.contains(&number) => Some(Class::Counter),
        _ if TIMERS.contains(&(number & !7)) => Some(Class::Timer),
        _ if number == PRIORITY || INTERFACE.contains(&number) => Some(Class::Gic),
        _ => Some(other),
    }
}

/// The class of an operation on caches, translations or addresses.
fn operation(word: u32) -> Class {
    const DC_ZVA: u32 = number(1, 3, 7, 4, 1);
    /// The field CRn of TLBI.
    const TRANSLATIONS: [u32; 2] = [8, 9];
    match word >> 5 & 0xffff {
        DC_ZVA => Class::DcZva,
        number if TRANSLATIONS.contains(&(number >> 7 & 0xf)) => Class::Tlbi,
        _ => Class::System,
    }
}

/// Lists the addresses at which interrupts and exceptions enter, by that of the vectors (DDI 0487, D1.3.1.5): 16 of 128 bytes
/// each, of which Linux uses those of the kernel's own stack and those from user space.
pub fn entries(vectors: u64) -> HashMap<u64, Class> {
    const SYNC: u64 = 0;
    const IRQ: u64 = 0x80;
    const FIQ: u64 = 0x100;
    const SERROR: u64 = 0x180;
    let groups = [0x200, 0x400, 0x600];
    let kinds = [
        (SYNC, Class::EntrySync),
        (IRQ, Class::EntryIrq),
        (FIQ, Class::EntryIrq),
        (SERROR, Class::EntrySync),
    ];
    let all = groups.into_iter().flat_map(|group| kinds.map(|(kind, class)| (group + kind, class)));
    all.map(|(offset, class)| (vectors + offset, class)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: u32, user: Class, kernel: Class) {
        let bytes = word.to_le_bytes();
        assert_eq!(class(false, &bytes), user, "{word:#x} in user space");
        assert_eq!(class(true, &bytes), kernel, "{word:#x} in the kernel");
    }

    #[track_caller]
    fn same(words: &[u32], expected: Class) {
        for word in words {
            check(*word, expected, expected);
        }
    }

    #[test]
    fn plain_memory_and_branches_differ_in_the_kernel() {
        let plain = [
            0x8b01_0000, // add x0, x0, x1
            0xd280_0020, // mov x0, #1
            0x9000_0000, // adrp x0, .
            0x9a81_0000, // csel x0, x0, x1, eq
            0xd503_201f, // nop
            0xd503_233f, // paciasp
            0xd503_245f, // bti c
            0xf980_0000, // prfm pldl1keep, [x0]
            0xd538_4100, // mrs x0, sp_el0
            0xd538_d080, // mrs x0, tpidr_el1
            0xd53b_d040, // mrs x0, tpidr_el0
            0xd400_0001, // svc #0
            0xdac0_1000, // clz x0, x0
            0x9ac1_2000, // lsl x0, x0, x1
        ];
        let memory = [
            0xf940_0001, // ldr x1, [x0]
            0xb900_0801, // str w1, [x0, #8]
            0xa9bf_7bfd, // stp x29, x30, [sp, #-16]!
            0xf860_7820, // ldr x0, [x1, x0, lsl #3]
            0x5800_0040, // ldr x0, .+8
            0xc8df_fc01, // ldar x1, [x0]
            0xc89f_fc01, // stlr x1, [x0]
            0xf840_0820, // ldtr x0, [x1]
        ];
        let branches = [
            0x1400_0000, // b .
            0x9400_0000, // bl .
            0x5400_0000, // b.eq .
            0xb400_0000, // cbz x0, .
            0x3600_0000, // tbz w0, #0, .
            0xd65f_03c0, // ret
            0xd65f_0bff, // retaa
        ];
        for word in plain {
            check(word, Class::UserPlain, Class::KernelPlain);
        }
        for word in memory {
            check(word, Class::UserMemory, Class::KernelMemory);
        }
        for word in branches {
            check(word, Class::UserBranch, Class::KernelBranch);
        }
    }

    #[test]
    fn what_is_named_is_found() {
        same(&[0xd61f_0000, 0xd63f_0000], Class::Indirect); // br x0; blr x0
        same(&[0xc85f_7c01, 0xc800_7c22, 0x885f_fc01], Class::Locked); // ldxr; stxr; ldaxr
        same(&[0xf821_0002, 0xc8a1_7c02, 0xf821_8002], Class::Locked); // ldadd; cas; swp
        same(&[0x9b01_7c00, 0x9bc1_7c00], Class::Multiply); // mul; umulh
        same(&[0x9ac1_0800, 0x1ac1_0c00], Class::Divide); // udiv; sdiv
        same(&[0x4ea1_1c20, 0x1e62_2820, 0x9e66_0000], Class::Vector); // mov v0, v1; fadd; fmov
        same(&[0x3dc0_0000, 0xad00_0400, 0x4c40_7000], Class::Vector); // ldr q0; stp q0, q1; ld1
        same(&[0xd503_3bbf, 0xd503_3b9f], Class::Fence); // dmb ish; dsb ish
        same(&[0xd503_3fdf], Class::Isb);
        same(&[0xd503_203f, 0xd503_205f], Class::Pause); // yield; wfe
        same(&[0xd503_207f], Class::Halt); // wfi
        same(&[0xd503_43df, 0xd503_43ff, 0xd51b_4220, 0xd53b_4220], Class::Flags); // msr daifset; daifclr; daif; mrs
        same(&[0xd500_419f], Class::Flags); // msr pan, #1
        same(&[0xd69f_03e0], Class::Eret);
        same(&[0xd53b_e040, 0xd53b_e020], Class::Counter); // mrs cntvct_el0; cntpct_el0
        same(&[0xd51b_e340, 0xd51b_e320], Class::Timer); // msr cntv_cval_el0; cntv_ctl_el0
        same(&[0xd538_cc00, 0xd518_cc20, 0xd518_cba0], Class::Gic); // mrs icc_iar1; msr icc_eoir1; icc_sgi1r
        same(&[0xd518_4600], Class::Gic); // msr icc_pmr_el1, x0
        same(&[0xd518_2000, 0xd518_2020], Class::Ttbr); // msr ttbr0_el1; ttbr1_el1
        same(&[0xd538_2000, 0xd538_5200, 0xd538_4000], Class::Mrs); // mrs ttbr0_el1; esr_el1; spsr_el1
        same(&[0xd518_4020, 0xd518_c000], Class::Msr); // msr elr_el1; vbar_el1
        same(&[0xd508_831f, 0xd508_8720], Class::Tlbi); // tlbi vmalle1is; vae1
        same(&[0xd50b_7420], Class::DcZva);
        same(&[0xd50b_7b20, 0xd50b_7520, 0xd508_7800], Class::System); // dc cvau; ic ivau; at s1e1r
    }

    /// The processor refuses such bytes, too. They have some class.
    #[test]
    fn garbage_has_a_class() {
        for bytes in [&[][..], &[0xc3], &[0xff; 4], &[0; 4]] {
            let _ = class(true, bytes);
        }
    }

    #[test]
    fn exceptions_enter_by_their_vectors() {
        let entries = entries(0xffff_8000_8001_0800);
        assert_eq!(entries.len(), 12);
        assert_eq!(entries[&0xffff_8000_8001_0a80], Class::EntryIrq);
        assert_eq!(entries[&0xffff_8000_8001_0c00], Class::EntrySync);
        assert!(!entries.contains_key(&0xffff_8000_8001_0800));
    }
}
