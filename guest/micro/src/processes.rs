//! Processes and threads that begin and end.

use alloc::vec;
use core::{
    ffi::c_void,
    ptr,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
};

use linux_raw_sys::general::{
    CLONE_CHILD_CLEARTID, CLONE_FILES, CLONE_FS, CLONE_SIGHAND, CLONE_SYSVSEM, CLONE_THREAD,
    CLONE_VM,
};
use preemptlab_sys::kernel;
use rustix::{
    io,
    process::{WaitOptions, waitpid},
    thread::futex,
};

use crate::{arch::start_thread, meter::Meter};

/// Forks, and waits for the child, which ends at once.
pub fn fork(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        for _ in 0..times {
            // SAFETY: the process has one thread.
            match unsafe { kernel::fork() }? {
                None => kernel::exit(0),
                Some(child) => waitpid(Some(child), WaitOptions::empty())?,
            };
        }
        Ok(())
    })
}

/// The flags of a thread, which shares everything with the process and ends with it, however that ends.
pub const THREAD: u32 = CLONE_VM
    | CLONE_FS
    | CLONE_FILES
    | CLONE_SIGHAND
    | CLONE_THREAD
    | CLONE_SYSVSEM
    | CLONE_CHILD_CLEARTID;

/// Starts a thread, and waits for its end, which comes at once.
pub fn thread(meter: &mut Meter, times: u32) -> io::Result<()> {
    let mut stack = vec![0_u128; 256];
    meter.measure(|| {
        for _ in 0..times {
            let running = AtomicU32::new(1);
            let top = stack.as_mut_ptr_range().end;
            // SAFETY: stack and word are there until it has ended, and it has no argument.
            unsafe { start_thread(THREAD, top, &running, end, ptr::null()) }?;
            await_end(&running)?;
        }
        Ok(())
    })
}

/// Waits for the end of a thread: the kernel then clears the word, which was 1, and wakes its waiters.
#[inline]
pub fn await_end(running: &AtomicU32) -> io::Result<()> {
    while running.load(SeqCst) != 0 {
        match futex::wait(running, futex::Flags::empty(), 1, None) {
            Ok(()) | Err(io::Errno::AGAIN | io::Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Executed by a thread that ends at once.
extern "C" fn end(_nothing: *const c_void) {}
