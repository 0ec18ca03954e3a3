use preemptlab_protocol::trace::{Only, Operand, Register};
use preemptlab_symbols::{Symbols, Types};

use crate::point::Point;

/// The facts about a processor on which the reading of a trace depends, and the program of the plugin that
/// records it. Names are those of the kernel's own trace.
#[derive(Debug)]
pub struct ArchInfo {
    /// The machine's name (`uname -m`).
    pub(crate) machine: &'static str,
    /// First part of the symbols of entries.
    pub(crate) entry_prefix: &'static str,
    /// Returns the entries that a symbol is, each under a condition of its own; none for another symbol.
    pub(crate) entries: fn(&str) -> Vec<Entry<'_>>,
    /// The entry of devices' interrupts; `None` where all interrupts have the same one.
    pub(crate) device_entry: Option<&'static str>,
    /// The entry, or else the handler, of the interrupt of a CPU's timer.
    pub timer_entry: &'static str,
    /// The functions that handle a CPU's own interrupts where these have the same entry, and their names.
    pub(crate) handlers: &'static [(&'static str, &'static str)],
    /// The entries, or else handlers, of interrupts by which a CPU has a function called on another one.
    pub(crate) call_entries: &'static [&'static str],
    /// The event of the interrupt of a CPU's timer, where it has one of its own.
    pub(crate) timer_event: Option<&'static str>,
    /// The interrupts that have trace events of their own: the name of the entry, of the event, and the vector.
    pub(crate) vectors: &'static [(&'static str, &'static str, u32)],
    /// The physical address to which a message is written that interrupts the first CPU, and the vector of its
    /// timer, or of one that has its expired timers looked after.
    pub(crate) timer_message: (u64, u32),
    /// The function with which system calls begin, and the register with their number; `None` where they are one of
    /// the exceptions.
    pub(crate) syscall_entry: Option<(&'static str, Register)>,
    /// Returns the name of a system call; `None` for one that is too new.
    pub(crate) syscall: fn(u32) -> Option<&'static str>,
    /// The registers of the processor.
    pub(crate) registers: &'static [Register],
    /// The registers with the first arguments of a function, in their order.
    pub(crate) arguments: [Register; 4],
    /// The address to which a function returns, at its first instruction.
    pub(crate) return_address: Operand,
    /// Returns whether an entry came out of user space, from the code segment or mode that it has interrupted.
    pub(crate) is_user: fn(u64) -> bool,
    /// Number of words at an interrupt's entry that describe what it has interrupted, before those that may be return
    /// addresses.
    pub(crate) frame_words: usize,
    /// Length of a cycle of the kernel's clock source in virtual time, in nanoseconds.
    pub(crate) cycle_ns: u64,
    /// The length of the instruction that calls a function by its name, in bytes.
    pub(crate) call_bytes: u64,
    /// The function in which a CPU spins until another one releases a lock.
    pub(crate) spin_wait: &'static str,
    /// Returns where `preempt_count` is (`TraceProgram::preempt_count`), or the part of the kernel that it lacks.
    pub(crate) preempt_count: fn(&Symbols, &Types) -> Result<u64, &'static str>,
}

/// An entry into the kernel that the processor makes by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    /// Name of the entry, without the kernel's prefix.
    pub name: &'a str,
    /// Meaning: an interrupt, an exception or a system call.
    pub point: Point,
    /// The values: of an interrupt and an exception the address and the code segment, or mode, that it has
    /// interrupted; of a system call its number.
    pub operands: Vec<Operand>,
    /// The condition under which it is this entry.
    pub only: Option<Only>,
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
