//! The lines that the CPU that executes has used last, for a short way past the model.
//!
//! A line that was used last of its set changes nothing when it is used again. An address within its page
//! tells the set, so the virtual line says all that there is to know; it is forgotten where the guest
//! changes what its addresses mean. Only one CPU executes at a time, and this is of that one.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use preemptlab_protocol::caches::CacheSize;

/// As many as every cache has sets.
const COUNT: usize = CacheSize::SETS_MIN as usize;

/// No line.
const NONE: u64 = u64::MAX;

/// Lines of a kind, by the low bits of their number.
pub struct Recent([AtomicU64; COUNT]);

/// Virtual lines that were read last.
pub static READ: Recent = Recent::new();

/// Virtual lines that were used last, which no other CPU has had since they were written.
pub static WRITTEN: Recent = Recent::new();

/// Physical lines that instructions were fetched from last.
pub static FETCHED: Recent = Recent::new();

/// The three kinds of a CPU that does not execute.
pub struct Kept([[u64; COUNT]; 3]);

impl Recent {
    const fn new() -> Self {
        Self([const { AtomicU64::new(NONE) }; COUNT])
    }

    /// Whether a line was used last of its set.
    #[inline]
    pub fn has(&self, line: u64) -> bool {
        self.of(line).load(Relaxed) == line
    }

    /// Takes note of a line.
    pub fn set(&self, line: u64) {
        self.of(line).store(line, Relaxed);
    }

    /// Forgets a set: that of a line.
    pub fn forget(&self, line: u64) {
        self.of(line).store(NONE, Relaxed);
    }

    pub fn forget_all(&self) {
        self.0.iter().for_each(|line| line.store(NONE, Relaxed));
    }

    /// Where the line of a set is.
    pub fn of(&self, line: u64) -> &AtomicU64 {
        &self.0[line as usize % COUNT]
    }
}

impl Kept {
    pub const fn new() -> Self {
        Self([[NONE; COUNT]; 3])
    }

    /// Keeps what the CPU that executed has used.
    pub fn keep(&mut self) {
        for (kept, recent) in self.0.iter_mut().zip([&READ, &WRITTEN, &FETCHED]) {
            for (kept, line) in kept.iter_mut().zip(&recent.0) {
                *kept = line.load(Relaxed);
            }
        }
    }

    /// Has the CPU execute.
    pub fn restore(&self) {
        for (kept, recent) in self.0.iter().zip([&READ, &WRITTEN, &FETCHED]) {
            for (kept, line) in kept.iter().zip(&recent.0) {
                line.store(*kept, Relaxed);
            }
        }
    }

    /// Forgets that a line is the CPU's own.
    pub fn share(&mut self, line: u64) {
        self.0[1][line as usize % COUNT] = NONE;
    }

    /// Forgets all that is known by virtual addresses.
    pub fn forget_addresses(&mut self) {
        self.0[..2].iter_mut().for_each(|kept| kept.fill(NONE));
    }

    /// Forgets the sets of a line.
    pub fn forget(&mut self, line: u64) {
        self.0.iter_mut().for_each(|kept| kept[line as usize % COUNT] = NONE);
    }
}
