//! What differs between the architectures of guests.

mod x86_64;

pub use self::x86_64::{SPIN_HELPER, SPIN_HELPER_INFO, can_wait, when_due};
