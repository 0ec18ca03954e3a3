//! Scheduling policies and CPUs of processes.

use linux_raw_sys::general::{
    __NR_sched_yield, SCHED_BATCH, SCHED_FIFO, SCHED_IDLE, SCHED_NORMAL, SCHED_RR,
};
use preemptlab_protocol::script::Policy;
use preemptlab_sys::{
    arch::syscall,
    kernel::{self, Attributes},
};
use rustix::{
    io::Errno,
    process::Pid,
    thread::{CpuSet, sched_setaffinity},
};

/// Above every thread of a script: the player itself while it is played.
pub const ABOVE_ALL: Policy = Policy::Fifo(99);

/// The kernel's form of a policy.
fn attributes(policy: Policy) -> Attributes {
    let (policy, nice, priority) = match policy {
        Policy::Other(nice) => (SCHED_NORMAL, nice, 0),
        Policy::Batch(nice) => (SCHED_BATCH, nice, 0),
        Policy::Idle => (SCHED_IDLE, 0, 0),
        Policy::Fifo(priority) => (SCHED_FIFO, 0, priority),
        Policy::Rr(priority) => (SCHED_RR, 0, priority),
    };
    Attributes { policy, nice: nice.into(), priority: priority.into(), ..Attributes::default() }
}

/// Sets a process's policy.
pub fn set_policy(process: Pid, policy: Policy) -> Result<(), Errno> {
    kernel::set_attributes(Some(process), attributes(policy))
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
        let of = |kind| {
            let Attributes { policy, nice, priority, .. } = attributes(kind);
            (policy, nice, priority)
        };
        assert_eq!(of(Policy::Other(-5)), (0, -5, 0));
        assert_eq!(of(Policy::Fifo(50)), (1, 0, 50));
        assert_eq!(of(Policy::Rr(98)), (2, 0, 98));
        assert_eq!(of(Policy::Batch(19)), (3, 19, 0));
        assert_eq!(of(Policy::Idle), (5, 0, 0));
    }
}
