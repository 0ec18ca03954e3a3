//! The program that the guest's kernel starts as `/init`: without a C library, so that its bytes
//! depend on nothing but the toolchain and the lock file.
#![no_std]
#![no_main]

use core::panic::PanicInfo;

/// Called by the start of every program of the guest.
#[unsafe(no_mangle)]
extern "C" fn preemptlab_main() -> ! {
    preemptlab_guest::run()
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    preemptlab_guest::panicked(info)
}
