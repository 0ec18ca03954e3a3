//! Measures the times behind `[caches.penalties]` of a profile on this machine: nanoseconds of a load
//! beyond those of one that hits the first cache, by where its line is and by how it is reached.
//!
//! `cargo run --release --locked -p preemptlab-calibrate --example caches`. A chain of loads, of which
//! each reads the address of the next, has their latency; loads that do not wait for each other
//! overlap; loads one line after the other have the prefetcher.
#![allow(clippy::print_stdout, reason = "an example prints what it measures")]

use std::{hint::black_box, io, ptr, time::Instant};

const LINE_BYTES: usize = 64;
const PAGE_BYTES: usize = 4096;

/// Number of repetitions, of which the least counts.
const REPETITIONS: usize = 15;

/// Memory in pages of 4 KiB or of 2 MiB.
struct Memory {
    base: *mut u8,
    bytes: usize,
}

impl Memory {
    fn new(bytes: usize, is_huge: bool) -> io::Result<Self> {
        let bytes = bytes.next_multiple_of(2 << 20);
        let (access, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let advice = if is_huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        // SAFETY: new memory, which is never given back.
        unsafe {
            let base = libc::mmap(ptr::null_mut(), bytes + (2 << 20), access, kind, -1, 0);
            if base == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let base = base.cast::<u8>().map_addr(|address| address.next_multiple_of(2 << 20));
            if libc::madvise(base.cast(), bytes, advice) != 0 {
                return Err(io::Error::last_os_error());
            }
            base.write_bytes(1, bytes);
            Ok(Self { base, bytes })
        }
    }

    /// Links lines, which lie so far apart, to a chain in a random order.
    fn chain(&self, lines: usize, apart: usize) -> *mut *mut u8 {
        let mut order: Vec<usize> = (0..lines).collect();
        let mut random = Random(1);
        for last in (1..lines).rev() {
            order.swap(last, random.below(last + 1));
        }
        let place = |line| place(line, apart);
        assert!(place(lines - 1) < self.bytes);
        for (line, next) in order.iter().zip(order.iter().cycle().skip(1)) {
            // SAFETY: both are within the memory, and aligned.
            unsafe {
                self.base.add(place(*line)).cast::<*mut u8>().write(self.base.add(place(*next)))
            };
        }
        // SAFETY: as above.
        unsafe { self.base.add(place(order[0])).cast() }
    }
}

/// Where a line is. Lines of different pages are in different sets of a cache.
fn place(line: usize, apart: usize) -> usize {
    line * apart + line % (apart / LINE_BYTES) * LINE_BYTES
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 16
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Returns the least nanoseconds of one of `operations`.
fn least_ns(operations: usize, mut work: impl FnMut()) -> f64 {
    work();
    let times = (0..REPETITIONS).map(|_| {
        let begin = Instant::now();
        work();
        begin.elapsed().as_secs_f64() * 1e9 / operations as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

fn chained_ns(memory: &Memory, lines: usize, apart: usize) -> f64 {
    let first = memory.chain(lines, apart);
    let loads = lines.max(1 << 17).next_multiple_of(lines);
    least_ns(loads, || {
        let mut at = first;
        for _ in 0..loads {
            // SAFETY: a chain is a circle within the memory.
            at = unsafe { at.read() }.cast();
        }
        black_box(at);
    })
}

fn independent_ns(memory: &Memory, lines: usize, apart: usize) -> f64 {
    let loads = lines.clamp(1 << 17, 1 << 22);
    least_ns(loads, || {
        let mut sum = 0u64;
        for load in 0..loads as u64 {
            // No number depends on another one, and they lie in no order. The number of lines is a power of
            // two.
            let mixed = load.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let line = (mixed ^ mixed >> 29) as usize & (lines - 1);
            // SAFETY: within the memory.
            sum = sum.wrapping_add(unsafe { memory.base.add(place(line, apart)).read() }.into());
        }
        black_box(sum);
    })
}

fn in_sequence_ns(memory: &Memory, lines: usize, writes: bool) -> f64 {
    let loads = lines.max(1 << 17).next_multiple_of(lines);
    least_ns(loads, || {
        let mut sum = 0u64;
        for _ in 0..loads / lines {
            for line in 0..lines {
                // SAFETY: within the memory.
                unsafe {
                    let at = memory.base.add(line * LINE_BYTES).cast::<u64>();
                    if writes {
                        at.write_volatile(line as u64);
                    } else {
                        sum = sum.wrapping_add(at.read_volatile());
                    }
                }
            }
        }
        black_box(sum);
    })
}

fn main() -> io::Result<()> {
    let huge = Memory::new(512 << 20, true)?;
    println!(
        "{:>10} {:>9} {:>12} {:>9} {:>9}  ns a load",
        "bytes", "chained", "independent", "reads", "writes"
    );
    for bytes in
        [16 << 10, 32 << 10, 256 << 10, 512 << 10, 2 << 20, 4 << 20, 8 << 20, 128 << 20, 512 << 20]
    {
        let lines = bytes / LINE_BYTES;
        println!(
            "{bytes:>10} {:>9.2} {:>12.2} {:>9.2} {:>9.2}",
            chained_ns(&huge, lines, LINE_BYTES),
            independent_ns(&huge, lines, LINE_BYTES),
            in_sequence_ns(&huge, lines, false),
            in_sequence_ns(&huge, lines, true),
        );
    }
    let small = Memory::new(512 << 20, false)?;
    println!(
        "{:>10} {:>9} {:>12}  ns a load of a line of each page of 4 KiB",
        "pages", "chained", "independent"
    );
    for pages in [32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536, 131072] {
        println!(
            "{pages:>10} {:>9.2} {:>12.2}",
            chained_ns(&small, pages, PAGE_BYTES),
            independent_ns(&small, pages, PAGE_BYTES),
        );
    }
    Ok(())
}
