//! The program that runs a cell on the kernel of the machine itself, as the first process of its
//! own namespaces: `/init` without a virtual machine.
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
