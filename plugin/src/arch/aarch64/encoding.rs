//! An instruction's word, and the registers that it names.

use preemptlab_protocol::trace::Register;

/// The word of an instruction; 0, which is none, where there are fewer bytes.
pub fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// The general register with the number in the lowest bits; `None` for the last one, which is the stack pointer or
/// zero.
pub fn general(word: u32) -> Option<Register> {
    let number = word as usize & 31;
    (number < 31).then(|| Register::ARM64[number])
}
