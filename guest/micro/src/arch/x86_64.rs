mod compute;
mod cpuid;
mod memory;

use core::{
    arch::{asm, global_asm},
    ffi::c_void,
    sync::atomic::AtomicU32,
};

use linux_raw_sys::general::{
    __NR_clone, __NR_exit, SA_RESTORER, kernel_sigaction, kernel_sigset_t,
};
use rustix::io::{self, Errno};

use crate::{
    benchmark::{Benchmark, benchmark},
    handled::HANDLED,
};

pub use cpuid::translations;
pub use memory::{copy_lines, fill_lines};

/// The name that kernels and Debian have for the architecture of this processor's programs.
pub const NAME: &str = "amd64";

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
    benchmark("x87", 10_000, compute::x87),
    benchmark("locked", 100_000, compute::locked),
    benchmark("rdtsc", 20_000, compute::rdtsc),
    benchmark("fences", 10_000, compute::fences),
    benchmark("cpuid", 10, compute::cpuid),
    benchmark("pause", 5_000, compute::pause),
    benchmark("flags", 20_000, compute::flags),
    benchmark("save-vectors", 5_000, compute::save_vectors),
    benchmark("list", 50_000, memory::list),
    benchmark("stores", 30_000, memory::stores),
    benchmark("string-words-64", 10_000, memory::string_words::<64>),
    benchmark("string-words-4096", 2_000, memory::string_words::<4096>),
    benchmark("string-clear-4096", 2_000, memory::string_clear::<4096>),
    benchmark("string-bytes-64", 10_000, memory::string_bytes::<64>),
    benchmark("string-bytes-4096", 500, memory::string_bytes::<4096>),
    benchmark("string-search", 1_000, memory::string_search),
];

/// Executes a breakpoint; the handler of its signal returns behind it.
pub fn breakpoint() {
    // SAFETY: the handler returns behind the instruction.
    unsafe { asm!("int3") };
}

global_asm!(
    ".globl preemptlab_micro_handler",
    "preemptlab_micro_handler:",
    "    mov dword ptr [rip + {handled}], 1",
    "    ret",
    ".globl preemptlab_micro_restore",
    "preemptlab_micro_restore:",
    "    mov eax, 15", // rt_sigreturn(2)
    "    syscall",
    handled = sym HANDLED,
);

unsafe extern "C" {
    fn preemptlab_micro_handler(signal: i32);
    fn preemptlab_micro_restore();
}

/// Returns what has a signal set [`HANDLED`], and keeps every register.
pub fn handler(_signal: u32) -> kernel_sigaction {
    kernel_sigaction {
        sa_handler_kernel: Some(preemptlab_micro_handler),
        sa_flags: SA_RESTORER.into(),
        sa_restorer: Some(preemptlab_micro_restore),
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
            in("rdi") flags as usize,
            in("rsi") top,
            in("rdx") 0,
            in("r10") running.as_ptr(),
            in("r8") 0,
            in("r12") argument,
            in("r13") function,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    if result < 0 { Err(Errno::from_raw_os_error(-result as i32)) } else { Ok(()) }
}
