//! Which thread is that of the CPUs, and what the host is told.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// The thread of the CPUs (pthread_self(3)), from when it first waits. That is before it executes
/// anything, and before the main thread, which waits for its start, does anything else.
pub static CPUS: AtomicUsize = AtomicUsize::new(0);

/// Whether this is the thread of the CPUs, once it has waited for the first time.
pub fn is_thread_of_cpus() -> bool {
    CPUS.load(SeqCst) == this_thread()
}

pub fn this_thread() -> usize {
    // SAFETY: the call cannot fail.
    unsafe { libc::pthread_self() as usize }
}

/// Says something in the file whose descriptor the environment names: `.` once the thread of the CPUs
/// is found, `f` when the cache of translated code was first emptied by another thread, `!` whenever
/// emptying it has ended a turn.
pub fn tell_the_host(word: &[u8; 1]) {
    // SAFETY: QEMU does not change its environment.
    let value = unsafe { libc::getenv(c"PREEMPTLAB_TURNSTILE".as_ptr()) };
    if value.is_null() {
        return;
    }
    // SAFETY: a string, a descriptor that was inherited for this, and one byte.
    unsafe { libc::write(libc::atoi(value), word.as_ptr().cast(), 1) };
}
