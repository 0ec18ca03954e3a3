//! Keeps the kernel from stepping in when a scenario keeps a CPU for seconds.

use alloc::format;

use preemptlab_sys::file::write_kernel;
use rustix::io::Errno;

use crate::{
    folder,
    trouble::{Attempt, Result},
};

/// What is switched off; not every kernel has all of them.
const SWITCHES: [(&str, &str); 5] = [
    // Takes 50 ms of each second away from real-time threads (sched(7)).
    ("/proc/sys/kernel/sched_rt_runtime_us", "-1"),
    // Soft and hard lockups, and threads that are blocked for minutes.
    ("/proc/sys/kernel/watchdog", "0"),
    ("/proc/sys/kernel/hung_task_timeout_secs", "0"),
    ("/sys/module/rcupdate/parameters/rcu_cpu_stall_suppress", "1"),
    ("/sys/module/workqueue/parameters/watchdog_thresh", "0"),
];

/// Since 6.12 a server of the deadline class gives what real-time threads keep from running 50 ms
/// of each second, whatever `sched_rt_runtime_us` says (kernel/sched/debug.c, `fair_server`).
const FAIR_SERVERS: &str = "/sys/kernel/debug/sched/fair_server";

/// Lets every scenario be what its own priorities make of it.
pub fn be_left_alone() -> Result<()> {
    for (file, text) in SWITCHES {
        write(file, text)?;
    }
    for cpu in folder::names(FAIR_SERVERS)? {
        write(&format!("{FAIR_SERVERS}/{cpu}/runtime"), "0")?;
    }
    Ok(())
}

fn write(file: &str, text: &str) -> Result<()> {
    match write_kernel(file, text) {
        Err(Errno::NOENT) => Ok(()),
        result => result.attempt(|| format!("write {text} to {file}")),
    }
}
