//! What depends on the processor of the guest: which instructions do what to preemption and interrupts,
//! and where its kernel's addresses begin.

mod x86_64;

pub use x86_64::{
    Effect, KERNEL_START, PROCESSOR_ID, class, effect, entry, is_return, leaves_block, memory,
    message_address,
};
