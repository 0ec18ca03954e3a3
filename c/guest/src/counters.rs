use alloc::{collections::BTreeMap, format, string::String};

use preemptlab_protocol::Activity;
use rustix::io::Errno;

use crate::{
    file::read_kernel,
    trouble::{Attempt, Result, Trouble},
};

const STAT: &str = "/proc/stat";
const VMSTAT: &str = "/proc/vmstat";

const INTERRUPTS: &str = "/proc/interrupts";
const SOFTIRQS: &str = "/proc/softirqs";
const SCHEDSTAT: &str = "/proc/schedstat";

/// Reads the kernel's counters; they count from the boot on.
pub fn read() -> Result<Activity> {
    let read = |path: &str| read_kernel(path).attempt(|| format!("read {path}"));
    let schedstat = match read_kernel(SCHEDSTAT) {
        Err(Errno::NOENT) => None,
        result => Some(result.attempt(|| format!("read {SCHEDSTAT}"))?),
    };
    let (stat, vmstat) = (read(STAT)?, read(VMSTAT)?);
    Ok(Activity {
        interrupts_by_name: rows(&read(INTERRUPTS)?),
        softirqs_by_name: rows(&read(SOFTIRQS)?),
        jiffies: schedstat.map(|text| counter(&text, SCHEDSTAT, "timestamp")).transpose()?,
        ..totals(&stat, &vmstat)?
    })
}

/// How far the counters moved.
pub fn difference(before: &Activity, after: &Activity) -> Activity {
    Activity {
        context_switches: after.context_switches.wrapping_sub(before.context_switches),
        interrupts: after.interrupts.wrapping_sub(before.interrupts),
        softirqs: after.softirqs.wrapping_sub(before.softirqs),
        forks: after.forks.wrapping_sub(before.forks),
        oom_kills: after.oom_kills.wrapping_sub(before.oom_kills),
        interrupts_by_name: moved(&before.interrupts_by_name, &after.interrupts_by_name),
        softirqs_by_name: moved(&before.softirqs_by_name, &after.softirqs_by_name),
        jiffies: after
            .jiffies
            .zip(before.jiffies)
            .map(|(after, before)| after.wrapping_sub(before)),
    }
}

/// How far each number moved; those that did not are left out.
fn moved(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    after
        .iter()
        .map(|(name, count)| (name, count.wrapping_sub(before.get(name).copied().unwrap_or(0))))
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| (name.clone(), count))
        .collect()
}

fn totals(stat: &str, vmstat: &str) -> Result<Activity> {
    Ok(Activity {
        context_switches: counter(stat, STAT, "ctxt")?,
        interrupts: counter(stat, STAT, "intr")?,
        softirqs: counter(stat, STAT, "softirq")?,
        forks: counter(stat, STAT, "processes")?,
        oom_kills: counter(vmstat, VMSTAT, "oom_kill")?,
        ..Activity::default()
    })
}

/// The sums over all CPUs of a table whose rows begin with a name and a colon; its head names the
/// CPUs.
fn rows(table: &str) -> BTreeMap<String, u64> {
    let mut lines = table.lines();
    let cpus = lines.next().map_or(0, |head| head.split_whitespace().count());
    lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, counts)| {
            let counts = counts.split_whitespace().take(cpus);
            (name.trim().into(), counts.map_while(|count| count.parse::<u64>().ok()).sum())
        })
        .collect()
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
        let before = totals(&stat(1000), vmstat).unwrap();
        let after = totals(&stat(1234), vmstat).unwrap();
        let moved = difference(&before, &after);
        assert_eq!(moved, Activity { context_switches: 234, ..Activity::default() });
        assert_eq!((before.interrupts, before.softirqs, before.forks), (900, 55, 80));
    }

    #[test]
    fn adds_up_the_rows_of_all_cpus() {
        let table = "           CPU0       CPU1\n  4:          1          2   IO-APIC   4-edge  tty\n\
            LOC:        100        200   Local timer interrupts\nERR:          3\n";
        let before = rows(table);
        assert_eq!(before.get("4"), Some(&3));
        assert_eq!(before.get("ERR"), Some(&3));
        let after = rows(&table.replace("200", "250"));
        assert_eq!(moved(&before, &after), [("LOC".into(), 50)].into());
    }

    #[test]
    fn a_missing_counter_is_named() {
        assert!(totals("ctxt 1\n", "").unwrap_err().reason.contains("`intr`"));
    }
}
