//! How the kernel's own trace names interrupts and softirqs.

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

/// A softirq: its number, what trace events call it, and its function (include/linux/interrupt.h
/// and the users of `open_softirq`).
const SOFTIRQS: [(u32, &str, &str); 11] = [
    (0, "HI", "tasklet_hi_action"),
    (1, "TIMER", "run_timer_softirq"),
    (2, "NET_TX", "net_tx_action"),
    (3, "NET_RX", "net_rx_action"),
    (4, "BLOCK", "blk_done_softirq"),
    (5, "IRQ_POLL", "irq_poll_softirq"),
    (6, "TASKLET", "tasklet_action"),
    // The function was renamed in 6.10.
    (7, "SCHED", "run_rebalance_domains"),
    (7, "SCHED", "sched_balance_softirq"),
    (8, "HRTIMER", "hrtimer_run_softirq"),
    (9, "RCU", "rcu_core_si"),
];

/// The name of the event and the vector of an interrupt; `None` for one of a device, and for one
/// without an event.
pub fn vector(entry: &str) -> Option<(&'static str, u32)> {
    let found = VECTORS.iter().find(|(name, ..)| *name == entry);
    found.map(|(_, event, vector)| (*event, *vector))
}

/// The number and the name of the softirq that a function serves; `None` for a part of one.
pub fn softirq(function: &str) -> Option<(u32, &'static str)> {
    let found = SOFTIRQS.iter().find(|(.., name)| *name == function);
    found.map(|(number, action, _)| (*number, *action))
}
