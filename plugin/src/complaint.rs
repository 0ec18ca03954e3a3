//! Why the plugin cannot work, said where the host looks for it.

/// QEMU's standard error is where its own complaints go, and where the host looks for the reason.
#[allow(clippy::print_stderr, reason = "a plugin has no other way to say why it cannot work")]
pub fn complain(reason: &str) {
    eprintln!("preemptlab plugin: {reason}");
}

/// Ends QEMU: an execution without its trace is worth nothing.
#[allow(clippy::exit, reason = "a plugin has no other way to end QEMU")]
pub fn fail(reason: &str) -> ! {
    complain(reason);
    std::process::exit(1)
}
