//! Tells the plugin that has time pass by prices of each turn.

use std::{ffi::c_uint, sync::OnceLock};

/// A turn of a CPU begins or goes on.
type Begins = extern "C" fn(cpu: c_uint);

/// QEMU has left the execution of the CPU. Where its turn is over, what is returned are counts that the
/// CPU owes, or has too many of.
type Ends = extern "C" fn(is_over: bool) -> i64;

/// Time was stolen from a CPU, whose turn begins, from one time until another.
type Loses = extern "C" fn(cpu: c_uint, from_ns: i64, until_ns: i64);

static WATCHER: OnceLock<Watcher> = OnceLock::new();

/// What is called in each turn.
pub struct Watcher {
    pub begins: Begins,
    pub ends: Ends,
    pub loses: Loses,
}

/// Has a plugin told of each turn. To be called before the CPUs execute.
#[unsafe(no_mangle)]
pub extern "C" fn preemptlab_watch_turns(begins: Begins, ends: Ends, loses: Loses) {
    WATCHER.get_or_init(|| Watcher { begins, ends, loses });
}

/// Who is told of turns; nobody where instructions have no prices.
pub fn watcher() -> Option<&'static Watcher> {
    WATCHER.get()
}
