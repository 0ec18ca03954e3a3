//! Files of the kernel, of which a locked-down one refuses some.

use alloc::string::String;

pub use preemptlab_sys::file::{open, read, read_from_start, write_kernel};
use rustix::io::Errno;

const DEBUGFS: &str = "/sys/kernel/debug/";

/// Reads a file of the kernel, without the white space around its text. A file of debugfs that a
/// locked-down kernel refuses even to root (`debugfs_locked_down` in fs/debugfs/file.c) is as good
/// as absent.
pub fn read_kernel(path: &str) -> Result<String, Errno> {
    match preemptlab_sys::file::read_kernel(path) {
        Err(Errno::PERM) if path.starts_with(DEBUGFS) => Err(Errno::NOENT),
        result => result,
    }
}
