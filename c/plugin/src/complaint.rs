//! Why the plugin cannot work, said where the host looks for it.

/// QEMU's standard error is where its own complaints go, and where the host looks for the reason.
#[allow(clippy::print_stderr, reason = "a plugin has no other way to say why it cannot work")]
pub fn complain(reason: &str) {
    eprintln!("preemptlab plugin: {reason}");
}

/// Ends QEMU: an execution without its trace is worth nothing.
///
/// Nothing that QEMU does at its end is done: it would call the plugin again, which would fail again, and a process
/// that is ending cannot end.
pub fn fail(reason: &str) -> ! {
    complain(reason);
    // SAFETY: the call takes a number and does not return.
    unsafe { libc::_exit(1) }
}
