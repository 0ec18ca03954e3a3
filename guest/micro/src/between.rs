//! What two CPUs do for each other.

use alloc::{format, string::String, vec::Vec};
use core::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};

use preemptlab_sys::clock::{NS_PER_SEC, now_ns};
use rustix::{
    io,
    pipe::pipe,
    thread::{MembarrierCommand, membarrier},
};

use crate::{
    meter::Spread,
    pairs::{sleep_on, wake},
    partner::beside,
    place,
};

/// Repetitions of a benchmark, if they take no longer than [`TIME_NS_MAX`].
const REPETITIONS: usize = 1000;

/// Repetitions that there are at least.
const REPETITIONS_MIN: usize = 41;

/// After this time a benchmark ends: other work may have one of its CPUs.
const TIME_NS_MAX: u64 = 2 * NS_PER_SEC;

/// Repetitions before those that are measured: they fill caches, and idle CPUs get to know how long they sleep.
const WARM: usize = 20;

/// How often a line goes there and back in a repetition.
const ROUNDS: u32 = 50;

/// A word in a line of its own, and without a line that the processor fetches beside it.
#[derive(Default)]
#[repr(align(256))]
struct Line(AtomicU32);

/// A benchmark: its name, its operations in a repetition, and the function that executes it with the other
/// CPU.
type Benchmark = (&'static str, u32, fn(usize) -> io::Result<Spread>);

/// The benchmarks, in the order in which they are executed.
const BENCHMARKS: [Benchmark; 5] = [
    ("line-transfer", 2 * ROUNDS, line_transfer),
    ("call-alone", 1, call_alone),
    ("call-other", 1, call_other),
    ("futex-between", 1, futex_between),
    ("pipe-between", 1, pipe_between),
];

/// Executes each benchmark between two CPUs, and prints a line for each. One that the kernel refuses has a
/// line that says so, and the others go on.
pub fn all(cpu: usize, other: usize) -> Result<String, String> {
    let failed = |errno: io::Errno| format!("the CPU {cpu}: error {}", errno.raw_os_error());
    place::stay_at(cpu).map_err(failed)?;
    let line = |(name, operations, run): Benchmark| match run(other) {
        Ok(Spread { min_ns, quartile_ns, median_ns }) => {
            format!("{name} {operations} {min_ns} {quartile_ns} {median_ns}\n")
        }
        Err(errno) => format!("{name} error {}\n", errno.raw_os_error()),
    };
    Ok(BENCHMARKS.into_iter().map(line).collect())
}

/// Measures an operation again and again.
fn repeated(operation: impl FnMut() -> io::Result<()>) -> io::Result<Spread> {
    prepared(|| {}, operation)
}

/// Measures an operation again and again, each time after a preparation that is not measured.
fn prepared(
    mut prepare: impl FnMut(),
    mut operation: impl FnMut() -> io::Result<()>,
) -> io::Result<Spread> {
    for _ in 0..WARM {
        prepare();
        operation()?;
    }
    let last_ns = now_ns() + TIME_NS_MAX;
    let mut times = Vec::with_capacity(REPETITIONS);
    while times.len() < REPETITIONS && (times.len() < REPETITIONS_MIN || now_ns() < last_ns) {
        prepare();
        let begun_ns = now_ns();
        operation()?;
        times.push(now_ns() - begun_ns);
    }
    Ok(Spread::of(times))
}

/// Hands a word to the other CPU and waits for it to come back: the line of the word is transferred twice.
fn line_transfer(other: usize) -> io::Result<Spread> {
    let (turn, is_over) = (Line::default(), AtomicBool::new(false));
    let partner = || {
        loop {
            while turn.0.load(Acquire) == 0 {
                if is_over.load(Relaxed) {
                    return;
                }
            }
            turn.0.store(0, Release);
        }
    };
    let hand_over = || {
        for _ in 0..ROUNDS {
            turn.0.store(1, Release);
            while turn.0.load(Acquire) == 1 {}
        }
        Ok(())
    };
    let end = || {
        is_over.store(true, Relaxed);
        Ok(())
    };
    beside(other, partner, || repeated(hand_over), end)
}

/// Has the kernel call the CPUs that execute this process, where there is no other one.
fn call_alone(_other: usize) -> io::Result<Spread> {
    membarrier(MembarrierCommand::RegisterPrivateExpedited)?;
    repeated(|| membarrier(MembarrierCommand::PrivateExpedited))
}

/// Has the kernel call the other CPU, which spins in this process, and wait for its answer. The kernel calls no
/// CPU that executes another process, so each repetition waits for a sign that the thread there is at work.
fn call_other(other: usize) -> io::Result<Spread> {
    membarrier(MembarrierCommand::RegisterPrivateExpedited)?;
    let (signs, is_over) = (Line::default(), AtomicBool::new(false));
    let spin = || {
        while !is_over.load(Relaxed) {
            signs.0.fetch_add(1, Relaxed);
        }
    };
    let await_sign = || {
        let seen = signs.0.load(Relaxed);
        while signs.0.load(Relaxed) == seen {}
    };
    let end = || {
        is_over.store(true, Relaxed);
        Ok(())
    };
    let call = || membarrier(MembarrierCommand::PrivateExpedited);
    beside(other, spin, || prepared(await_sign, call), end)
}

/// Wakes the other CPU, which sleeps, and sleeps until it is woken from there.
fn futex_between(other: usize) -> io::Result<Spread> {
    let (there, here) = (Line::default(), Line::default());
    let is_over = AtomicBool::new(false);
    let partner = || {
        while sleep_on(&there.0).is_ok() && !is_over.load(SeqCst) && wake(&here.0).is_ok() {}
    };
    let exchange = || {
        wake(&there.0)?;
        sleep_on(&here.0)
    };
    let end = || {
        is_over.store(true, SeqCst);
        wake(&there.0)
    };
    beside(other, partner, || repeated(exchange), end)
}

/// The same with a byte in a pipe, and another pipe back.
fn pipe_between(other: usize) -> io::Result<Spread> {
    let (there, here) = (pipe()?, pipe()?);
    let (request, answer) = (there.1, here.0);
    let partner = || {
        let mut byte = [0];
        // Nothing is read when the other end is closed.
        while io::read(&there.0, &mut byte) == Ok(1) && io::write(&here.1, &byte).is_ok() {}
    };
    // It owns its ends, so they are closed when all repetitions are done.
    let exchange = move || {
        io::write(&request, &[1])?;
        io::read(&answer, &mut [0]).map(drop)
    };
    beside(other, partner, || repeated(exchange), || Ok(()))
}
