//! The I/O ports of the virtual machine that host and guest agree on.

/// Results: every byte written here reaches the host at once (QEMU's `isa-debugcon`).
/// 0x402 is left to SeaBIOS, which writes its own log there.
pub const RESULTS_PORT: u16 = 0xe9;

/// The pvpanic device (QEMU `docs/specs/pvpanic.rst`). Writing 1 stops the machine at that very
/// instruction when QEMU runs with `-action panic=pause`: the boot snapshot is taken there.
pub const PANIC_PORT: u16 = 0x505;

/// QEMU's `isa-debug-exit`: a byte `v` written here ends the process with exit status `v << 1 | 1`.
pub const EXIT_PORT: u16 = 0x501;

/// What the guest writes to [`EXIT_PORT`] after its last message.
pub const DONE_CODE: u8 = 42;

/// QEMU's `ib700` watchdog: writing `n & 0xf` arms it to expire after `30 - 2 n` seconds of virtual
/// time (QEMU `hw/watchdog/wdt_ib700.c`).
pub const WATCHDOG_PORT: u16 = 0x443;

/// Any write here disarms the `ib700` watchdog.
pub const WATCHDOG_DISABLE_PORT: u16 = 0x441;
