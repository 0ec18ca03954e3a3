//! Processes and threads that begin and end.

use alloc::vec;
use core::{
    arch::asm,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
};

use linux_raw_sys::general::{
    __NR_clone, __NR_exit, CLONE_CHILD_CLEARTID, CLONE_FILES, CLONE_FS, CLONE_SIGHAND,
    CLONE_SYSVSEM, CLONE_THREAD, CLONE_VM,
};
use preemptlab_sys::kernel;
use rustix::{
    io,
    process::{WaitOptions, waitpid},
    thread::futex,
};

use crate::meter::Meter;

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
    let mut stack = vec![0_u64; 512];
    meter.measure(|| {
        for _ in 0..times {
            let running = AtomicU32::new(1);
            start_thread(&mut stack, &running)?;
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

/// Starts a thread that ends at once, and clears the word when it has.
fn start_thread(stack: &mut [u64], running: &AtomicU32) -> io::Result<()> {
    let result: isize;
    // SAFETY: the thread touches neither its stack nor anything else. The caller waits until it has
    // ended.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "mov eax, {exit}",
            "xor edi, edi",
            "syscall",
            "ud2",
            "2:",
            exit = const __NR_exit,
            inlateout("rax") __NR_clone as isize => result,
            in("rdi") THREAD as usize,
            in("rsi") stack.as_mut_ptr_range().end,
            in("rdx") 0,
            in("r10") running.as_ptr(),
            in("r8") 0,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    if result < 0 { Err(io::Errno::from_raw_os_error(-result as i32)) } else { Ok(()) }
}
