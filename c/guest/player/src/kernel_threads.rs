//! Policies of the kernel's own threads.

use alloc::format;

use preemptlab_protocol::script::Policy;
use preemptlab_sys::{file::read_kernel, kernel};
use rustix::{io::Errno, process::Pid};

use crate::{
    folder, scheduler,
    trouble::{Attempt, Result},
};

/// Sets the policy of every kernel thread whose name begins like this; returns how many there are.
/// Which threads there are depends on the kernel, so none is no error.
pub fn set_policy(prefix: &str, policy: Policy) -> Result<usize> {
    let mut count = 0;
    for name in folder::names("/proc")? {
        let Ok(number) = name.parse::<i32>() else { continue };
        // Kernel threads alone are in no process group, but for init, which began as one.
        if number == 1 || kernel::process_group(number) != Ok(0) {
            continue;
        }
        let Ok(comm) = read_kernel(&format!("/proc/{number}/comm")) else { continue };
        let Some(pid) = Pid::from_raw(number).filter(|_| comm.starts_with(prefix)) else {
            continue;
        };
        match scheduler::set_policy(pid, policy) {
            Err(Errno::SRCH) => {}
            result => {
                result.attempt(|| format!("set the policy of {comm}"))?;
                count += 1;
            }
        }
    }
    Ok(count)
}
