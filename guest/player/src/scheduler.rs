//! Scheduling policies and CPUs of processes.

use linux_raw_sys::general::{
    __NR_sched_setattr, __NR_sched_yield, SCHED_BATCH, SCHED_FIFO, SCHED_IDLE, SCHED_NORMAL,
    SCHED_RR,
};
use preemptlab_protocol::script::Policy;
use preemptlab_sys::arch::syscall;
use rustix::{
    io::Errno,
    process::Pid,
    thread::{CpuSet, sched_setaffinity},
};

/// Above every thread of a script: the player itself while it is played.
pub const ABOVE_ALL: Policy = Policy::Fifo(99);

/// `struct sched_attr` of the first version (include/uapi/linux/sched/types.h).
#[repr(C)]
#[derive(Debug, Default, PartialEq, Eq)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

impl From<Policy> for Attributes {
    fn from(policy: Policy) -> Self {
        let (policy, nice, priority) = match policy {
            Policy::Other(nice) => (SCHED_NORMAL, nice, 0),
            Policy::Batch(nice) => (SCHED_BATCH, nice, 0),
            Policy::Idle => (SCHED_IDLE, 0, 0),
            Policy::Fifo(priority) => (SCHED_FIFO, 0, priority),
            Policy::Rr(priority) => (SCHED_RR, 0, priority),
        };
        let size = size_of::<Self>() as u32;
        Self { size, policy, nice: nice.into(), priority: priority.into(), ..Self::default() }
    }
}

/// Sets a process's policy: sched_setattr(2).
pub fn set_policy(process: Pid, policy: Policy) -> Result<(), Errno> {
    let attributes = Attributes::from(policy);
    let arguments = [process.as_raw_pid() as usize, (&raw const attributes).addr(), 0, 0];
    // SAFETY: the pointer is to what the kernel reads.
    unsafe { syscall(__NR_sched_setattr, arguments) }.map(drop)
}

/// Sets the CPUs that a process may run on, which must be below [`CpuSet::MAX_CPU`].
pub fn set_cpus(process: Option<Pid>, cpus: &[u32]) -> Result<(), Errno> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu as usize);
    }
    sched_setaffinity(process, &set)
}

/// Lets others of the same priority run: sched_yield(2).
pub fn yield_now() {
    // SAFETY: no pointers.
    let _ = unsafe { syscall(__NR_sched_yield, [0; 4]) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_those_of_the_kernel() {
        let attributes = |policy| {
            let Attributes { size, policy, nice, priority, .. } = Attributes::from(policy);
            (size, policy, nice, priority)
        };
        assert_eq!(attributes(Policy::Other(-5)), (48, 0, -5, 0));
        assert_eq!(attributes(Policy::Fifo(50)), (48, 1, 0, 50));
        assert_eq!(attributes(Policy::Rr(98)), (48, 2, 0, 98));
        assert_eq!(attributes(Policy::Batch(19)), (48, 3, 19, 0));
        assert_eq!(attributes(Policy::Idle), (48, 5, 0, 0));
    }
}
