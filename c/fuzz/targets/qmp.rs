//! What QEMU says on its monitor.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| preemptlab_backend_qemu::hostile_monitor(bytes));
