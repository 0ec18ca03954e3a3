//! Counts of instructions by class, between two markers in a guest's program.

use alloc::collections::BTreeMap;

use crate::prices::Class;

/// The marker before what is counted. On amd64 it is `nopl MARKER(%rax)`, on arm64 [`movz`]: no compiler writes either.
pub const BEGIN: u32 = 0x434d_4201;

/// The marker after it.
pub const END: u32 = 0x434d_4202;

/// Opcode and operand of a marker on amd64, before the displacement.
const NOPL: [u8; 3] = [0x0f, 0x1f, 0x80];

/// Returns the instruction of a marker on arm64: `movz xzr, #IMMEDIATE`, with the marker's lower half.
pub const fn movz(marker: u32) -> u32 {
    0xd280_001f | ((marker & 0xffff) << 5)
}

/// How many instructions of each class were executed; a class without any is absent. The plugin writes
/// one as a line of JSON for each pair of markers.
pub type Counts = BTreeMap<Class, u64>;

/// Returns which marker an instruction is; `None` for another instruction. No instruction of amd64 has the bytes of a
/// marker of arm64.
pub fn marker(instruction: &[u8]) -> Option<u32> {
    let is = |marker: &u32| match instruction.strip_prefix(&NOPL) {
        Some(displacement) => displacement == marker.to_le_bytes(),
        None => instruction == movz(*marker).to_le_bytes(),
    };
    [BEGIN, END].into_iter().find(is)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_markers_are_markers() {
        assert_eq!(marker(&[0x0f, 0x1f, 0x80, 0x01, 0x42, 0x4d, 0x43]), Some(BEGIN));
        assert_eq!(marker(&[0x0f, 0x1f, 0x80, 0x02, 0x42, 0x4d, 0x43]), Some(END));
        // movz xzr, #0x4201 and #0x4202
        assert_eq!(marker(&[0x3f, 0x40, 0x88, 0xd2]), Some(BEGIN));
        assert_eq!(marker(&[0x5f, 0x40, 0x88, 0xd2]), Some(END));
        for other in [
            &[0x0f, 0x1f, 0x80, 0, 0, 0, 0][..],
            &[0x90],
            &[0x0f, 0x1f, 0x80, 1, 0x42],
            &[0x1f, 0x20, 0x03, 0xd5],
        ] {
            assert_eq!(marker(other), None);
        }
    }
}
