//! What handlers of signals leave.

use core::sync::atomic::AtomicU32;

/// Whether a signal was handled.
pub static HANDLED: AtomicU32 = AtomicU32::new(0);
