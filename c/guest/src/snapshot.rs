//! The moment at which the host saves the machine.

use preemptlab_protocol::{
    SNAPSHOT_DELAY_NS, SNAPSHOT_WATCHDOG, WATCHDOG_DISABLE_PORT, WATCHDOG_PORT,
};

use crate::{
    arch,
    clock::{self, NS_PER_MS, NS_PER_SEC},
};

/// How long the kernel gets to finish what the boot left behind: deferred work, RCU callbacks, the
/// first statistics timers. Idle virtual time costs the host nothing.
const SETTLE_NS: u64 = NS_PER_SEC;

/// A whole number of ticks at every HZ that kernels are built with: 100, 250, 300 and 1000.
const TICKS_NS: u64 = 20 * NS_PER_MS;

/// At least half a millisecond from any tick at any of them.
const BETWEEN_TICKS_NS: u64 = 2_500_000;

/// How long init sleeps on after the snapshot.
const MARGIN_NS: u64 = 100_000;

/// Sleeps while the machine is stopped and saved. The watchdog that stops it expires between two
/// ticks, when every CPU is idle.
pub fn wait() {
    let settled_ns = (clock::now_ns() + SETTLE_NS).next_multiple_of(TICKS_NS);
    clock::sleep_until_ns(settled_ns + BETWEEN_TICKS_NS);
    arch::write_port(WATCHDOG_PORT, SNAPSHOT_WATCHDOG);
    clock::sleep_until_ns(clock::now_ns() + SNAPSHOT_DELAY_NS + MARGIN_NS);
    arch::write_port(WATCHDOG_DISABLE_PORT, 0);
}
