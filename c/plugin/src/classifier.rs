//! The classes of a guest's instructions, its kernel's entries included.

use std::collections::HashMap;

use preemptlab_protocol::prices::Class;

use crate::{
    arch::{self, KERNEL_START, entry},
    complaint::fail,
    qemu::{Guest, Translation},
};

/// Tells the classes of a guest's instructions.
pub struct Classifier {
    guest: Guest,
    /// Where interrupts and exceptions enter the kernel; `None` before the first block of it.
    entries: Option<HashMap<u64, Class>>,
}

impl Classifier {
    pub fn new(guest: Guest) -> Self {
        Self { guest, entries: None }
    }

    /// The class of an instruction of a block, and its bytes.
    pub fn class<'a>(
        &mut self,
        block: &Translation,
        index: usize,
        bytes: &'a mut [u8; 15],
    ) -> (Class, &'a [u8]) {
        if self.entries.is_none() && block.address() >= KERNEL_START {
            self.entries = Some(entries(&self.guest));
        }
        let (address, count) = block.instruction(index, bytes);
        let bytes = &bytes[..count];
        let entry = self.entries.as_ref().and_then(|entries| entries.get(&address)).copied();
        (entry.unwrap_or_else(|| arch::class(address, bytes, index == 0)), bytes)
    }
}

/// Looks up where interrupts and exceptions enter the kernel: it was booted, so it has said so.
fn entries(guest: &Guest) -> HashMap<u64, Class> {
    match guest.bytes(entry::TABLE, entry::TABLE_BYTES) {
        Some(table) => entry::entries(table),
        None => fail("the guest has no interrupt descriptor table where Linux has it"),
    }
}
