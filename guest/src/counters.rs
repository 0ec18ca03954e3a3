use alloc::format;

use preemptlab_protocol::Activity;

use crate::{
    file::read_kernel,
    trouble::{Attempt, Result, Trouble},
};

const STAT: &str = "/proc/stat";
const VMSTAT: &str = "/proc/vmstat";

/// Reads the kernel's counters; they count from the boot on.
pub fn read() -> Result<Activity> {
    let stat = read_kernel(STAT).attempt(|| format!("read {STAT}"))?;
    let vmstat = read_kernel(VMSTAT).attempt(|| format!("read {VMSTAT}"))?;
    parse(&stat, &vmstat)
}

/// How far the counters moved.
pub fn difference(before: &Activity, after: &Activity) -> Activity {
    Activity {
        context_switches: after.context_switches.wrapping_sub(before.context_switches),
        interrupts: after.interrupts.wrapping_sub(before.interrupts),
        softirqs: after.softirqs.wrapping_sub(before.softirqs),
        forks: after.forks.wrapping_sub(before.forks),
        oom_kills: after.oom_kills.wrapping_sub(before.oom_kills),
    }
}

fn parse(stat: &str, vmstat: &str) -> Result<Activity> {
    Ok(Activity {
        context_switches: counter(stat, STAT, "ctxt")?,
        interrupts: counter(stat, STAT, "intr")?,
        softirqs: counter(stat, STAT, "softirq")?,
        forks: counter(stat, STAT, "processes")?,
        oom_kills: counter(vmstat, VMSTAT, "oom_kill")?,
    })
}

/// The first number after a name that begins a line.
fn counter(text: &str, path: &str, name: &str) -> Result<u64> {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(first, _)| *first == name)
        .and_then(|(_, rest)| rest.split(' ').next()?.parse().ok())
        .ok_or_else(|| Trouble::other(format!("{path} has no `{name}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_subtracts_the_counters() {
        let vmstat = "nr_free_pages 100\noom_kill 0\noom_kill_x 7\n";
        let stat = |ctxt| {
            format!(
                "cpu  1 2 3\nintr 900 7 0 0\nctxt {ctxt}\nbtime 1\nprocesses 80\n\
                 procs_running 2\nsoftirq 55 1 2\n"
            )
        };
        let before = parse(&stat(1000), vmstat).unwrap();
        let after = parse(&stat(1234), vmstat).unwrap();
        let moved = difference(&before, &after);
        assert_eq!(moved, Activity { context_switches: 234, ..Activity::default() });
        assert_eq!((before.interrupts, before.softirqs, before.forks), (900, 55, 80));
    }

    #[test]
    fn a_missing_counter_is_named() {
        assert!(parse("ctxt 1\n", "").unwrap_err().reason.contains("`intr`"));
    }
}
