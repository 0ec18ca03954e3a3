//! Keeps a full cache of translated code from ending a CPU's turn.
//!
//! When QEMU's cache is full, it is emptied, and the CPU whose code did not fit leaves its turn
//! (`tb_gen_code`, QEMU accel/tcg/translate-all.c). With several CPUs the next one then goes on
//! earlier than it would have with a larger cache, or with code of another size: that of another
//! host's processor, or of a tracing plugin. So that jump out of the turn is replaced by the one that
//! QEMU takes to translate a block again (`cpu_loop_exit_noexc`): the same CPU goes on with what is
//! left of its turn, as if nothing had been full.

use std::{
    ffi::{CStr, c_int, c_void},
    mem,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use crate::{
    next,
    threads::{is_thread_of_cpus, tell_the_host},
};

/// Whether the thread of the CPUs has just emptied the cache. It alone reads and writes this.
static EMPTIED: AtomicBool = AtomicBool::new(false);

/// Whether the host knows that this library notices how the cache is emptied.
static TOLD: AtomicBool = AtomicBool::new(false);

/// QEMU keeps its blocks in GLib's trees, and to empty these it takes a reference to each
/// (`tcg_region_tree_reset_all`, QEMU tcg/region.c). Nothing else in it does.
///
/// A machine that is loaded has its cache emptied first, by the main thread (`cpu_common_post_load`).
///
/// # Safety
///
/// As g_tree_ref() of GLib.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn g_tree_ref(tree: *mut c_void) -> *mut c_void {
    if is_thread_of_cpus() {
        EMPTIED.store(true, Relaxed);
    } else if !TOLD.swap(true, Relaxed) {
        tell_the_host(b"f");
    }
    // SAFETY: as the caller promises.
    unsafe { next::TREE_REF.of_tree(tree) }
}

/// # Safety
///
/// As siglongjmp(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn siglongjmp(to: *mut c_void, value: c_int) -> ! {
    // SAFETY: as the caller promises; nothing of this library is on the stack that needs an end.
    unsafe {
        go_on_if_emptied();
        next::SIGLONGJMP.of_jump(to, value)
    }
}

/// What siglongjmp(3) is in a program that is built with `_FORTIFY_SOURCE`.
///
/// # Safety
///
/// As siglongjmp(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __longjmp_chk(to: *mut c_void, value: c_int) -> ! {
    // SAFETY: as the caller promises; nothing of this library is on the stack that needs an end.
    unsafe {
        go_on_if_emptied();
        next::LONGJMP_CHK.of_jump(to, value)
    }
}

/// Replaces the jump that ends the turn of the CPU that has emptied the cache; otherwise returns.
///
/// # Safety
///
/// To be called where the thread jumps anyway.
unsafe fn go_on_if_emptied() {
    if !is_thread_of_cpus() || !EMPTIED.swap(false, Relaxed) {
        return;
    }
    let (jump, cpu) = (symbol(c"cpu_loop_exit_noexc"), symbol(c"current_cpu"));
    if jump.is_null() || cpu.is_null() {
        tell_the_host(b"!");
        return;
    }
    // SAFETY: QEMU's function and its variable, which on this thread is the CPU that jumps. It leads
    // back here, where by then nothing has been emptied.
    unsafe {
        let jump = mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> !>(jump);
        jump(cpu.cast::<*mut c_void>().read())
    }
}

/// Has the host told if the thread of the CPUs comes here, between turns or at a device, after a
/// cache was emptied and without having jumped: then this QEMU ends turns in another way.
pub fn comes_to_the_lock() {
    if EMPTIED.load(Relaxed) {
        EMPTIED.store(false, Relaxed);
        tell_the_host(b"!");
    }
}

fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: the name is a C string.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}
