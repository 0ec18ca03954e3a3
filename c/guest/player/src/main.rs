//! The program `/player` of a guest: see the library.
#![no_std]
#![no_main]

use core::panic::PanicInfo;

/// Called by the start of every program of the guest.
#[unsafe(no_mangle)]
extern "C" fn preemptlab_main() -> ! {
    preemptlab_player::run()
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    preemptlab_player::panicked(info)
}
