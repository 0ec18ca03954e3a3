//! A method of apt's that fetches nothing: apt starts it where it resolves packages, and asks what it can do
//! (apt's doc/method.dbk). Static, because a machine without apt may have neither a shell nor a C library.
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use preemptlab_sys::{file::say, kernel};
use rustix::{io, stdio::stdin};

const STDOUT: i32 = 1;

/// Called by the start of every program of the guest.
#[unsafe(no_mangle)]
extern "C" fn preemptlab_main() -> ! {
    say(STDOUT, "100 Capabilities\nSingle-Instance: true\n\n");
    let mut asked = [0; 4096];
    // SAFETY: nothing closes the standard files.
    let input = unsafe { stdin() };
    // apt closes the pipe when it has what it wants.
    while matches!(io::read(input, &mut asked), Ok(1..) | Err(io::Errno::INTR)) {}
    kernel::exit(0)
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    kernel::exit(1)
}
