//! The time by which QEMU resizes its TLBs.
//!
//! A flush makes a CPU's TLB larger or smaller by how full it was in the last 100 ms of host time
//! (`tlb_mmu_resize_locked`, QEMU accel/tcg/cputlb.c). Which translations it still holds decides when the page tables
//! are walked next, and a walk sets the accessed bit of a page. A guest that clears these bits and looks at them again,
//! as DAMON does (mm/damon/paddr.c; Debian's 7.2 has `CONFIG_DAMON_STAT_ENABLED_DEFAULT`), sees the difference.
//!
//! gettimeofday(2), which QEMU asks there and for clocks of the host that no guest here has, therefore counts how
//! often the thread of the CPUs has asked.

use std::{
    ffi::{c_int, c_void},
    sync::atomic::{AtomicI64, Ordering::SeqCst},
};

use libc::timeval;

use crate::threads::is_thread_of_cpus;

/// By so much each flush moves the time: 100 ms are 2000 flushes, which take about as long in a busy guest.
const FLUSH_US: i64 = 50;

static FLUSHES: AtomicI64 = AtomicI64::new(0);

/// # Safety
///
/// As gettimeofday(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(time: *mut timeval, _zone: *mut c_void) -> c_int {
    let flushes = match is_thread_of_cpus() {
        true => FLUSHES.fetch_add(1, SeqCst) + 1,
        false => FLUSHES.load(SeqCst),
    };
    let us = flushes * FLUSH_US;
    if !time.is_null() {
        // SAFETY: the caller has room for a time there.
        unsafe { time.write(timeval { tv_sec: us / 1_000_000, tv_usec: us % 1_000_000 }) };
    }
    0
}
