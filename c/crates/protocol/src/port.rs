//! The I/O ports of the virtual machine that host and guest agree on.

/// Results: every byte written here reaches the host at once (QEMU's `isa-debugcon`).
/// 0x402 is left to SeaBIOS, which writes its own log there.
pub const RESULTS_PORT: u16 = 0xe9;

/// QEMU's `isa-debug-exit`: a byte `v` written here ends the process with exit status `v << 1 | 1`.
pub const EXIT_PORT: u16 = 0x501;

/// What the guest writes to [`EXIT_PORT`] after its last message.
pub const DONE_CODE: u8 = 42;

/// QEMU's `ib700` watchdog: writing `n & 0xf` arms it to expire after `30 - 2 n` seconds of virtual
/// time (QEMU `hw/watchdog/wdt_ib700.c`).
pub const WATCHDOG_PORT: u16 = 0x443;

/// Any write here disarms the `ib700` watchdog.
pub const WATCHDOG_DISABLE_PORT: u16 = 0x441;

/// What the guest writes to [`WATCHDOG_PORT`] to be stopped for the snapshot: expiry after
/// [`SNAPSHOT_DELAY_NS`].
///
/// The guest sleeps across the expiry. A machine that is busy when it is told to stop executes a
/// few more instructions, and how many depends on the host; one that sleeps has none to execute.
pub const SNAPSHOT_WATCHDOG: u8 = 14;

/// How long the watchdog takes that stops the guest for the snapshot, in nanoseconds.
pub const SNAPSHOT_DELAY_NS: u64 = 2_000_000_000;
