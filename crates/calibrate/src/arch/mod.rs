//! The parts of this crate that depend on the measured processor: one file for each architecture.

mod aarch64;
mod x86_64;

use preemptlab_model::Arch;
use preemptlab_protocol::prices::Class;

use crate::{CalibrateError, caches::Tlbs};

/// Returns the time of an instruction of a class where nothing is measured, in nanoseconds.
pub(crate) fn prior_ns(arch: Arch, class: Class) -> f64 {
    match arch {
        Arch::Amd64 => x86_64::prior_ns(class),
        Arch::Arm64 => aarch64::prior_ns(class),
    }
}

/// Reads the sizes of TLBs, as the program printed them on a processor of an architecture. Returns `None` where it does
/// not tell them.
pub(crate) fn tlbs(arch: Arch, text: &str) -> Result<Option<Tlbs>, CalibrateError> {
    match arch {
        Arch::Amd64 => x86_64::tlbs(text),
        Arch::Arm64 => Ok(None),
    }
}
