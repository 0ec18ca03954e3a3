mod compute;
mod memory;

use core::{
    arch::{asm, global_asm},
    ffi::c_void,
    sync::atomic::AtomicU32,
};

use alloc::string::String;

use linux_raw_sys::general::{
    __NR_clone, __NR_exit, SA_SIGINFO, SIGTRAP, kernel_sigaction, kernel_sigset_t,
};
use rustix::io::{self, Errno};

use crate::{
    benchmark::{Benchmark, benchmark},
    handled::HANDLED,
};

pub use memory::{copy_lines, fill_lines};

/// The name that kernels and Debian have for the architecture of this processor's programs.
pub const NAME: &str = "arm64";

/// The benchmarks of this processor's instructions.
pub const BENCHMARKS: &[Benchmark] = &[
    benchmark("alu", 40_000, compute::alu),
    benchmark("branches", 30_000, compute::branches),
    benchmark("branches-at-random", 50_000, compute::branches_at_random),
    benchmark("calls", 20_000, compute::calls),
    benchmark("indirect-calls", 20_000, compute::indirect_calls),
    benchmark("multiply", 20_000, compute::multiply),
    benchmark("divide", 50_000, compute::divide),
    benchmark("vector", 50_000, compute::vector),
    benchmark("floating-point", 10_000, compute::floating_point),
    benchmark("locked", 50_000, compute::locked),
    benchmark("counter", 20_000, compute::counter),
    benchmark("fences", 10_000, compute::fences),
    benchmark("isb", 10_000, compute::isb),
    benchmark("yield", 20_000, compute::yields),
    benchmark("register", 20_000, compute::register),
    benchmark("list", 50_000, memory::list),
    benchmark("stores", 30_000, memory::stores),
    benchmark("clear-line", 20_000, memory::clear_line),
];

/// Executes a breakpoint; the handler of its signal returns behind it.
pub fn breakpoint() {
    // SAFETY: the handler returns behind the instruction.
    unsafe { asm!("brk #1") };
}

// The handlers use registers that the kernel restores. In a frame of a signal, `struct ucontext` has `pc` 440 bytes behind
// its begin (arch/arm64/include/uapi/asm/ucontext.h and sigcontext.h).
global_asm!(
    ".globl preemptlab_micro_handler",
    "preemptlab_micro_handler:",
    "    adrp x1, {handled}",
    "    mov w0, #1",
    "    str w0, [x1, :lo12:{handled}]",
    "    ret",
    ".globl preemptlab_micro_behind",
    "preemptlab_micro_behind:",
    "    ldr x0, [x2, #440]",
    "    add x0, x0, #4",
    "    str x0, [x2, #440]",
    "    ret",
    handled = sym HANDLED,
);

unsafe extern "C" {
    fn preemptlab_micro_handler(signal: i32);
    fn preemptlab_micro_behind(signal: i32);
}

/// Returns what has a signal set [`HANDLED`], or that of a breakpoint return behind it. The kernel itself has the code
/// that ends a handler.
pub fn handler(signal: u32) -> kernel_sigaction {
    let handler =
        if signal == SIGTRAP { preemptlab_micro_behind } else { preemptlab_micro_handler };
    kernel_sigaction {
        sa_handler_kernel: Some(handler),
        sa_flags: SA_SIGINFO.into(),
        sa_restorer: None,
        sa_mask: kernel_sigset_t { sig: [0] },
    }
}

/// Starts a thread with flags (clone(2)), which executes a function on the stack that ends at `top`, and clears the word
/// when it has ended.
///
/// # Safety
///
/// The stack is aligned as calls need it. It, the word and what the argument points to are there until the thread has
/// ended.
pub unsafe fn start_thread(
    flags: u32,
    top: *mut u128,
    running: &AtomicU32,
    function: extern "C" fn(*const c_void),
    argument: *const c_void,
) -> io::Result<()> {
    let result: isize;
    // SAFETY: the thread finds function and argument in registers, which it has as its creator had them. The caller
    // answers for the rest.
    unsafe {
        asm!(
            "svc #0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x0, x9",
            "blr x10",
            "mov x8, #{exit}",
            "mov x0, xzr",
            "svc #0",
            "brk #1",
            "2:",
            exit = const __NR_exit,
            in("x8") __NR_clone as usize,
            inlateout("x0") flags as isize => result,
            in("x1") top,
            in("x2") 0,
            in("x3") 0,
            in("x4") running.as_ptr(),
            in("x9") argument,
            in("x10") function,
            options(nostack),
        );
    }
    if result < 0 { Err(Errno::from_raw_os_error(-result as i32)) } else { Ok(()) }
}

/// Returns what the processor says of the TLBs of a CPU: nothing.
pub fn translations(_cpu: usize) -> Result<String, String> {
    Ok(String::new())
}
