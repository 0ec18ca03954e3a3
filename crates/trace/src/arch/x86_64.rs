//! The entries of x86's interrupts and exceptions, and the interrupts of its local APIC, as the kernel's
//! own trace names them.

/// The machine's name (`uname -m`).
pub const MACHINE: &str = "x86_64";

/// The event of the timer of a CPU.
pub const LOCAL_TIMER: &str = "local_timer";

/// The interrupts of x86's local APIC that have trace events of their own
/// (arch/x86/include/asm/trace/irq_vectors.h): the name of the entry, of the event, and the vector
/// (arch/x86/include/asm/irq_vectors.h).
const VECTORS: [(&str, &str, u32); 11] = [
    ("apic_timer_interrupt", LOCAL_TIMER, 0xec),
    ("call_function", "call_function", 0xfc),
    ("call_function_single", "call_function_single", 0xfb),
    ("deferred_error", "deferred_error_apic", 0xf4),
    ("error_interrupt", "error_apic", 0xfe),
    ("irq_work", "irq_work", 0xf6),
    ("reschedule_ipi", "reschedule", 0xfd),
    ("spurious_apic_interrupt", "spurious_apic", 0xff),
    ("thermal", "thermal_apic", 0xfa),
    ("threshold", "threshold_apic", 0xf9),
    ("x86_platform_ipi", "x86_platform_ipi", 0xf7),
];

/// `LOCAL_TIMER_VECTOR` (arch/x86/include/asm/irq_vectors.h).
pub const LOCAL_TIMER_VECTOR: u32 = 0xec;

/// Address to which messages for the CPU with APIC ID 0 are written (Intel SDM volume 3, 12.11).
pub const MESSAGE_ADDRESS: u64 = 0xfee0_0000;

/// First part of the symbols of entries.
pub const ENTRY_PREFIX: &str = "asm_";

/// The entry of devices' interrupts.
pub const DEVICE_ENTRY: &str = "common_interrupt";

/// The entry of the timer's interrupt.
pub const TIMER_ENTRY: &str = "apic_timer_interrupt";

/// Exceptions for which the processor pushes an error code (Intel SDM volume 3, 7.13), as the
/// kernel names their entries.
const WITH_ERROR_CODE: [&str; 9] = [
    "alignment_check",
    "control_protection",
    "double_fault",
    "general_protection",
    "invalid_tss",
    "page_fault",
    "segment_not_present",
    "stack_segment",
    "vmm_communication",
];

/// An entry into the kernel that the processor makes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Name of the entry, without the kernel's prefix.
    pub name: &'a str,
    /// Whether an interrupt makes it, and not an exception.
    pub is_interrupt: bool,
    /// Whether a word lies on the stack above the address that was interrupted.
    pub has_code: bool,
}

/// Returns the entry that a symbol is; `None` for another symbol (arch/x86/entry/entry_64.S).
pub fn entry(symbol: &str) -> Option<Entry<'_>> {
    let name = symbol.strip_prefix(ENTRY_PREFIX)?;
    if let Some(name) = name.strip_prefix("sysvec_") {
        return Some(Entry { name, is_interrupt: true, has_code: false });
    }
    if let Some(name) = name.strip_prefix("exc_") {
        return Some(Entry {
            name,
            is_interrupt: false,
            has_code: WITH_ERROR_CODE.contains(&name),
        });
    }
    // The stub of a device's interrupt pushes the vector where an error code would be.
    (name == DEVICE_ENTRY).then_some(Entry { name, is_interrupt: true, has_code: true })
}

/// Returns the name of the event and the vector of an interrupt; `None` for one of a device, and
/// for one without an event.
pub fn vector(entry: &str) -> Option<(&'static str, u32)> {
    let found = VECTORS.iter().find(|(name, ..)| *name == entry);
    found.map(|(_, event, vector)| (*event, *vector))
}
