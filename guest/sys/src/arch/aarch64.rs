use core::arch::asm;

use rustix::io::Errno;

/// Where the kernel jumps to, and the functions of memory that the compiler may call anywhere. The
/// latter are in assembly because a loop in Rust would be compiled into a call of itself.
#[cfg(feature = "start")]
mod start {
    core::arch::global_asm!(
        ".globl _start",
        "_start:",
        "    mov x29, xzr",
        "    mov x30, xzr",
        "    mov x0, sp",
        "    and sp, x0, #-16",
        "    bl preemptlab_start",
        "    brk #1",
        ".globl memcpy",
        ".globl memmove",
        "memcpy:",
        "memmove:",
        "    cmp x0, x1",
        "    b.hi 4f",
        "    mov x3, x0",
        "2:  subs x2, x2, #8",
        "    b.lo 3f",
        "    ldr x4, [x1], #8",
        "    str x4, [x3], #8",
        "    b 2b",
        "3:  adds x2, x2, #8",
        "    b.eq 6f",
        "5:  ldrb w4, [x1], #1",
        "    strb w4, [x3], #1",
        "    subs x2, x2, #1",
        "    b.ne 5b",
        "    ret",
        // The destination may begin inside the source: copy from the end.
        "4:  subs x2, x2, #8",
        "    b.lo 7f",
        "    ldr x4, [x1, x2]",
        "    str x4, [x0, x2]",
        "    b 4b",
        "7:  adds x2, x2, #8",
        "    b.eq 6f",
        "8:  subs x2, x2, #1",
        "    ldrb w4, [x1, x2]",
        "    strb w4, [x0, x2]",
        "    b.ne 8b",
        "6:  ret",
        ".globl memset",
        "memset:",
        "    mov x3, x0",
        "    cbz x2, 3f",
        "2:  strb w1, [x3], #1",
        "    subs x2, x2, #1",
        "    b.ne 2b",
        "3:  ret",
        ".globl bcmp",
        ".globl memcmp",
        "bcmp:",
        "memcmp:",
        "    cbz x2, 3f",
        "2:  ldrb w3, [x0], #1",
        "    ldrb w4, [x1], #1",
        "    subs w3, w3, w4",
        "    b.ne 4f",
        "    subs x2, x2, #1",
        "    b.ne 2b",
        "3:  mov w0, #0",
        "    ret",
        "4:  mov w0, w3",
        "    ret",
        ".globl strlen",
        "strlen:",
        "    mov x1, x0",
        "2:  ldrb w2, [x1], #1",
        "    cbnz w2, 2b",
        "    sub x0, x1, x0",
        "    sub x0, x0, #1",
        "    ret",
        // The precompiled `core` and `alloc` name these, but nothing here unwinds.
        ".globl rust_eh_personality",
        ".globl _Unwind_Resume",
        "rust_eh_personality:",
        "_Unwind_Resume:",
        "    brk #1",
        // The precompiled `compiler_builtins` asks for the processor's features, of which it needs none.
        ".globl getauxval",
        "getauxval:",
        "    mov x0, #0",
        "    ret",
    );
}

/// Makes a system call.
///
/// # Safety
///
/// Pointers among the arguments must be good for what the kernel does with them.
pub unsafe fn syscall(number: u32, arguments: [usize; 4]) -> Result<usize, Errno> {
    let [a, b, c, d] = arguments;
    let result: isize;
    // SAFETY: the registers are those of the kernel's calling convention; the caller answers for
    // the arguments.
    unsafe {
        asm!(
            "svc #0",
            in("x8") number as usize,
            inlateout("x0") a as isize => result,
            in("x1") b,
            in("x2") c,
            in("x3") d,
            options(nostack),
        );
    }
    if result < 0 {
        return Err(Errno::from_raw_os_error(-result as i32));
    }
    Ok(result as usize)
}
