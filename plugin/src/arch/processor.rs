use std::{collections::HashMap, ffi::CStr};

use preemptlab_protocol::{
    prices::Class,
    trace::{Register, stream::SiteKind},
};

use crate::qemu::Guest;

/// A processor, as far as traces and prices have to know it.
pub trait Processor: Sync {
    /// The registers that are read.
    fn registers(&self) -> &'static [Register];

    /// The class of an instruction. `is_first` is whether it begins its block.
    fn class(&self, address: u64, bytes: &[u8], is_first: bool) -> Class;

    /// The addresses at which interrupts and exceptions enter the kernel of a guest that was booted, and their
    /// classes; `None` where it does not say.
    fn entries(&self, guest: &Guest) -> Option<HashMap<u64, Class>>;

    /// Whether an instruction of a block at this address is known to use a device's register in memory, so that QEMU
    /// leaves the block there.
    fn leaves_block(&self, block_address: u64, bytes: &[u8]) -> bool;

    /// Where the kernel's half of the address space begins.
    fn kernel_start(&self) -> u64;

    /// The effect of an instruction on preemption and interrupts; most have none. `preempt_count` is the trace program's.
    fn effect(&self, address: u64, bytes: &[u8], preempt_count: u64) -> Option<Effect>;

    /// Whether an instruction returns from a function.
    fn is_return(&self, bytes: &[u8]) -> bool;

    /// How a block's instructions use memory, each one's bytes given.
    fn uses(&self, block: &[&[u8]]) -> Vec<Use>;

    /// How the kernel names address spaces.
    fn spaces(&self) -> Spaces;

    /// The stack pointer.
    fn stack_pointer(&self) -> Register;

    /// The address by which instructions mean `preempt_count` now.
    fn count_address(&self, guest: &Guest, preempt_count: u64) -> u64;

    /// Whether interrupts are on after an instruction that restores flags.
    fn restores_irqs(&self, guest: &Guest, effect: Effect) -> bool;

    /// Whether the way out of an interrupt or exception leads to user space.
    fn returns_to_user(&self, guest: &Guest) -> bool;

    /// Words among which are the addresses that the functions at work return to, the innermost first; `None` where the
    /// stack is not mapped.
    fn stack(&self, guest: &Guest) -> Option<Vec<u64>>;

    /// QEMU's name for the property of a CPU by which interrupts find it.
    fn processor_id(&self) -> &'static CStr;

    /// The address to which a message is written that interrupts the CPU with this number, by that for the first one.
    fn message_address(&self, first: u64, processor_id: u64) -> u64;
}

/// An instruction's use of memory, as far as caches take note of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Its change of the meaning of addresses, if it makes one.
    pub remaps: Option<Remaps>,
    /// Whether the address that it uses is read from memory by its block: the one waits for the other.
    pub is_chained: bool,
}

/// A change of the meaning of virtual addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remaps {
    /// The address space: a register tells the new one.
    Space(Register),
    /// The translations of a space that a register tells: all CPUs forget them.
    Emptied(Register),
    /// All translations of some CPUs.
    All(Reach),
    /// A page or some, likewise.
    Pages(Reach),
}

/// The CPUs on which an instruction changes what addresses mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The CPU that executes.
    Own,
    /// All.
    All,
}

/// How a processor's kernel names address spaces.
#[derive(Clone, Copy, Debug)]
pub struct Spaces {
    /// The number of spaces whose translations a CPU keeps.
    pub kept: usize,
    /// The bits of a register's value that are the name of a space.
    pub name_bits: u64,
    /// Whether the name of the current space, written again, has the CPU forget its translations.
    pub is_emptied_by_itself: bool,
}

/// The effect of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Effect {
    /// What happens.
    pub kind: SiteKind,
    /// The register whose value tells how much, if one does.
    pub amount: Option<Register>,
    /// A register and what is added to it: it happens only where that makes the address of
    /// `preempt_count`.
    pub address: Option<(Register, u64)>,
}

impl From<SiteKind> for Effect {
    fn from(kind: SiteKind) -> Self {
        Self { kind, amount: None, address: None }
    }
}
