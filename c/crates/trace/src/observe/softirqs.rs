//! Names of softirqs in the kernel's own trace.

/// Softirqs: the number, the name in trace events, and the function (include/linux/interrupt.h and
/// the users of `open_softirq`).
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

/// Returns the number and the name of the softirq that a function serves; `None` for a part of one.
pub fn softirq(function: &str) -> Option<(u32, &'static str)> {
    let found = SOFTIRQS.iter().find(|(.., name)| *name == function);
    found.map(|(number, action, _)| (*number, *action))
}
