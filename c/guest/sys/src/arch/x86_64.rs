use core::arch::asm;

use linux_raw_sys::general::__NR_iopl;
use rustix::io::Errno;

/// Where the kernel jumps to, and the functions of memory that the compiler may call anywhere. The
/// latter are in assembly because a loop in Rust would be compiled into a call of itself.
#[cfg(feature = "start")]
mod start {
    core::arch::global_asm!(
        ".globl _start",
        "_start:",
        "    xor ebp, ebp",
        "    and rsp, -16",
        "    call preemptlab_start",
        "    ud2",
        ".globl memcpy",
        "memcpy:",
        "    mov rax, rdi",
        "    mov rcx, rdx",
        "    rep movsb",
        "    ret",
        ".globl memmove",
        "memmove:",
        "    mov rax, rdi",
        "    mov rcx, rdx",
        "    mov r8, rdi",
        "    sub r8, rsi",
        "    cmp r8, rdx",
        "    jb 2f",
        "    rep movsb",
        "    ret",
        // The destination begins inside the source: copy from the end.
        "2:  lea rdi, [rdi + rdx - 1]",
        "    lea rsi, [rsi + rdx - 1]",
        "    std",
        "    rep movsb",
        "    cld",
        "    ret",
        ".globl memset",
        "memset:",
        "    mov r8, rdi",
        "    mov eax, esi",
        "    mov rcx, rdx",
        "    rep stosb",
        "    mov rax, r8",
        "    ret",
        ".globl bcmp",
        ".globl memcmp",
        "bcmp:",
        "memcmp:",
        "    xor ecx, ecx",
        "2:  cmp rcx, rdx",
        "    je 3f",
        "    movzx eax, byte ptr [rdi + rcx]",
        "    movzx r8d, byte ptr [rsi + rcx]",
        "    inc rcx",
        "    sub eax, r8d",
        "    je 2b",
        "    ret",
        "3:  xor eax, eax",
        "    ret",
        ".globl strlen",
        "strlen:",
        "    xor eax, eax",
        "2:  cmp byte ptr [rdi + rax], 0",
        "    je 3f",
        "    inc rax",
        "    jmp 2b",
        "3:  ret",
        // The precompiled `core` and `alloc` name these, but nothing here unwinds.
        ".globl rust_eh_personality",
        ".globl _Unwind_Resume",
        "rust_eh_personality:",
        "_Unwind_Resume:",
        "    ud2",
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
            "syscall",
            inlateout("rax") number as usize as isize => result,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    if result < 0 {
        return Err(Errno::from_raw_os_error(-result as i32));
    }
    Ok(result as usize)
}

/// Lets the process reach every port: iopl(2). init always may, so nothing is returned.
pub fn allow_ports() {
    // SAFETY: the call has no pointers.
    let _ = unsafe { syscall(__NR_iopl, [3, 0, 0, 0]) };
}

/// Takes back [`allow_ports`], which a child inherits and which would make every switch to it
/// dearer (`TIF_IO_BITMAP`, arch/x86/kernel/process.c).
pub fn forbid_ports() {
    // SAFETY: the call has no pointers.
    let _ = unsafe { syscall(__NR_iopl, [0, 0, 0, 0]) };
}

/// Writes a byte to a port.
pub fn write_port(port: u16, value: u8) {
    // SAFETY: a port of the virtual machine; no memory is touched.
    unsafe { asm!("out dx, al", in("dx") port, in("al") value, options(nostack, preserves_flags)) };
}

/// Writes 16 bits to a port.
pub fn write_port_word(port: u16, value: u16) {
    // SAFETY: a port of the virtual machine; no memory is touched.
    unsafe { asm!("out dx, ax", in("dx") port, in("ax") value, options(nostack, preserves_flags)) };
}

/// Writes bytes to a port, one after the other.
pub fn write_port_bytes(port: u16, bytes: &[u8]) {
    // SAFETY: reads exactly the slice.
    unsafe {
        asm!(
            "rep outsb",
            in("dx") port,
            inout("rsi") bytes.as_ptr() => _,
            inout("rcx") bytes.len() => _,
            options(nostack, preserves_flags, readonly),
        );
    }
}

/// Fills a slice from a port, byte by byte.
pub fn read_port_bytes(port: u16, bytes: &mut [u8]) {
    // SAFETY: writes exactly the slice.
    unsafe {
        asm!(
            "rep insb",
            in("dx") port,
            inout("rdi") bytes.as_mut_ptr() => _,
            inout("rcx") bytes.len() => _,
            options(nostack, preserves_flags),
        );
    }
}
