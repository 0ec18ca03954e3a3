//! What the guest writes to its results port, without a system call for each byte.
//!
//! QEMU's debug console passes a byte on as soon as the guest writes it (`debugcon_ioport_write`,
//! hw/char/debugcon.c). The host reads the results when the CPUs stand or QEMU has ended, so bytes wait
//! until then.

use std::{
    cell::UnsafeCell,
    ffi::{c_int, c_void},
    mem::MaybeUninit,
    sync::atomic::{AtomicI32, Ordering::Relaxed},
};

use libc::{dev_t, ino_t, iovec, ssize_t, stat};

use crate::{
    next,
    threads::{is_thread_of_cpus, variable},
};

/// How many bytes wait at most.
const WAITING_BYTES_MAX: usize = 64 << 10;

static WAITING: Waiting = Waiting(UnsafeCell::new((0, Vec::new())));

/// A descriptor of the results, and what is to be written to it.
struct Waiting(UnsafeCell<(c_int, Vec<u8>)>);

// SAFETY: only the thread of the CPUs uses it.
unsafe impl Sync for Waiting {}

/// # Safety
///
/// As writev(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn writev(file: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    if count == 1 && is_thread_of_cpus() && is_results(file) {
        // SAFETY: one part, as the caller promises, which is that long.
        let bytes = unsafe {
            let part = parts.read();
            std::slice::from_raw_parts(part.iov_base.cast::<u8>(), part.iov_len)
        };
        keep(file, bytes);
        return bytes.len() as ssize_t;
    }
    // SAFETY: as the caller promises.
    unsafe { next::WRITEV.of_parts(file, parts, count) }
}

/// Keeps bytes for later.
fn keep(file: c_int, bytes: &[u8]) {
    // SAFETY: this is the thread of the CPUs, and nothing else is borrowed here.
    let (to, waiting) = unsafe { &mut *WAITING.0.get() };
    *to = file;
    waiting.extend_from_slice(bytes);
    if waiting.len() >= WAITING_BYTES_MAX {
        flush();
    }
}

/// Writes what waits. What cannot be written is lost, as without waiting: the file has its full size.
///
/// Does nothing on other threads: the thread of the CPUs has stood before they do anything, and then
/// nothing waits.
pub fn flush() {
    if !is_thread_of_cpus() {
        return;
    }
    // SAFETY: this is the thread of the CPUs, and nothing else is borrowed here.
    let (file, waiting) = unsafe { &mut *WAITING.0.get() };
    let mut rest = waiting.as_slice();
    while !rest.is_empty() {
        // SAFETY: so many bytes.
        let written = unsafe { libc::write(*file, rest.as_ptr().cast::<c_void>(), rest.len()) };
        match usize::try_from(written) {
            Ok(written) if written > 0 => rest = &rest[written..],
            _ => break,
        }
    }
    waiting.clear();
}

/// The guest may end QEMU on the thread of its CPUs (`isa-debug-exit`).
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_THE_END: extern "C" fn() = {
    extern "C" fn at_the_end() {
        flush();
    }
    at_the_end
};

/// Whether a descriptor is one of the file of results: the one whose number the environment names,
/// or the one by which QEMU has opened it once more.
fn is_results(file: c_int) -> bool {
    // QEMU opens it before the CPUs execute, and keeps it open.
    static OPENED: AtomicI32 = AtomicI32::new(-1);
    if OPENED.load(Relaxed) == file {
        return true;
    }
    let named = || variable(c"PREEMPTLAB_RESULTS")?.try_into().ok();
    let is_it = named().and_then(identity).is_some_and(|it| Some(it) == identity(file));
    if is_it {
        OPENED.store(file, Relaxed);
    }
    is_it
}

fn identity(file: c_int) -> Option<(dev_t, ino_t)> {
    let mut found = MaybeUninit::<stat>::uninit();
    // SAFETY: fstat(2) fills it where it returns 0.
    unsafe {
        (libc::fstat(file, found.as_mut_ptr()) == 0).then(|| {
            let found = found.assume_init();
            (found.st_dev, found.st_ino)
        })
    }
}
