//! Whose turn it is, as the turnstile tells it.

use std::ffi::c_uint;

use crate::clock::symbol;

/// A turn of a CPU begins or goes on.
pub type Begins = extern "C" fn(cpu: c_uint);

/// QEMU has left the execution of the CPU, whose turn is over or not. What is returned are counts that
/// the CPU's clock has to be moved by.
pub type Ends = extern "C" fn(is_over: bool) -> i64;

/// Time was stolen from a CPU, whose turn begins, from one time until another; in nanoseconds.
pub type Loses = extern "C" fn(cpu: c_uint, from_ns: i64, until_ns: i64);

/// Asks the turnstile for calls.
///
/// # Errors
///
/// When it is not loaded.
pub fn watch(begins: Begins, ends: Ends, loses: Loses) -> Result<(), String> {
    let watch = symbol(c"preemptlab_watch_turns")
        .map_err(|_| "prices need the turnstile, which is not loaded".to_owned())?;
    // SAFETY: the turnstile's function has this type.
    unsafe {
        std::mem::transmute::<*mut std::ffi::c_void, extern "C" fn(Begins, Ends, Loses)>(watch)(
            begins, ends, loses,
        );
    }
    Ok(())
}
