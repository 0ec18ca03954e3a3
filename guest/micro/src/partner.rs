//! A thread of this process on another CPU.

use alloc::{vec, vec::Vec};
use core::{
    arch::asm,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
};

use linux_raw_sys::general::{__NR_clone, __NR_exit};
use preemptlab_sys::clock::{NS_PER_MS, sleep_ns};
use rustix::io::{self, Errno};

use crate::{
    place,
    processes::{self, THREAD},
};

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
    start(&mut stack, &task, &running)?;
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
extern "C" fn execute<P: Fn() + Sync>(task: *const Task<'_, P>) {
    // SAFETY: whoever started the thread keeps the task until the thread has ended.
    let task = unsafe { &*task };
    match place::stay_at(task.cpu) {
        Ok(()) => {
            task.state.store(READY, SeqCst);
            (task.partner)();
        }
        Err(errno) => task.state.store(errno.raw_os_error() as u32, SeqCst),
    }
}

/// Starts a thread that executes a task on this stack, and clears the word when it has ended.
fn start<P: Fn() + Sync>(
    stack: &mut [u128],
    task: &Task<'_, P>,
    running: &AtomicU32,
) -> io::Result<()> {
    let top = stack.as_mut_ptr_range().end;
    let result: isize;
    // SAFETY: the thread finds function and argument in registers, which it has as its creator had them. The
    // stack's end is aligned as calls need it. The caller keeps stack, task and word until the thread has
    // ended.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "mov eax, {exit}",
            "xor edi, edi",
            "syscall",
            "ud2",
            "2:",
            exit = const __NR_exit,
            inlateout("rax") __NR_clone as isize => result,
            in("rdi") THREAD as usize,
            in("rsi") top,
            in("rdx") 0,
            in("r10") running.as_ptr(),
            in("r8") 0,
            in("r12") core::ptr::from_ref(task),
            in("r13") execute::<P> as extern "C" fn(*const Task<'_, P>),
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    if result < 0 { Err(Errno::from_raw_os_error(-result as i32)) } else { Ok(()) }
}
