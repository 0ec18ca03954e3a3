use alloc::{format, string::String};

use preemptlab_protocol::System;
use rustix::{io::Errno, system::uname};

use crate::{
    file::read_kernel,
    preempt::PREEMPT_FILE,
    trouble::{Attempt, Result, Trouble},
};

/// Describes the running system from what the kernel says of itself.
pub fn observe() -> Result<System> {
    let name = uname();
    Ok(System {
        release: name.release().to_string_lossy().into(),
        version: name.version().to_string_lossy().into(),
        cmdline: text("/proc/cmdline")?,
        preempt: optional_text(PREEMPT_FILE)?,
        realtime: optional_text("/sys/kernel/realtime")?.as_deref() == Some("1"),
        cpus_online: text("/sys/devices/system/cpu/online")?,
        clocksource: text("/sys/devices/system/clocksource/clocksource0/current_clocksource")?,
        sched_rt_runtime_us: number("/proc/sys/kernel/sched_rt_runtime_us")?,
        sched_rt_period_us: number("/proc/sys/kernel/sched_rt_period_us")?,
        sched_features: optional_text("/sys/kernel/debug/sched/features")?,
        base_slice_ns: optional_text("/sys/kernel/debug/sched/base_slice_ns")?
            .and_then(|text| text.parse().ok()),
        memory_kib: memory_kib(&text("/proc/meminfo")?)
            .ok_or_else(|| Trouble::other("/proc/meminfo has no MemTotal"))?,
    })
}

fn text(path: &str) -> Result<String> {
    read_kernel(path).attempt(|| format!("read {path}"))
}

/// A file that not every kernel has.
fn optional_text(path: &str) -> Result<Option<String>> {
    match read_kernel(path) {
        Ok(text) => Ok(Some(text)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno).attempt(|| format!("read {path}")),
    }
}

fn number(path: &str) -> Result<i64> {
    let text = text(path)?;
    text.parse().map_err(|_| Trouble::other(format!("{path} holds no number: `{text}`")))
}

/// `MemTotal` of /proc/meminfo.
fn memory_kib(meminfo: &str) -> Option<u64> {
    meminfo.lines().find_map(|line| {
        line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim_end().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_memory() {
        let text = "MemTotal:         464528 kB\nMemFree:          439112 kB\n";
        assert_eq!(memory_kib(text), Some(464_528));
        assert_eq!(memory_kib("MemFree: 1 kB\n"), None);
    }
}
