//! How a guest's instructions use memory, as far as caches take note of it. Encodings are those of the Arm Architecture
//! Reference Manual (DDI 0487), C4.1.94 and C5.5.

use disarm64::{InsnOpcode, decoder::decode};
use disarm64_defn::InsnClass;

use super::{
    class::{is_atomic, is_load_or_store, is_of_vector_registers},
    encoding::{general, word},
};
use crate::arch::processor::{Reach, Remaps, Spaces, Use};

/// A space is known by its ASID, which Linux keeps in TTBR1_EL1 (`TCR_A1`, arch/arm64/mm/proc.S). A kernel that
/// unmaps itself from user space has two ASIDs for each process. An ASID is used again only after the translations of
/// all spaces were forgotten, so the size of the TLB is the limit: of so many spaces one of 1,280 entries has 20 each.
pub const SPACES: Spaces =
    Spaces { kept: 64, name_bits: 0xffff_0000_0000_0000, is_emptied_by_itself: false };

/// The number of the register that is zero or the stack pointer.
const NONE: u32 = 31;

/// How a block's instructions use memory.
pub fn uses(block: &[&[u8]]) -> Vec<Use> {
    let words: Vec<u32> = block.iter().map(|bytes| word(bytes)).collect();
    // The registers that are read from memory: a block may be a loop, and what reads an address may come after its use.
    let mut loaded = 0_u32;
    let addresses: Vec<u32> = words
        .iter()
        .map(|word| {
            let (loads, address) = registers(*word);
            loaded |= loads;
            address
        })
        .collect();
    let both = words.iter().zip(addresses);
    both.map(|(word, address)| Use { remaps: remaps(*word), is_chained: address & loaded != 0 })
        .collect()
}

/// The general registers that an instruction reads from memory, and those that its address is made of: a bit each.
fn registers(word: u32) -> (u32, u32) {
    let bit = |shift: u32| match word >> shift & 31 {
        NONE => 0,
        register => 1 << register,
    };
    let Some(instruction) = decode(word) else { return (0, 0) };
    let definition = instruction.definition();
    let (class, name) = (definition.class, definition.mnemonic);
    if !is_load_or_store(class) && !is_atomic(class) {
        return (0, 0);
    }
    let is_load = ["ld", "swp"].iter().any(|start| name.starts_with(start));
    let is_pair = ["ldp", "ldnp", "ldxp", "ldaxp"].iter().any(|start| name.starts_with(start));
    let loads = match is_load && !is_of_vector_registers(word) {
        true if is_pair => bit(0) | bit(10),
        true => bit(0),
        false => 0,
    };
    let address = match class {
        InsnClass::LOADLIT => 0,
        InsnClass::LDST_REGOFF => bit(5) | bit(16),
        _ => bit(5),
    };
    (loads, address)
}

/// MSR of TTBR1_EL1, and TLBI of the kernel's level.
fn remaps(word: u32) -> Option<Remaps> {
    if word & 0xffff_ffe0 == 0xd518_2020 {
        return general(word).map(Remaps::Space);
    }
    // SYS with op1 of 0, and CRn of 8 or, without waiting for accesses of another kind (nXS), 9.
    if word & 0xffff_e000 != 0xd508_8000 {
        return None;
    }
    // CRm: this CPU has 7, and 6 for ranges of pages; the others are broadcast, with 2 and 5 for ranges.
    let (kind, of) = (word >> 8 & 0xf, word >> 5 & 7);
    let reach = if matches!(kind, 6 | 7) { Reach::Own } else { Reach::All };
    match (kind, of) {
        (1 | 3 | 7, 0) => Some(Remaps::All(reach)),
        (1 | 3 | 7, 2) => general(word).map(Remaps::Emptied),
        _ => Some(Remaps::Pages(reach)),
    }
}

#[cfg(test)]
mod tests {
    use preemptlab_protocol::trace::Register;

    use super::*;

    fn uses_of(block: &[u32]) -> Vec<Use> {
        let bytes: Vec<[u8; 4]> = block.iter().map(|word| word.to_le_bytes()).collect();
        let block: Vec<&[u8]> = bytes.iter().map(|bytes| &bytes[..]).collect();
        uses(&block)
    }

    fn chained(block: &[u32]) -> Vec<bool> {
        uses_of(block).iter().map(|each| each.is_chained).collect()
    }

    #[test]
    fn an_address_that_was_read_is_waited_for() {
        let load_x0 = 0xf940_0020; // ldr x0, [x1]
        let through_x0 = 0xb940_0802; // ldr w2, [x0, #8]
        let index_x0 = 0xb860_6862; // ldr w2, [x3, x0]
        let store = 0xb900_0802; // str w2, [x0, #8]
        assert_eq!(chained(&[load_x0, through_x0]), [false, true]);
        assert_eq!(chained(&[load_x0, index_x0, store]), [false, true, true]);
        assert_eq!(chained(&[0x9100_0420, through_x0]), [false, false]); // add x0, x1, #1
        assert_eq!(chained(&[store, through_x0]), [false, false], "a store reads nothing");
        assert_eq!(chained(&[0xfd40_0020, through_x0]), [false, false]); // ldr d0, [x1]
        assert_eq!(chained(&[0xf980_0020, through_x0]), [false, false]); // prfm pldl1keep, [x1]
    }

    #[test]
    fn loads_of_every_kind_are_known() {
        let through = |register: u32| 0xb940_0002 | register << 5; // ldr w2, [xN]
        for (load, registers) in [
            (0xa940_0c20, &[0, 3][..]), // ldp x0, x3, [x1]
            (0xf840_8420, &[0]),        // ldr x0, [x1], #8
            (0xf840_8020, &[0]),        // ldur x0, [x1, #8]
            (0xb980_0020, &[0]),        // ldrsw x0, [x1]
            (0x3940_0020, &[0]),        // ldrb w0, [x1]
            (0x5800_0040, &[0]),        // ldr x0, .+8
            (0xc85f_7c20, &[0]),        // ldxr x0, [x1]
            (0xc8df_fc20, &[0]),        // ldar x0, [x1]
            (0xf822_0020, &[0]),        // ldadd x2, x0, [x1]
            (0xf822_8020, &[0]),        // swp x2, x0, [x1]
            (0xf840_0820, &[0]),        // ldtr x0, [x1]
        ] {
            for register in registers {
                assert!(chained(&[load, through(*register)])[1], "{load:#x} x{register}");
            }
            assert!(!chained(&[load, through(7)])[1], "{load:#x}");
        }
        // The stack pointer is no register that is read from memory: ldr xzr, [x1]; ldr w2, [sp].
        assert_eq!(chained(&[0xf940_003f, through(31)]), [false, false]);
    }

    #[test]
    fn a_list_is_a_chain() {
        assert_eq!(chained(&[0xf940_0000, 0xb5ff_ffe0]), [true, false]); // ldr x0, [x0]; cbnz x0, .-4
    }

    #[test]
    fn what_changes_addresses_is_found() {
        let of = |word| uses_of(&[word])[0].remaps;
        assert_eq!(of(0xd518_2023), Some(Remaps::Space(Register::X3))); // msr ttbr1_el1, x3
        assert_eq!(of(0xd518_2003), None); // msr ttbr0_el1, x3
        assert_eq!(of(0xd538_2023), None); // mrs x3, ttbr1_el1
        assert_eq!(of(0xd508_831f), Some(Remaps::All(Reach::All))); // tlbi vmalle1is
        assert_eq!(of(0xd508_871f), Some(Remaps::All(Reach::Own))); // tlbi vmalle1
        assert_eq!(of(0xd508_8340), Some(Remaps::Emptied(Register::X0))); // tlbi aside1is, x0
        assert_eq!(of(0xd508_8322), Some(Remaps::Pages(Reach::All))); // tlbi vae1is, x2
        assert_eq!(of(0xd508_83a2), Some(Remaps::Pages(Reach::All))); // tlbi vale1is, x2
        assert_eq!(of(0xd508_87a2), Some(Remaps::Pages(Reach::Own))); // tlbi vale1, x2
        assert_eq!(of(0xd508_82a2), Some(Remaps::Pages(Reach::All))); // tlbi rvale1is, x2
        assert_eq!(of(0xd508_9322), Some(Remaps::Pages(Reach::All))); // tlbi vae1isnxs, x2
        assert_eq!(of(0xd508_751f), None); // ic iallu
        assert_eq!(of(0xd503_3f9f), None); // dsb sy
    }

    #[test]
    fn garbage_uses_nothing() {
        for block in [&[][..], &[0xff; 3], &[0xff; 4]] {
            assert_eq!(uses(&[block]), [Use::default()]);
        }
    }
}
