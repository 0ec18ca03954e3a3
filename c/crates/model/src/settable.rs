//! The settings at run time that a machine may be given.
//!
//! A guest may be given every well-formed setting, because it ends with its cell. A machine
//! continues, and the words that reach it may be a stranger's, from a recording or an experiment.
//! So this is a list of settings that change how the kernel schedules, accounts and sends. It holds
//! none that decides about permissions (`kernel.unprivileged_bpf_disabled`), which program is
//! executed (`kernel.core_pattern`, `kernel.modprobe`), or that can end the machine
//! (`kernel.panic*`, `vm.nr_hugepages`, `vm.min_free_kbytes`). Every value is a number or a list of
//! CPUs, since a string can name a file or a module.

use crate::{Cpus, Setting, nearest};

/// Sysctls of the scheduler that latency studies change: periods, slices, migration, bandwidth,
/// statistics, and the CPUs of timers (Documentation/admin-guide/sysctl/kernel.rst, and
/// kernel/sched/ for those that later kernels keep in debugfs).
const SCHEDULER: &[&str] = &[
    "kernel.numa_balancing",
    "kernel.numa_balancing_promote_rate_limit_MBps",
    "kernel.sched_autogroup_enabled",
    "kernel.sched_cfs_bandwidth_slice_us",
    "kernel.sched_child_runs_first",
    "kernel.sched_deadline_period_max_us",
    "kernel.sched_deadline_period_min_us",
    "kernel.sched_energy_aware",
    "kernel.sched_itmt_enabled",
    "kernel.sched_latency_ns",
    "kernel.sched_migration_cost_ns",
    "kernel.sched_min_granularity_ns",
    "kernel.sched_nr_migrate",
    "kernel.sched_rr_timeslice_ms",
    "kernel.sched_rt_period_us",
    "kernel.sched_rt_runtime_us",
    "kernel.sched_schedstats",
    "kernel.sched_tunable_scaling",
    "kernel.sched_util_clamp_max",
    "kernel.sched_util_clamp_min",
    "kernel.sched_util_clamp_min_rt_default",
    "kernel.sched_wakeup_granularity_ns",
    "kernel.task_delayacct",
    "kernel.timer_migration",
];

/// Watchdogs and samplers, whose timers and threads interrupt the measured tasks (kernel.rst).
const WATCHDOGS: &[&str] = &[
    "kernel.hung_task_check_interval_secs",
    "kernel.hung_task_timeout_secs",
    "kernel.nmi_watchdog",
    "kernel.perf_cpu_time_max_percent",
    "kernel.soft_watchdog",
    "kernel.watchdog",
    "kernel.watchdog_thresh",
];

/// Watchdogs' CPUs, which are taken off isolated ones.
const WATCHDOG_CPUS: &[&str] = &["kernel.watchdog_cpumask"];

/// Background work of memory management that delays tasks or runs on isolated CPUs
/// (Documentation/admin-guide/sysctl/vm.rst). Settings that reserve memory, or decide which task
/// gets none, are not among them.
const MEMORY: &[&str] = &[
    "vm.compact_unevictable_allowed",
    "vm.compaction_proactiveness",
    "vm.dirty_background_ratio",
    "vm.dirty_expire_centisecs",
    "vm.dirty_ratio",
    "vm.dirty_writeback_centisecs",
    "vm.page_lock_unfairness",
    "vm.stat_interval",
    "vm.swappiness",
    "vm.vfs_cache_pressure",
    "vm.zone_reclaim_mode",
];

/// Lengths of the network's softirqs and polls, and work for each packet
/// (Documentation/admin-guide/sysctl/net.rst, Documentation/networking/ip-sysctl.rst).
const NETWORK: &[&str] = &[
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.dev_weight",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.netdev_tstamp_prequeue",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_low_latency",
    "net.ipv4.tcp_timestamps",
];

/// Files of debugfs that are the scheduler's (kernel/sched/debug.c), and numbers. `sched/preempt`
/// is not among them: the mode is a factor of its own.
const DEBUGFS: &[&str] = &[
    "sched/base_slice_ns",
    "sched/idle_min_granularity_ns",
    "sched/latency_ns",
    "sched/latency_warn_ms",
    "sched/latency_warn_once",
    "sched/migration_cost_ns",
    "sched/min_granularity_ns",
    "sched/nr_migrate",
    "sched/numa_balancing/hot_threshold_ms",
    "sched/numa_balancing/scan_delay_ms",
    "sched/numa_balancing/scan_period_max_ms",
    "sched/numa_balancing/scan_period_min_ms",
    "sched/numa_balancing/scan_size_mb",
    "sched/tunable_scaling",
    "sched/wakeup_granularity_ns",
];

/// The server that keeps fair tasks from starving has a folder for each CPU, from 6.12 on.
const FAIR_SERVER: [&str; 2] = ["runtime", "period"];

/// The file of the scheduler's features, to which a name is written.
const FEATURES: &str = "sched/features";

/// A setting that no machine is given at run time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{setting}` is not set on a machine: {reason}")]
pub struct NotSettable {
    /// Setting that is refused.
    pub setting: String,
    /// Reason, in words.
    pub reason: String,
}

/// Lists the sysctls that a machine may be given, which are those that latency studies change.
pub fn sysctls() -> impl Iterator<Item = &'static str> {
    [SCHEDULER, WATCHDOGS, WATCHDOG_CPUS, MEMORY, NETWORK].into_iter().flatten().copied()
}

/// Checks whether a setting may be set at run time on a machine that is not a guest.
///
/// # Errors
///
/// When its file is not on the list, its value is not of the kind that the file takes, or it is a
/// kernel parameter, which takes a boot.
pub fn settable(setting: &Setting) -> Result<(), NotSettable> {
    let error = |reason: String| Err(NotSettable { setting: setting.to_string(), reason });
    let unlisted = |what: &str, name: &str, all: &mut dyn Iterator<Item = &'static str>| {
        // Names in one folder are alike without being near.
        let last = |name: &'static str| name.rsplit(['.', '/']).next().unwrap_or(name);
        let own = name.rsplit(['.', '/']).next().unwrap_or(name);
        let similar = nearest(name, all.filter(|it| nearest(own, [last(it)]).is_some()))
            .map(|it| format!("; did you mean `{it}`?"));
        error(format!("{name} is not among the {what} that may be{}", similar.unwrap_or_default()))
    };
    match setting {
        Setting::Parameter { .. } => error("a kernel parameter takes a boot".to_owned()),
        Setting::Lab(_) => error("only a machine in virtual time can have it".to_owned()),
        Setting::Sysctl { name, value } => {
            let name = name.as_str();
            let mut numbers = [SCHEDULER, WATCHDOGS, MEMORY, NETWORK].concat().into_iter();
            match () {
                () if numbers.clone().any(|it| it == name) => match is_number(value.as_str()) {
                    true => Ok(()),
                    false => error("its value is a number".to_owned()),
                },
                () if WATCHDOG_CPUS.contains(&name) => match Cpus::plain(value.as_str()).is_ok() {
                    true => Ok(()),
                    false => error("its value is a list of CPUs, as in 0-1,4".to_owned()),
                },
                () => unlisted("sysctls", name, &mut numbers),
            }
        }
        Setting::Debugfs { path, value } => {
            let (path, value) = (path.as_str(), value.as_str());
            match () {
                () if path == FEATURES => match is_feature(value) {
                    true => Ok(()),
                    false => {
                        error("its value is the name of a feature, as in NO_HRTICK".to_owned())
                    }
                },
                () if DEBUGFS.contains(&path) || is_fair_server(path) => match is_number(value) {
                    true => Ok(()),
                    false => error("its value is a number".to_owned()),
                },
                () => {
                    let mut all = DEBUGFS.iter().copied().chain([FEATURES]);
                    unlisted("files of debugfs", path, &mut all)
                }
            }
        }
    }
}

/// Returns whether a value is a number in decimal that fits into 64 bits.
fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value);
    digits.bytes().all(|byte| byte.is_ascii_digit()) && value.parse::<i64>().is_ok()
}

/// Returns whether a value is the name of a feature, with `NO_` before it where it is turned off.
fn is_feature(value: &str) -> bool {
    let mut bytes = value.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_uppercase())
        && bytes.all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Returns whether a path is one such as `sched/fair_server/cpu0/runtime`.
fn is_fair_server(path: &str) -> bool {
    let Some(rest) = path.strip_prefix("sched/fair_server/cpu") else { return false };
    rest.split_once('/').is_some_and(|(cpu, file)| {
        let is_cpu = cpu.bytes().all(|byte| byte.is_ascii_digit());
        is_cpu && cpu.parse::<u16>().is_ok() && FAIR_SERVER.contains(&file)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str) -> Result<(), NotSettable> {
        settable(&text.parse().unwrap())
    }

    #[test]
    fn what_the_field_sets_may_be_set() {
        for text in [
            "sysctl.kernel.sched_rt_runtime_us=-1",
            "sysctl.kernel.task_delayacct=1",
            "sysctl.net.ipv4.tcp_timestamps=0",
            "sysctl.kernel.watchdog_cpumask=0-1,4",
            "sched/base_slice_ns=3000000",
            "sched/features=NO_HRTICK",
            "sched/numa_balancing/scan_size_mb=256",
            "sched/fair_server/cpu12/runtime=0",
        ] {
            assert_eq!(judged(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn nothing_else_may() {
        for text in [
            "sysctl.kernel.core_pattern=|/tmp/x",
            "sysctl.kernel.core_pattern=core",
            "sysctl.kernel.modprobe=/tmp/x",
            "sysctl.kernel.panic=1",
            "sysctl.kernel.sysrq=511",
            "sysctl.kernel.yama.ptrace_scope=0",
            "sysctl.vm.nr_hugepages=999999",
            "sysctl.net.core.default_qdisc=fq",
            "sysctl.kernel.sched_rt_runtime_us=x",
            "sysctl.kernel.sched_rt_runtime_us=--1",
            "sysctl.kernel.sched_rt_runtime_us=99999999999999999999",
            "sysctl.kernel.watchdog_cpumask=3-1",
            "sysctl.kernel.watchdog_cpumask=0,",
            "sched/preempt=full",
            "sched/base_slice_ns=1>/etc/x",
            "sched/features=hrtick",
            "sched/fair_server/cpu/runtime=0",
            "sched/fair_server/cpu0/other=0",
            "sched/debug/x=1",
            "kprobes/enabled=0",
            "tracing/tracing_on=1",
            "x86/ibrs_enabled=0",
            "threadirqs",
            "lab.hpet",
            "init=/bin/sh",
        ] {
            assert!(judged(text).is_err(), "{text}");
        }
        let said = judged("sysctl.kernel.sched_rt_runtime=-1").unwrap_err().to_string();
        assert!(said.contains("did you mean `kernel.sched_rt_runtime_us`?"), "{said}");
    }
}
