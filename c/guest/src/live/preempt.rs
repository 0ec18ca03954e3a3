//! The preemption mode of the machine, which may be out of reach.

#[path = "../preempt.rs"]
mod guest;

pub use guest::PREEMPT_FILE;
use rustix::io::Errno;

use crate::{file::read_kernel, trouble::Result};

/// Puts the kernel into a mode, or finds that it is in it already. Where it has no file for it, or
/// refuses that file, the host has made sure of the mode by the kernel's configuration.
pub fn set(wanted: &str) -> Result<()> {
    match read_kernel(PREEMPT_FILE) {
        Err(Errno::NOENT) => Ok(()),
        _ => guest::set(wanted),
    }
}
