//! Gaps in the time of a thread that spins.

use alloc::{format, string::String, vec::Vec};
use core::mem;

use linux_raw_sys::general::{__NR_getrusage, RUSAGE_THREAD, rusage};
use preemptlab_sys::{
    arch::syscall,
    clock::{NS_PER_MS, now_ns},
};
use rustix::io;

use crate::place;

/// How long the thread spins.
const SPAN_NS: u64 = 500 * NS_PER_MS;

/// Nothing that the thread does itself takes as long.
const GAP_NS_MIN: u64 = 1500;

/// Gaps after which it ends early.
const GAPS_MAX: usize = 4096;

/// How often it looks at its account without a gap, so that what the kernel noted there in a short interrupt is not
/// taken for a part of the next gap.
const LOOK_NS: u64 = 50_000;

/// What the kernel notes of the thread.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Account {
    /// Time that it had, which the kernel adds up in its tick, and when it wakes others on this CPU.
    time_us: i64,
    /// How often another one took its place.
    preempted: i64,
}

impl Account {
    fn look() -> io::Result<Self> {
        // SAFETY: the type holds integers only.
        let mut usage: rusage = unsafe { mem::zeroed() };
        let arguments = [RUSAGE_THREAD as usize, (&raw mut usage).addr(), 0, 0];
        // SAFETY: the pointer is to what the kernel writes.
        unsafe { syscall(__NR_getrusage, arguments) }?;
        let us = |time: linux_raw_sys::general::__kernel_old_timeval| {
            time.tv_sec * 1_000_000 + time.tv_usec
        };
        Ok(Self { time_us: us(usage.ru_utime) + us(usage.ru_stime), preempted: usage.ru_nivcsw })
    }

    /// Says who took the time between two looks: another thread, this kernel, or nobody that it knows of.
    fn taken_by(self, after: Self) -> &'static str {
        match (self.preempted == after.preempted, self.time_us == after.time_us) {
            (false, _) => "preempted",
            (true, false) => "own",
            (true, true) => "stolen",
        }
    }
}

/// Spins on a CPU, and prints for how long, and each gap with who took it.
pub fn all(cpu: usize) -> Result<String, String> {
    let failed = |errno: io::Errno| format!("the CPU {cpu}: error {}", errno.raw_os_error());
    place::stay_at(cpu).map_err(failed)?;
    let (span_ns, gaps) = spin().map_err(failed)?;
    let lines = gaps.into_iter().map(|(by, gap_ns)| format!("{by} {gap_ns}\n"));
    Ok(format!("span {span_ns}\n{}", lines.collect::<String>()))
}

/// Spins, and returns for how long, and the gaps.
fn spin() -> io::Result<(u64, Vec<(&'static str, u64)>)> {
    let mut gaps = Vec::with_capacity(GAPS_MAX);
    let mut account = Account::look()?;
    let begun_ns = now_ns();
    let (mut last_ns, mut looked_ns) = (begun_ns, begun_ns);
    while last_ns < begun_ns + SPAN_NS && gaps.len() < GAPS_MAX {
        let at_ns = now_ns();
        let gap_ns = at_ns - last_ns;
        last_ns = at_ns;
        if gap_ns >= GAP_NS_MIN || at_ns >= looked_ns + LOOK_NS {
            let before = mem::replace(&mut account, Account::look()?);
            if gap_ns >= GAP_NS_MIN {
                gaps.push((before.taken_by(account), gap_ns));
            }
            last_ns = now_ns();
            looked_ns = last_ns;
        }
    }
    Ok((last_ns - begun_ns, gaps))
}
