//! The architectures that packages are for: one table serves all of this crate
//! ([`preemptlab_model::Platform`]).

use preemptlab_model::{Arch, Platform};

/// The architecture of the programs that run here: QEMU, make, compilers.
pub(crate) const HOST: &Platform = Arch::HOST.platform();

/// Puts an architecture's names into a text: `{triplet}`, `{loader}` and `{kernel}`, its folder in a
/// kernel's `arch/`.
pub(crate) fn named(text: &str, platform: &Platform) -> String {
    text.replace("{triplet}", platform.triplet)
        .replace("{loader}", platform.loader)
        .replace("{kernel}", platform.kernel_folder)
}
