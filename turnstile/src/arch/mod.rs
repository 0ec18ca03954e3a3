//! What differs between the architectures of guests.

mod aarch64;
mod guest;
mod x86_64;

pub use self::guest::Guest;
use crate::qemu::{Lacks, symbol};

/// Returns the facts about the guests of this QEMU.
///
/// # Errors
///
/// The name of what is missing: it is a QEMU for guests of another architecture.
pub fn of_this_qemu() -> Result<&'static Guest, Lacks> {
    let is_of = |guest: &&&Guest| {
        guest.spin_helpers.iter().all(|(helper, info)| symbol(helper).and(symbol(info)).is_ok())
    };
    let known = [&x86_64::GUEST, &aarch64::GUEST];
    known.iter().find(is_of).copied().ok_or(Lacks(c"helper_pause"))
}
