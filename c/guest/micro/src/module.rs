//! The benchmarks of the module `preemptlab_micro`, which are executed in the kernel.

use alloc::{
    format,
    string::{String, ToString},
};

use preemptlab_sys::file;
use rustix::{
    fs::{self, Mode, OFlags},
    io::{self, Errno},
};

use crate::meter::Purpose;

/// The module's file, see `kmod/micro/file.c`.
const FILE: &str = "/proc/preemptlab_micro";

/// The module writes no more.
const TEXT_BYTES_MAX: usize = 2048;

/// Has the module execute all its benchmarks, and returns its lines.
pub fn all(purpose: Purpose) -> Result<String, String> {
    let failed = |what: &str| {
        let what = what.to_string();
        move |errno: Errno| format!("{FILE} cannot be {what}: error {}", errno.raw_os_error())
    };
    let opened = fs::open(FILE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    let opened = opened.map_err(failed("opened"))?;
    let word = match purpose {
        Purpose::Time => "time",
        Purpose::Count => "count",
    };
    // The module has executed everything when the call returns.
    io::write(&opened, word.as_bytes()).map_err(failed("written"))?;
    let bytes = file::read_from_start(&opened, TEXT_BYTES_MAX).map_err(failed("read"))?;
    String::from_utf8(bytes).map_err(|_| format!("{FILE} holds something else than text"))
}
