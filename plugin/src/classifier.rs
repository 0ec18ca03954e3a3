//! The classes of a guest's instructions, its kernel's entries included.

use std::collections::HashMap;

use preemptlab_protocol::prices::Class;

use crate::{
    arch::Processor,
    complaint::fail,
    qemu::{Guest, Translation},
};

/// Tells the classes of a guest's instructions.
pub struct Classifier {
    processor: &'static dyn Processor,
    guest: Guest,
    /// Where interrupts and exceptions enter the kernel; `None` before the first block of it.
    entries: Option<HashMap<u64, Class>>,
}

impl Classifier {
    pub fn new(processor: &'static dyn Processor, guest: Guest) -> Self {
        Self { processor, guest, entries: None }
    }

    pub fn processor(&self) -> &'static dyn Processor {
        self.processor
    }

    /// The class of an instruction of a block, and its bytes.
    pub fn class<'a>(
        &mut self,
        block: &Translation,
        index: usize,
        bytes: &'a mut [u8; 15],
    ) -> (Class, &'a [u8]) {
        if self.entries.is_none() && block.address() >= self.processor.kernel_start() {
            // The guest was booted, so it has said so.
            let entries = self.processor.entries(&self.guest);
            self.entries = Some(entries.unwrap_or_else(|| {
                fail("the guest does not say where interrupts enter its kernel as Linux does")
            }));
        }
        let (address, count) = block.instruction(index, bytes);
        let bytes = &bytes[..count];
        let entry = self.entries.as_ref().and_then(|entries| entries.get(&address)).copied();
        (entry.unwrap_or_else(|| self.processor.class(address, bytes, index == 0)), bytes)
    }
}
