//! A thread of this process on another CPU.

use alloc::{vec, vec::Vec};
use core::{
    ffi::c_void,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
};

use preemptlab_sys::clock::{NS_PER_MS, sleep_ns};
use rustix::io::{self, Errno};

use crate::{arch::start_thread, place, processes};

/// Words of 16 bytes of a thread's stack: 64 KiB, which the thread's functions do not come near.
const STACK_WORDS: usize = 4096;

/// The thread is not on its CPU yet.
const STARTING: u32 = 0;
/// The thread is at work.
const READY: u32 = u32::MAX;

/// What the thread has to do; its state is one of the above, or the error with which it was refused its CPU.
struct Task<'a, P> {
    cpu: usize,
    state: AtomicU32,
    partner: &'a P,
}

/// Measures while a thread executes `partner` on another CPU, has `end` make `partner` return, and waits for the
/// thread's end.
pub fn beside<P: Fn() + Sync, T>(
    cpu: usize,
    partner: P,
    measure: impl FnOnce() -> io::Result<T>,
    end: impl FnOnce() -> io::Result<()>,
) -> io::Result<T> {
    let task = Task { cpu, state: AtomicU32::new(STARTING), partner: &partner };
    let running = AtomicU32::new(1);
    let mut stack: Vec<u128> = vec![0; STACK_WORDS];
    let (top, argument) = (stack.as_mut_ptr_range().end, (&raw const task).cast());
    // SAFETY: stack, word and task are there until the thread has ended, which is awaited below.
    unsafe { start_thread(processes::THREAD, top, &running, execute::<P>, argument) }?;
    let state = loop {
        match task.state.load(SeqCst) {
            STARTING => sleep_ns(NS_PER_MS),
            state => break state,
        }
    };
    let measured = match state {
        READY => {
            let measured = measure();
            end()?;
            measured
        }
        errno => Err(Errno::from_raw_os_error(errno as i32)),
    };
    processes::await_end(&running)?;
    measured
}

/// Executed by the thread.
extern "C" fn execute<P: Fn() + Sync>(task: *const c_void) {
    // SAFETY: whoever started the thread gave it a task, and keeps it until the thread has ended.
    let task = unsafe { &*task.cast::<Task<'_, P>>() };
    match place::stay_at(task.cpu) {
        Ok(()) => {
            task.state.store(READY, SeqCst);
            (task.partner)();
        }
        Err(errno) => task.state.store(errno.raw_os_error() as u32, SeqCst),
    }
}
