//! The program of micro-benchmarks: see the library.
#![no_std]
#![no_main]

use core::panic::PanicInfo;

/// Called by the start of every program of the guest.
#[unsafe(no_mangle)]
extern "C" fn preemptlab_main() -> ! {
    preemptlab_micro::run()
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    preemptlab_micro::panicked(info)
}
