//! Memory in user space, in the caches of the first and the second level.

use alloc::vec;
use core::arch::asm;

use rustix::io;

use super::compute::repeat;
use crate::meter::Meter;

/// Walks a list in the cache of the first level, and looks at each of its parts.
pub fn list(meter: &mut Meter, times: u32) -> io::Result<()> {
    const LINES: usize = 64;
    let mut lines = vec![[1_usize; 8]; LINES];
    let base = lines.as_ptr().addr();
    for (number, line) in lines.iter_mut().enumerate() {
        // 23 and 64 have no common divisor: every line is reached.
        line[0] = base + (number + 23) % LINES * size_of::<[usize; 8]>();
    }
    meter.measure(|| {
        repeat!(
            times,
            ".rept 4\n ldr {a}, [{at}, #8]\n ldr {c}, [{at}, #16]\n add {b}, {b}, {c}\n \
             cbz {a}, 3f\n ldr {c}, [{at}, #24]\n cmp {b}, {c}\n add {a}, {a}, {b}, lsl #1\n \
             3: ldr {at}, [{at}]\n .endr",
            at = inout(reg) base => _, a = out(reg) _, b = inout(reg) 0_u64 => _, c = out(reg) _
        );
        Ok(())
    })
}

/// Stores, and words that are pushed and popped.
pub fn stores(meter: &mut Meter, times: u32) -> io::Result<()> {
    let mut words = [1_u64; 64];
    meter.measure(|| {
        repeat!(
            times,
            ".rept 4\n str {a}, [{at}]\n str {a:w}, [{at}, #64]\n str {a}, [sp, #-16]!\n \
             ldr {a}, [sp], #16\n .endr",
            at = in(reg) words.as_mut_ptr(), a = inout(reg) 5_u64 => _
        );
        Ok(())
    })
}

/// Clears a line by one instruction, as the kernel does with each of a page.
pub fn clear_line(meter: &mut Meter, times: u32) -> io::Result<()> {
    /// As large as a line may be for the instruction (DCZID_EL0).
    #[repr(align(2048))]
    struct Area([u8; 2048]);
    let mut area = Area([0; 2048]);
    meter.measure(|| {
        repeat!(times, ".rept 4\n dc zva, {at}\n .endr", at = in(reg) area.0.as_mut_ptr());
        Ok(())
    })
}

/// Copies 64 bytes after 64 bytes; both have the same number of these.
pub fn copy_lines(from: &[u8], to: &mut [u8]) {
    // SAFETY: both have the same length, which is a multiple of 64.
    unsafe {
        asm!(
            "2:",
            "ldp {a:q}, {b:q}, [{from}], #32",
            "ldp {c:q}, {d:q}, [{from}], #32",
            "stp {a:q}, {b:q}, [{to}], #32",
            "stp {c:q}, {d:q}, [{to}], #32",
            "subs {left}, {left}, #64",
            "b.hi 2b",
            from = inout(reg) from.as_ptr() => _,
            to = inout(reg) to.as_mut_ptr() => _,
            left = inout(reg) to.len().min(from.len()) => _,
            a = out(vreg) _, b = out(vreg) _, c = out(vreg) _, d = out(vreg) _,
            options(nostack),
        );
    }
}

/// Clears 64 bytes after 64 bytes.
pub fn fill_lines(to: &mut [u8]) {
    // SAFETY: the length is a multiple of 64.
    unsafe {
        asm!(
            "movi {a:v}.2d, #0",
            "2:",
            "stp {a:q}, {a:q}, [{to}], #32",
            "stp {a:q}, {a:q}, [{to}], #32",
            "subs {left}, {left}, #64",
            "b.hi 2b",
            to = inout(reg) to.as_mut_ptr() => _,
            left = inout(reg) to.len() => _,
            a = out(vreg) _,
            options(nostack),
        );
    }
}
