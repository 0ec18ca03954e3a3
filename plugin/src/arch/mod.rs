//! The parts of the plugin that depend on the guest's processor: which instructions change preemption and interrupts, how its
//! registers tell the state of the kernel, where the kernel's addresses begin, which instructions have which price, and how
//! they use memory.

mod aarch64;
mod processor;
mod x86_64;

pub use self::processor::{Effect, Processor, Reach, Remaps, Spaces, Use};

use self::{aarch64::Aarch64, x86_64::X86_64};

/// Finds a processor by QEMU's name of its target.
pub fn of(target: &[u8]) -> Option<&'static dyn Processor> {
    match target {
        b"x86_64" => Some(&X86_64),
        b"aarch64" => Some(&Aarch64),
        _ => None,
    }
}
