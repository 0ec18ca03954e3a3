//! How long a load takes, by where its line is and by how it is reached.
//!
//! A chain of loads, of which each reads the address of the next, has their latency; loads that do not wait
//! for each other overlap; loads one line after the other have the prefetcher.

use alloc::{format, string::String};
use core::{hint::black_box, ptr};

use preemptlab_sys::{clock::now_ns, file};
use rustix::{
    io::{self, Errno},
    mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous},
};

use crate::place;

const LINE_BYTES: usize = 64;
const PAGE_BYTES: usize = 4096;
const HUGE_BYTES: usize = 2 << 20;

/// The most memory of a buffer.
const BYTES_MAX: usize = 1 << 30;

/// Loads of a repetition. It goes on where the one before it ended, so that a large buffer is as cold as it
/// is on its first round.
const LOADS: usize = 1 << 17;

/// Repetitions, of which the least counts.
const REPETITIONS: usize = 15;

/// Loads that come before those that are measured: they fill caches, and TLBs.
const WARM: usize = 1 << 20;

/// A buffer: so many lines, which lie so far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    kind: Kind,
    lines: usize,
}

/// Layout of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Lines in a row, in pages of 2 MiB.
    Lines,
    /// A line of each 4 KiB, in pages of 2 MiB.
    Spread,
    /// A line of each page of 4 KiB.
    Pages,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Lines, Self::Spread, Self::Pages];

    const fn name(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::Spread => "spread",
            Self::Pages => "pages",
        }
    }

    const fn apart_bytes(self) -> usize {
        match self {
            Self::Lines => LINE_BYTES,
            Self::Spread | Self::Pages => PAGE_BYTES,
        }
    }
}

impl Buffer {
    /// Reads a word such as `lines:1024`; `None` for one that is none, or too large.
    pub fn parse(word: &str) -> Option<Self> {
        let (kind, lines) = word.split_once(':')?;
        let kind = Kind::ALL.into_iter().find(|it| it.name() == kind)?;
        let lines = lines.parse().ok().filter(|lines| *lines > 0)?;
        let bytes = kind.apart_bytes().checked_mul(lines)?;
        (bytes <= BYTES_MAX).then_some(Self { kind, lines })
    }

    const fn bytes(self) -> usize {
        self.lines * self.kind.apart_bytes()
    }
}

/// Lines in memory that lie `APART_BYTES` apart.
#[derive(Clone, Copy)]
struct Lines<const APART_BYTES: usize> {
    base: *mut u8,
    count: usize,
}

/// Memory in pages of 4 KiB or, as far as the kernel has them, of 2 MiB.
struct Memory(*mut u8);

impl Memory {
    fn new(bytes: usize, advice: Advice) -> io::Result<Self> {
        let bytes = bytes.next_multiple_of(HUGE_BYTES);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new memory, which is never given back.
        unsafe {
            let base =
                mmap_anonymous(ptr::null_mut(), bytes + HUGE_BYTES, access, MapFlags::PRIVATE)?;
            let base = base.cast::<u8>().map_addr(|address| address.next_multiple_of(HUGE_BYTES));
            // A kernel without pages of 2 MiB refuses the advice.
            let _ = madvise(base.cast(), bytes, advice);
            for page in (0..bytes).step_by(PAGE_BYTES) {
                base.add(page).write_volatile(1);
            }
            Ok(Self(base))
        }
    }
}

/// Measures loads of each of the buffers on a CPU. Prints how much memory has pages of 2 MiB of what was to have them, and
/// a line for each buffer.
pub fn all(cpu: usize, buffers: &[Buffer]) -> Result<String, String> {
    let failed = |errno: Errno| format!("the CPU {cpu}: error {}", errno.raw_os_error());
    place::stay_at(cpu).map_err(failed)?;
    let bytes = |is_huge: bool| {
        let those = buffers.iter().filter(|buffer| (buffer.kind != Kind::Pages) == is_huge);
        those.map(|buffer| buffer.bytes()).max().unwrap_or(0)
    };
    let huge = Memory::new(bytes(true), Advice::LinuxHugepage).map_err(failed)?;
    let granted = granted_bytes();
    let small = Memory::new(bytes(false), Advice::LinuxNoHugepage).map_err(failed)?;
    let mut lines = format!("huge {granted} {}\n", bytes(true).next_multiple_of(HUGE_BYTES));
    for Buffer { kind, lines: count } in buffers.iter().copied() {
        let [chained_ns, independent_ns, sequence_ns] = match kind {
            Kind::Lines => Lines::<LINE_BYTES> { base: huge.0, count }.times_ns(),
            Kind::Spread => Lines::<PAGE_BYTES> { base: huge.0, count }.times_ns(),
            Kind::Pages => Lines::<PAGE_BYTES> { base: small.0, count }.times_ns(),
        };
        lines += &format!(
            "{} {count} {LOADS} {chained_ns} {independent_ns} {sequence_ns}\n",
            kind.name()
        );
    }
    Ok(lines)
}

/// Returns how much of the process's memory has pages of 2 MiB, as the kernel says; 0 where it does not.
fn granted_bytes() -> usize {
    let text = file::read_kernel("/proc/self/smaps_rollup").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("AnonHugePages:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok());
    kib.unwrap_or(0) << 10
}

/// Returns the least time of a repetition.
fn least_ns(mut work: impl FnMut()) -> u64 {
    let times = (0..REPETITIONS).map(|_| {
        let begun_ns = now_ns();
        work();
        now_ns() - begun_ns
    });
    times.min().unwrap_or(0)
}

/// Mixes a number below 2^`bits`, and gives each of them another one: it goes on by the golden section, and into its
/// lower half go the bits of its upper one.
const fn mixed(number: usize, bits: u32) -> usize {
    let step = 0x9e37_79b9_7f4a_7c15_usize.unbounded_shr(usize::BITS - bits) | 1;
    let stepped = number.wrapping_mul(step) & ((1 << bits) - 1);
    stepped ^ stepped >> bits.div_ceil(2)
}

impl<const APART_BYTES: usize> Lines<APART_BYTES> {
    /// Returns where a line is. Lines of different pages are in different sets of a cache.
    const fn at(self, line: usize) -> *mut u8 {
        let place = line * APART_BYTES + line % (APART_BYTES / LINE_BYTES) * LINE_BYTES;
        // SAFETY: within the memory.
        unsafe { self.base.add(place) }
    }

    /// Links them to a circle in an order without order, and returns the first.
    fn chain(self) -> *mut *mut u8 {
        let bits = self.count.next_power_of_two().ilog2();
        let order = (0..1 << bits).map(|number| mixed(mixed(number, bits), bits));
        let mut order = order.filter(|line| *line < self.count).map(|line| self.at(line));
        let first = order.next().unwrap_or(self.base);
        let link = |line: *mut u8, next: *mut u8| {
            // SAFETY: a line is within the memory, and aligned.
            unsafe { line.cast::<*mut u8>().write(next) };
            next
        };
        let last = order.fold(first, link);
        link(last, first);
        first.cast()
    }

    fn chained_ns(self) -> u64 {
        let mut at = self.chain();
        let mut follow = |loads: usize| {
            for _ in 0..loads {
                // SAFETY: a chain is a circle within the memory.
                at = unsafe { at.read() }.cast();
            }
            black_box(at);
        };
        follow(self.count.min(WARM));
        least_ns(|| follow(LOADS))
    }

    fn independent_ns(self) -> u64 {
        // As many of the lines as a power of two.
        let bits = self.count.ilog2();
        let mut done = 0;
        let mut read = |loads: usize| {
            for load in done..done + loads {
                // No load depends on another one, and they lie in no order.
                // SAFETY: within the memory.
                unsafe { self.at(mixed(load, bits)).read_volatile() };
            }
            done += loads;
        };
        read(self.count.min(WARM));
        least_ns(|| read(LOADS))
    }

    fn in_sequence_ns(self) -> u64 {
        let mut next = 0;
        let mut read = |loads: usize| {
            let mut left = loads;
            while left > 0 {
                let run = left.min(self.count - next);
                for line in next..next + run {
                    // SAFETY: within the memory.
                    unsafe { self.at(line).read_volatile() };
                }
                (left, next) = (left - run, (next + run) % self.count);
            }
        };
        read(self.count.min(WARM));
        least_ns(|| read(LOADS))
    }

    fn times_ns(self) -> [u64; 3] {
        [self.chained_ns(), self.independent_ns(), self.in_sequence_ns()]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_line_has_its_turn() {
        for bits in 0..12 {
            let mixed: BTreeSet<_> = (0..1 << bits).map(|number| mixed(number, bits)).collect();
            assert_eq!(mixed, (0..1 << bits).collect());
        }
    }

    #[test]
    fn a_chain_is_one_circle_of_all_lines() {
        for count in [1, 2, 3, 12, 64, 100] {
            let mut memory = std::vec![0_u8; (count + 1) * PAGE_BYTES];
            let base = memory.as_mut_ptr().map_addr(|address| address.next_multiple_of(LINE_BYTES));
            let lines = Lines::<PAGE_BYTES> { base, count };
            let first = lines.chain();
            let mut seen = BTreeSet::new();
            let mut at = first;
            while seen.insert(at) {
                // SAFETY: a chain is a circle within the memory.
                at = unsafe { at.read() }.cast();
            }
            assert_eq!((seen.len(), at), (count, first));
        }
    }

    #[test]
    fn buffers_are_bounded() {
        let buffer = Buffer::parse("spread:262144").unwrap();
        assert_eq!((buffer.kind, buffer.lines, buffer.bytes()), (Kind::Spread, 262_144, 1 << 30));
        for word in [
            "",
            "lines",
            "lines:",
            "lines:0",
            "lines:-1",
            "lines:16777217",
            "pages:262145",
            "lines:99999999999999999999",
            "pages:18446744073709551615",
            "bytes:1",
            "lines:1:2",
        ] {
            assert_eq!(Buffer::parse(word), None, "{word}");
        }
    }
}
