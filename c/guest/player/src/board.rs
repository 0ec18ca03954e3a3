//! The memory that the player's processes share.

use alloc::{format, vec::Vec};
use core::{
    ptr, slice,
    sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering},
};

use preemptlab_protocol::script::{LOCKS_MAX, Script, Span, Step, THREADS_MAX};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::trouble::{Attempt, Result};

/// What every process sees.
pub struct Board {
    /// How the processes wait for each other.
    pub stage: &'static Stage,
    /// For each thread, what it has done.
    pub records: Vec<Record<'static>>,
}

/// How the processes wait for each other. All zeros at first.
#[repr(C)]
pub struct Stage {
    /// Threads that have got ready; a futex.
    pub ready: AtomicU32,
    /// For each thread 1 when [`Self::start_ns`] is known; futexes.
    pub cues: [AtomicU32; THREADS_MAX],
    /// When the script starts.
    pub start_ns: AtomicU64,
    /// Threads that have finished, or cannot go on; a futex.
    pub finished: AtomicU32,
    /// The number of the error that a thread cannot go on for, or 0.
    pub error: AtomicI32,
    /// The futexes of the script.
    pub futexes: [AtomicU32; LOCKS_MAX as usize],
}

/// What a thread has done.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// Its steps.
    pub steps: &'a [SpanRecord],
    /// The operations of all its system calls, one call after the other.
    pub operations: &'a [SpanRecord],
}

/// When something happened; 0 when it has not begun or not ended.
#[repr(C)]
#[derive(Default)]
pub struct SpanRecord {
    /// Where it begins.
    pub begin_ns: AtomicU64,
    /// Where it ends.
    pub end_ns: AtomicU64,
}

impl SpanRecord {
    /// `None` when it has not begun.
    pub fn read(&self) -> Option<Span> {
        let begin_ns = self.begin_ns.load(Ordering::Acquire);
        let end_ns = self.end_ns.load(Ordering::Acquire);
        (begin_ns > 0).then_some(Span { begin_ns, end_ns: (end_ns > 0).then_some(end_ns) })
    }
}

/// Types that may be all zeros and that several processes may change at once.
///
/// # Safety
///
/// The type consists of atomics only.
unsafe trait Shared: 'static {}
// SAFETY: atomics only.
unsafe impl Shared for Stage {}
// SAFETY: atomics only.
unsafe impl Shared for SpanRecord {}

impl Board {
    /// Makes one for a script.
    pub fn new(script: &Script) -> Result<Self> {
        let [stage] = shared::<Stage>(1)? else { unreachable!("one was asked for") };
        let records = script.threads.iter().map(|thread| {
            let operations = thread.steps.iter().map(operations).sum();
            Ok(Record { steps: shared(thread.steps.len())?, operations: shared(operations)? })
        });
        Ok(Self { stage, records: records.collect::<Result<_>>()? })
    }
}

impl Record<'_> {
    /// Takes the page faults of writing to it.
    pub fn touch(&self) {
        for span in self.steps.iter().chain(self.operations) {
            span.begin_ns.store(0, Ordering::Relaxed);
        }
    }
}

/// How many operations a step has.
pub fn operations(step: &Step) -> usize {
    if let Step::Call(operations) = step { operations.len() } else { 0 }
}

/// Memory that processes forked later share. It is never unmapped.
fn shared<T: Shared>(count: usize) -> Result<&'static [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let bytes = size_of::<T>() * count;
    // SAFETY: a new mapping at a place of the kernel's choice.
    let memory = unsafe { mmap_anonymous(ptr::null_mut(), bytes, protection, MapFlags::SHARED) }
        .attempt(|| format!("map {bytes} bytes"))?;
    // SAFETY: the memory is that large, aligned to a page, all zeros, and of atomics.
    Ok(unsafe { slice::from_raw_parts(memory.cast(), count) })
}
