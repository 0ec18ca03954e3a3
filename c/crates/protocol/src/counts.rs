//! Counts of instructions by class, between two markers in a guest's program.

use alloc::collections::BTreeMap;

use crate::prices::Class;

/// Displacement of the marker before what is counted. A marker is `nopl DISPLACEMENT(%rax)`, which no
/// compiler writes with such a displacement.
pub const BEGIN: u32 = 0x434d_4201;

/// Displacement of the marker after it.
pub const END: u32 = 0x434d_4202;

/// Opcode and operand of a marker, before the displacement.
pub const MARKER: [u8; 3] = [0x0f, 0x1f, 0x80];

/// How many instructions of each class were executed; a class without any is absent. The plugin writes
/// one as a line of JSON for each pair of markers.
pub type Counts = BTreeMap<Class, u64>;

/// Returns the displacement of a marker; `None` for another instruction.
pub fn marker(instruction: &[u8]) -> Option<u32> {
    let displacement = instruction.strip_prefix(&MARKER)?;
    let displacement = u32::from_le_bytes(displacement.try_into().ok()?);
    [BEGIN, END].contains(&displacement).then_some(displacement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_markers_are_markers() {
        assert_eq!(marker(&[0x0f, 0x1f, 0x80, 0x01, 0x42, 0x4d, 0x43]), Some(BEGIN));
        assert_eq!(marker(&[0x0f, 0x1f, 0x80, 0x02, 0x42, 0x4d, 0x43]), Some(END));
        for other in [&[0x0f, 0x1f, 0x80, 0, 0, 0, 0][..], &[0x90], &[0x0f, 0x1f, 0x80, 1, 0x42]] {
            assert_eq!(marker(other), None);
        }
    }
}
