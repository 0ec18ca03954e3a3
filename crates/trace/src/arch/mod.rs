//! The parts of this crate that depend on the processor of the traced guest: one file for each architecture.

mod info;
mod x86_64;

use preemptlab_model::Arch;

pub use self::info::ArchInfo;
pub(crate) use self::info::Entry;
use crate::KernelError;

/// Returns the facts about the processor of a guest.
///
/// # Errors
///
/// [`KernelError::Arch`] where no guest of it is traced.
pub fn of(arch: Arch) -> Result<&'static ArchInfo, KernelError> {
    match arch {
        Arch::Amd64 => Ok(&x86_64::INFO),
        Arch::Arm64 => Err(KernelError::Arch(arch.platform().debian)),
    }
}
