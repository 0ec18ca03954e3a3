//! The functions that QEMU calls instead of the C library's.

use std::{
    ffi::{CStr, c_int},
    ptr,
    sync::atomic::{AtomicPtr, Ordering::SeqCst},
};

use libc::{PR_GET_NAME, c_char, pthread_cond_t, pthread_mutex_t};

use crate::{
    next, results, scheduler,
    steals::Steals,
    threads::{CPUS, is_thread_of_cpus, tell_the_host, text_variable, this_thread, variable},
    turnstile::Turnstile,
};

static TURNSTILE: Turnstile = Turnstile::new();

/// QEMU's global lock: the one with which the thread of the CPUs first waits.
static LOCK: AtomicPtr<pthread_mutex_t> = AtomicPtr::new(ptr::null_mut());

/// What the thread of the CPUs waits for.
static CONDITION: AtomicPtr<pthread_cond_t> = AtomicPtr::new(ptr::null_mut());

/// # Safety
///
/// As pthread_mutex_lock(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int {
    if mutex == LOCK.load(SeqCst) && !is_thread_of_cpus() && is_main_thread() {
        TURNSTILE.pass();
    }
    // SAFETY: as the caller promises.
    unsafe { next::MUTEX_LOCK.of_mutex(mutex) }
}

/// # Safety
///
/// As pthread_cond_wait(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
) -> c_int {
    if CPUS.load(SeqCst) == 0 && executes_cpus() {
        LOCK.store(mutex, SeqCst);
        CPUS.store(this_thread(), SeqCst);
        begin();
    }
    if !is_thread_of_cpus() {
        // SAFETY: as the caller promises.
        return unsafe { next::COND_WAIT.of_both(condition, mutex) };
    }
    CONDITION.store(condition, SeqCst);
    results::flush();
    // SAFETY: the caller holds the mutex and gets it back.
    unsafe {
        TURNSTILE.stand(|| {
            libc::pthread_mutex_unlock(mutex);
        });
        next::MUTEX_LOCK.of_mutex(mutex)
    }
}

/// # Safety
///
/// As pthread_cond_signal(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_signal(condition: *mut pthread_cond_t) -> c_int {
    if send_cpus_on(condition) {
        return 0;
    }
    // SAFETY: as the caller promises.
    unsafe { next::COND_SIGNAL.of_condition(condition) }
}

/// # Safety
///
/// As pthread_cond_broadcast(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_broadcast(condition: *mut pthread_cond_t) -> c_int {
    if send_cpus_on(condition) {
        return 0;
    }
    // SAFETY: as the caller promises.
    unsafe { next::COND_BROADCAST.of_condition(condition) }
}

/// Whether the condition is the one of the CPUs; their thread alone waits for it.
fn send_cpus_on(condition: *mut pthread_cond_t) -> bool {
    let theirs = condition == CONDITION.load(SeqCst);
    if theirs {
        TURNSTILE.send_on();
    }
    theirs
}

/// Begins before any CPU executes, with the lock taken.
fn begin() {
    // Only a machine with several CPUs, or with prices, has a lookahead.
    let lookahead_ns = variable(c"PREEMPTLAB_LOOKAHEAD_NS");
    let steals = text_variable(c"PREEMPTLAB_STOLEN").and_then(Steals::parse);
    let install = |lookahead_ns| scheduler::install(lookahead_ns, steals);
    match lookahead_ns.map_or(Ok(()), install) {
        Ok(()) => tell_the_host(&[b"ready"]),
        Err(lacks) => tell_the_host(&[b"lacks ", lacks.0.to_bytes()]),
    }
}

fn is_main_thread() -> bool {
    // SAFETY: the calls cannot fail.
    unsafe { libc::gettid() == libc::getpid() }
}

/// Whether this is the thread of the CPUs, by the name that `-name debug-threads=on` gives it:
/// `ALL CPUs/TCG`.
fn executes_cpus() -> bool {
    // The kernel writes at most 16 bytes.
    let mut name = [0u8; 16];
    // SAFETY: there is room for the name, and it ends with a zero.
    let name = unsafe {
        libc::prctl(PR_GET_NAME, name.as_mut_ptr());
        CStr::from_ptr(name.as_ptr().cast::<c_char>())
    };
    name.to_bytes().ends_with(b"/TCG")
}
