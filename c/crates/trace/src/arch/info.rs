use preemptlab_protocol::trace::{Operand, Register};
use preemptlab_symbols::{Symbols, Types};

/// The facts about a processor on which the reading of a trace depends, and the program of the plugin that
/// records it. Names are those of the kernel's own trace.
#[derive(Debug)]
pub struct ArchInfo {
    /// The machine's name (`uname -m`).
    pub(crate) machine: &'static str,
    /// First part of the symbols of entries.
    pub(crate) entry_prefix: &'static str,
    /// Returns the entry that a symbol is; `None` for another symbol.
    pub(crate) entry: fn(&str) -> Option<Entry<'_>>,
    /// The entry of devices' interrupts.
    pub(crate) device_entry: &'static str,
    /// The entry of the interrupt of a CPU's timer.
    pub timer_entry: &'static str,
    /// The entries of interrupts by which a CPU has a function called on another one.
    pub(crate) call_entries: &'static [&'static str],
    /// The event of the interrupt of a CPU's timer.
    pub(crate) timer_event: &'static str,
    /// The interrupts that have trace events of their own: the name of the entry, of the event, and the vector.
    pub(crate) vectors: &'static [(&'static str, &'static str, u32)],
    /// The physical address to which a message is written that interrupts the first CPU, and the vector of its
    /// timer.
    pub(crate) timer_message: (u64, u32),
    /// The function with which system calls begin.
    pub(crate) syscall_entry: &'static str,
    /// The register with a system call's number.
    pub(crate) syscall_register: Register,
    /// Returns the name of a system call; `None` for one that is too new.
    pub(crate) syscall: fn(u32) -> Option<&'static str>,
    /// The registers with the first arguments of a function, in their order.
    pub(crate) arguments: [Register; 4],
    /// The address to which a function returns, at its first instruction.
    pub(crate) return_address: Operand,
    /// Returns the address and the code segment, or mode, that an entry has interrupted.
    pub(crate) interrupted: fn(Entry<'_>) -> [Operand; 2],
    /// The length of the instruction that calls a function by its name, in bytes.
    pub(crate) call_bytes: u64,
    /// The function in which a CPU spins until another one releases a lock.
    pub(crate) spin_wait: &'static str,
    /// Returns the per-CPU address of `preempt_count`, or the part of the kernel that it lacks.
    pub(crate) preempt_count: fn(&Symbols, &Types) -> Result<u64, &'static str>,
}

/// An entry into the kernel that the processor makes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    /// Name of the entry, without the kernel's prefix.
    pub name: &'a str,
    /// Whether an interrupt makes it, and not an exception.
    pub is_interrupt: bool,
    /// Whether a word lies on the stack above the address that was interrupted.
    pub has_code: bool,
}

impl ArchInfo {
    /// Returns the name of the event and the vector of an interrupt; `None` for one of a device, and
    /// for one without an event.
    pub(crate) fn vector(&self, entry: &str) -> Option<(&'static str, u32)> {
        let found = self.vectors.iter().find(|(name, ..)| *name == entry);
        found.map(|(_, event, vector)| (*event, *vector))
    }

    /// Returns the name of a system call, or its number if it is too new.
    pub(crate) fn syscall_name(&self, number: u32) -> String {
        match (self.syscall)(number) {
            Some(name) => name.to_owned(),
            None => format!("system call {number}"),
        }
    }

    /// Returns whether a system call never returns.
    pub(crate) fn is_last_syscall(&self, number: u32) -> bool {
        matches!((self.syscall)(number), Some("exit" | "exit_group"))
    }
}
