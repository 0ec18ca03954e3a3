//! The CPU that something is measured on.

use alloc::{format, string::String};

use rustix::{
    io::{self, Errno},
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

/// Prints the numbers of the CPUs that the process may use, a line each.
pub fn allowed() -> Result<String, String> {
    let failed = |errno: Errno| format!("the CPUs are not told: error {}", errno.raw_os_error());
    let allowed = sched_getaffinity(None).map_err(failed)?;
    let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    Ok(cpus.map(|cpu| format!("{cpu}\n")).collect())
}

/// Keeps the process and its children on one of the CPUs that it may use. Numbers beyond the last one
/// begin again.
pub fn stay_on(number: usize) -> io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let count = allowed.count() as usize;
    let mut cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    let cpu = cpus.nth(number.checked_rem(count).ok_or(Errno::INVAL)?).ok_or(Errno::INVAL)?;
    stay_at(cpu)
}

/// Keeps the calling thread, and what it starts, on the CPU of this number.
pub fn stay_at(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(Errno::INVAL);
    }
    let mut one = CpuSet::new();
    one.set(cpu);
    sched_setaffinity(None, &one)
}
