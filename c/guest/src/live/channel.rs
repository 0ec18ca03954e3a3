//! The descriptors that the job comes from and the results go to.

use core::sync::atomic::{AtomicI32, Ordering};

use rustix::{
    fd::{BorrowedFd, IntoRawFd},
    io::{Errno, fcntl_dupfd_cloexec, write},
};

/// Above the three that every command has.
const FIRST: i32 = 3;

/// Standard input, until it is moved.
static JOB: AtomicI32 = AtomicI32::new(0);
/// Standard output, until it is moved.
static RESULTS: AtomicI32 = AtomicI32::new(1);

/// Moves standard input and output to where no command inherits them.
pub fn take() -> Result<(), Errno> {
    for channel in [&JOB, &RESULTS] {
        let moved = fcntl_dupfd_cloexec(descriptor(channel), FIRST)?;
        channel.store(moved.into_raw_fd(), Ordering::Relaxed);
    }
    Ok(())
}

/// Where the job is.
pub fn job() -> BorrowedFd<'static> {
    descriptor(&JOB)
}

/// Writes results. What cannot be written is missing at the host, which says so.
pub fn send(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match write(descriptor(&RESULTS), bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

fn descriptor(of: &AtomicI32) -> BorrowedFd<'static> {
    // SAFETY: standard input and output are there from the start, what they were moved to was
    // duplicated above, and none of them is ever closed.
    unsafe { BorrowedFd::borrow_raw(of.load(Ordering::Relaxed)) }
}
