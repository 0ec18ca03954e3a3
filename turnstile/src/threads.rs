//! Which thread is that of the CPUs, and what the host is told.

use std::{
    ffi::{CStr, c_int},
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

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

/// Says a line in the file whose descriptor the environment names: `ready` once the thread of the
/// CPUs is found, `lacks NAME` where this QEMU lacks something.
pub fn tell_the_host(words: &[&[u8]]) {
    let Some(descriptor) = variable(c"PREEMPTLAB_TURNSTILE") else { return };
    for word in words.iter().chain(&[b"\n".as_slice()]) {
        // SAFETY: a descriptor that was inherited for this, and so many bytes.
        unsafe { libc::write(descriptor as c_int, word.as_ptr().cast(), word.len()) };
    }
}

/// The number in a variable of the environment.
pub fn variable(name: &CStr) -> Option<i64> {
    text_variable(name)?.parse().ok()
}

/// A variable of the environment.
pub fn text_variable(name: &CStr) -> Option<&'static str> {
    // SAFETY: QEMU does not change its environment, and its values are strings.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value))?.to_str().ok()
    }
}
