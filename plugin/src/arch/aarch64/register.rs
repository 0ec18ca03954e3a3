//! Registers that instructions name by their number.

use preemptlab_protocol::trace::Register;

/// The general register with the number in the lowest bits; `None` for the last one, which is the stack pointer or
/// zero.
pub fn general(word: u32) -> Option<Register> {
    let number = word as usize & 31;
    (number < 31).then(|| Register::ARM64[number])
}
