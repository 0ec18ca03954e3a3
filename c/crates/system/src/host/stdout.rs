//! The check whether this process was started with a standard output.

use std::{
    os::fd::BorrowedFd,
    sync::atomic::{AtomicBool, Ordering},
};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Checks the descriptor before `main`. In `main` the standard library has already replaced a
/// closed descriptor by `/dev/null` (`sanitize_standard_fds` in its sys/pal/unix/mod.rs), and
/// output would be lost without an error.
extern "C" fn look() {
    // SAFETY: the descriptor is only asked about, and one that is not open is answered with EBADF.
    let stdout = unsafe { BorrowedFd::borrow_raw(1) };
    WAS_CLOSED.store(rustix::io::fcntl_getfd(stdout).is_err(), Ordering::Relaxed);
}

// SAFETY: the loader calls the function in this section once, before other threads are there; the
// function makes one system call and writes to an atomic.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// Returns whether this process was started with a closed standard output (`>&-`).
pub fn stdout_was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}
