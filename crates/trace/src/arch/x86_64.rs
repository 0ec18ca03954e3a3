//! x86-64: the entries of its interrupts and exceptions, the interrupts of its local APIC, and its registers by
//! the System V ABI.

use preemptlab_protocol::trace::{Operand, Register};
use preemptlab_symbols::{Symbols, Types};
use syscalls::x86_64::Sysno;

use super::info::{ArchInfo, Entry};
use crate::point::Point;

pub(super) const INFO: ArchInfo = ArchInfo {
    machine: "x86_64",
    entry_prefix: ENTRY_PREFIX,
    entries,
    device_entry: Some(DEVICE_ENTRY),
    timer_entry: "apic_timer_interrupt",
    handlers: &[],
    call_entries: &["call_function", "call_function_single"],
    timer_event: Some(LOCAL_TIMER),
    vectors: &VECTORS,
    timer_message: (MESSAGE_ADDRESS, LOCAL_TIMER_VECTOR),
    syscall_entry: Some(("entry_SYSCALL_64", Register::Rax)),
    syscall,
    registers: &Register::X86_64,
    arguments: [Register::Rdi, Register::Rsi, Register::Rdx, Register::Rcx],
    return_address: on_stack(0),
    // The lowest bits of CS are the level of privilege.
    is_user: |segment| segment & 3 == 3,
    // RIP, CS, RFLAGS, RSP, SS.
    frame_words: 5,
    // The TSC, which QEMU makes the virtual clock itself under -icount.
    cycle_ns: 1,
    // CALL with a displacement of 32 bits.
    call_bytes: 5,
    spin_wait: "native_queued_spin_lock_slowpath",
    preempt_count,
};

/// The event of the timer of a CPU.
const LOCAL_TIMER: &str = "local_timer";

/// `LOCAL_TIMER_VECTOR` (arch/x86/include/asm/irq_vectors.h).
const LOCAL_TIMER_VECTOR: u32 = 0xec;

/// The interrupts of x86's local APIC that have trace events of their own
/// (arch/x86/include/asm/trace/irq_vectors.h): the name of the entry, of the event, and the vector
/// (arch/x86/include/asm/irq_vectors.h).
const VECTORS: [(&str, &str, u32); 11] = [
    ("apic_timer_interrupt", LOCAL_TIMER, LOCAL_TIMER_VECTOR),
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

/// Address to which messages for the CPU with APIC ID 0 are written (Intel SDM volume 3, 12.11).
const MESSAGE_ADDRESS: u64 = 0xfee0_0000;

/// First part of the symbols of entries.
const ENTRY_PREFIX: &str = "asm_";

/// The entry of devices' interrupts.
const DEVICE_ENTRY: &str = "common_interrupt";

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

/// Returns the entry that a symbol is (arch/x86/entry/entry_64.S).
fn entries(symbol: &str) -> Vec<Entry<'_>> {
    let Some(name) = symbol.strip_prefix(ENTRY_PREFIX) else { return Vec::new() };
    let (name, point, has_code) = if let Some(name) = name.strip_prefix("sysvec_") {
        (name, Point::Interrupt, false)
    } else if let Some(name) = name.strip_prefix("exc_") {
        (name, Point::Exception, WITH_ERROR_CODE.contains(&name))
    } else if name == DEVICE_ENTRY {
        // The stub of a device's interrupt pushes the vector where an error code would be.
        (name, Point::Interrupt, true)
    } else {
        return Vec::new();
    };
    // RIP and CS in the frame that the processor pushes, above the error code.
    let first = u64::from(has_code);
    let operands = vec![on_stack(first), on_stack(first + 1)];
    vec![Entry { name, point, operands, only: None }]
}

/// Returns the word on the stack at an index, with that at the stack pointer as the first.
const fn on_stack(index: u64) -> Operand {
    Operand::Memory { base: Some(Register::Rsp), offset: index * 8, bytes: 8 }
}

fn syscall(number: u32) -> Option<&'static str> {
    Sysno::new(number as usize).map(|call| call.name())
}

/// Returns the offset of `preempt_count` from the base of the per-CPU area, which GS has. From 6.2 to 6.14 it is a
/// member of `pcpu_hot`.
fn preempt_count(symbols: &Symbols, types: &Types) -> Result<u64, &'static str> {
    if let Some(address) = symbols.address("__preempt_count") {
        return Ok(address);
    }
    let hot = symbols.address("pcpu_hot").ok_or("variable __preempt_count")?;
    let member = types.member_offset("pcpu_hot", "preempt_count");
    let member = member.ok_or("member pcpu_hot.preempt_count")?;
    Ok(hot.wrapping_add(member.offset_bytes.into()))
}
