//! Memory in user space, in the caches of the first and the second level.

use alloc::{vec, vec::Vec};
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
            ".rept 4\n mov {a}, [{at} + 8]\n add {b}, [{at} + 16]\n test {a}, {a}\n jz 3f\n \
             cmp {b}, [{at} + 24]\n lea {a}, [{a} + 2 * {b}]\n 3: mov {at}, [{at}]\n .endr",
            at = inout(reg) base => _, a = out(reg) _, b = inout(reg) 0_u64 => _
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
            ".rept 4\n mov [{at}], {a}\n mov [{at} + 64], {a:e}\n push {a}\n pop {a}\n .endr",
            at = in(reg) words.as_mut_ptr(), a = inout(reg) 5_u64 => _
        );
        Ok(())
    })
}

/// Copies by one instruction that is repeated, 8 bytes at a time.
pub fn string_words<const BYTES: usize>(meter: &mut Meter, times: u32) -> io::Result<()> {
    let (from, mut to) = (vec![1_u8; BYTES], vec![0_u8; BYTES]);
    meter.measure(|| {
        for _ in 0..times {
            // SAFETY: both have so many bytes.
            unsafe {
                asm!(
                    "rep movsq",
                    inout("rsi") from.as_ptr() => _,
                    inout("rdi") to.as_mut_ptr() => _,
                    inout("rcx") BYTES / 8 => _,
                    options(nostack),
                );
            }
        }
        Ok(())
    })
}

/// Clears pages by one instruction that is repeated, as the kernel does.
pub fn string_clear<const BYTES: usize>(meter: &mut Meter, times: u32) -> io::Result<()> {
    let mut to: Vec<u8> = vec![1; BYTES];
    meter.measure(|| {
        for _ in 0..times {
            // SAFETY: the slice has so many bytes.
            unsafe {
                asm!(
                    "rep stosq",
                    in("rax") 0,
                    inout("rdi") to.as_mut_ptr() => _,
                    inout("rcx") BYTES / 8 => _,
                    options(nostack),
                );
            }
        }
        Ok(())
    })
}

/// Copies by one instruction that is repeated for each byte.
pub fn string_bytes<const BYTES: usize>(meter: &mut Meter, times: u32) -> io::Result<()> {
    let (from, mut to) = (vec![1_u8; BYTES], vec![0_u8; BYTES]);
    meter.measure(|| {
        for _ in 0..times {
            // SAFETY: both have so many bytes.
            unsafe {
                asm!(
                    "rep movsb",
                    inout("rsi") from.as_ptr() => _,
                    inout("rdi") to.as_mut_ptr() => _,
                    inout("rcx") BYTES => _,
                    options(nostack),
                );
            }
        }
        Ok(())
    })
}

/// Searches a byte by one instruction that is repeated.
pub fn string_search(meter: &mut Meter, times: u32) -> io::Result<()> {
    let bytes = [1_u8; 256];
    meter.measure(|| {
        for _ in 0..times {
            // SAFETY: reads at most the array.
            unsafe {
                asm!(
                    "repne scasb",
                    in("al") 0_u8,
                    inout("rdi") bytes.as_ptr() => _,
                    inout("rcx") bytes.len() => _,
                    options(nostack, readonly),
                );
            }
        }
        Ok(())
    })
}

/// Copies 64 bytes after 64 bytes; both have the same number of these.
pub fn copy_lines(from: &[u8], to: &mut [u8]) {
    // SAFETY: both have the same length, which is a multiple of 64.
    unsafe {
        asm!(
            "2:",
            "movdqu {a}, [{from}]",
            "movdqu {b}, [{from} + 16]",
            "movdqu {c}, [{from} + 32]",
            "movdqu {d}, [{from} + 48]",
            "movdqu [{to}], {a}",
            "movdqu [{to} + 16], {b}",
            "movdqu [{to} + 32], {c}",
            "movdqu [{to} + 48], {d}",
            "add {from}, 64",
            "add {to}, 64",
            "sub {left}, 64",
            "ja 2b",
            from = inout(reg) from.as_ptr() => _,
            to = inout(reg) to.as_mut_ptr() => _,
            left = inout(reg) to.len().min(from.len()) => _,
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
            options(nostack),
        );
    }
}

/// Clears 64 bytes after 64 bytes.
pub fn fill_lines(to: &mut [u8]) {
    // SAFETY: the length is a multiple of 64.
    unsafe {
        asm!(
            "pxor {a}, {a}",
            "2:",
            "movdqu [{to}], {a}",
            "movdqu [{to} + 16], {a}",
            "movdqu [{to} + 32], {a}",
            "movdqu [{to} + 48], {a}",
            "add {to}, 64",
            "sub {left}, 64",
            "ja 2b",
            to = inout(reg) to.as_mut_ptr() => _,
            left = inout(reg) to.len() => _,
            a = out(xmm_reg) _,
            options(nostack),
        );
    }
}
