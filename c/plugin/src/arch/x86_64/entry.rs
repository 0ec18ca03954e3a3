//! Where interrupts and exceptions enter the guest's kernel.

use std::collections::HashMap;

use preemptlab_protocol::prices::Class;

/// Linux maps every CPU's interrupt descriptor table here (`CPU_ENTRY_AREA_RO_IDT`,
/// arch/x86/include/asm/pgtable_areas.h, since 4.15).
pub const TABLE: u64 = 0xffff_fe00_0000_0000;

/// The table has a gate of 16 bytes for each of 256 vectors (Intel SDM volume 3, 7.14.1).
pub const TABLE_BYTES: usize = 256 * GATE_BYTES;

const GATE_BYTES: usize = 16;

/// The addresses at which interrupts and exceptions enter, out of the table, and their classes.
pub fn entries(table: &[u8]) -> HashMap<u64, Class> {
    let gates = table.chunks_exact(GATE_BYTES).enumerate();
    gates.filter_map(|(vector, gate)| Some((address(gate)?, class(vector)))).collect()
}

/// The address of a gate that is present.
fn address(gate: &[u8]) -> Option<u64> {
    let part = |from: usize, bytes: usize| {
        gate[from..from + bytes].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    };
    let is_present = gate[5] & 0x80 != 0;
    is_present.then(|| part(0, 2) | part(6, 2) << 16 | part(8, 4) << 32)
}

/// The class of what enters by a vector (arch/x86/include/asm/trapnr.h, irq_vectors.h, 6.12).
fn class(vector: usize) -> Class {
    match vector {
        14 => Class::EntryFault,
        // The last is INT 0x80, which is a system call.
        0..32 | 0x80 => Class::EntryException,
        0xec => Class::EntryTimer,
        // Of one CPU to another, or to itself: IRQ_WORK, REBOOT, CALL_FUNCTION_SINGLE, CALL_FUNCTION,
        // RESCHEDULE.
        0xf6 | 0xf8 | 0xfb..=0xfd => Class::EntryIpi,
        _ => Class::EntryDevice,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_addresses_of_gates() {
        let mut table = vec![0; TABLE_BYTES];
        let mut set = |vector: usize, address: u64, kind: u8| {
            let gate = &mut table[vector * GATE_BYTES..][..GATE_BYTES];
            let address = address.to_le_bytes();
            gate[..2].copy_from_slice(&address[..2]);
            gate[2..4].copy_from_slice(&[0x10, 0]);
            gate[5] = kind;
            gate[6..12].copy_from_slice(&address[2..]);
        };
        set(0xec, 0xffff_ffff_81e0_1450, 0x8e);
        set(14, 0xffff_ffff_81e0_0bc0, 0x8e);
        set(0xfd, 0xffff_ffff_81e0_1470, 0x8e);
        set(0x30, 0xffff_ffff_81e0_0280, 0x8e);
        set(0x31, 0xffff_ffff_81e0_0288, 0x0e);
        let found = entries(&table);
        assert_eq!(found.len(), 4);
        assert_eq!(found[&0xffff_ffff_81e0_1450], Class::EntryTimer);
        assert_eq!(found[&0xffff_ffff_81e0_0bc0], Class::EntryFault);
        assert_eq!(found[&0xffff_ffff_81e0_1470], Class::EntryIpi);
        assert_eq!(found[&0xffff_ffff_81e0_0280], Class::EntryDevice);
    }
}
