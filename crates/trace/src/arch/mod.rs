//! The parts of this crate that depend on the processor of the traced guest.

mod x86_64;

pub use x86_64::{
    DEVICE_ENTRY, ENTRY_PREFIX, Entry, LOCAL_TIMER, LOCAL_TIMER_VECTOR, MACHINE, MESSAGE_ADDRESS,
    TIMER_ENTRY, entry, vector,
};
