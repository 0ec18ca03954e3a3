use alloc::{format, string::ToString, vec::Vec};
use core::{
    panic::PanicInfo,
    sync::atomic::{AtomicBool, Ordering},
};

use preemptlab_protocol::{
    EXIT_PORT, Failure, FailureKind, Message, RESULTS_PORT, WATCHDOG_DISABLE_PORT,
    frame::{self, PAYLOAD_BYTES_MAX},
};

use crate::{arch, clock, stage, trouble::Trouble};

/// What is written to [`EXIT_PORT`] after a panic of this program.
const PANIC_CODE: u8 = 1;

/// Sends a message. One that the host would refuse for its length becomes a failure.
pub fn send(message: &Message) {
    let frame = match frame::encode(message) {
        Ok(frame) if frame.len() <= PAYLOAD_BYTES_MAX => Ok(frame),
        Ok(frame) => Err(format!("the commands' results are too long: {} bytes", frame.len())),
        Err(error) => Err(error.to_string()),
    };
    match frame {
        Ok(frame) => arch::write_port_bytes(RESULTS_PORT, &frame),
        Err(reason) => send(&Message::Failed(Trouble::other(reason).into_failure())),
    }
}

/// Ends the virtual machine.
pub fn exit(code: u8) -> ! {
    arch::write_port(WATCHDOG_DISABLE_PORT, 0);
    loop {
        arch::write_port(EXIT_PORT, code);
        // Only a machine without the device comes here.
        clock::sleep_ns(clock::NS_PER_SEC);
    }
}

/// Reports a panic of this program and ends the virtual machine.
pub fn panicked(info: &PanicInfo<'_>) -> ! {
    static AGAIN: AtomicBool = AtomicBool::new(false);
    if !AGAIN.swap(true, Ordering::Relaxed) {
        send(&Message::Failed(Failure {
            stage: stage::current(),
            kind: FailureKind::Other,
            reason: format!("the guest's init failed: {info}"),
            system: None,
            commands: Vec::new(),
            refusal: None,
        }));
    }
    exit(PANIC_CODE)
}
