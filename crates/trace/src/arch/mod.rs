//! The parts of this crate that depend on the processor of the traced guest: one file for each architecture.

mod aarch64;
mod info;
mod x86_64;

use preemptlab_model::Arch;

pub use self::info::ArchInfo;
pub(crate) use self::info::Entry;

/// Returns the facts about the processor of a guest.
pub fn of(arch: Arch) -> &'static ArchInfo {
    match arch {
        Arch::Amd64 => &x86_64::INFO,
        Arch::Arm64 => &aarch64::INFO,
    }
}
