//! Settings that Linux had once: the first series without each, and its replacement.

use preemptlab_model::Setting;

/// A kernel's series, such as 6.12.
pub(crate) type Series = (u32, u32);

/// The oldest series that kernels of the laboratory and of supported systems have.
pub(crate) const OLDEST: Series = (6, 1);

/// A setting that is gone.
struct Gone {
    /// Setting without its value.
    name: &'static str,
    /// The first series without it.
    since: Series,
    /// Its replacement, in words.
    instead: &'static str,
    /// File of the kernel's source, and the commit that took the setting out of it.
    source: &'static str,
}

const fn gone(
    name: &'static str,
    since: Series,
    instead: &'static str,
    source: &'static str,
) -> Gone {
    Gone { name, since, instead, source }
}

const TO_DEBUGFS: &str = "kernel/sched/debug.c, commit 8a99b6833c88";
const EEVDF: &str = "kernel/sched/fair.c, commit 5e963f2bd465";
const NO_SLICES: &str = "EEVDF has one slice for all: debugfs sched/base_slice_ns";

/// The settings of tuning notes that are gone. A setting that moved twice is there under each name.
/// Which of them 6.1, 6.12 and 7.2 have was read from `/proc/sys`, debugfs and `/sys/module` of
/// Debian's kernels.
const GONE: &[Gone] = &[
    gone(
        "sysctl.kernel.sched_latency_ns",
        (5, 13),
        "it was debugfs sched/latency_ns until 6.5; since 6.6 sched/base_slice_ns is the nearest",
        TO_DEBUGFS,
    ),
    gone(
        "sysctl.kernel.sched_min_granularity_ns",
        (5, 13),
        "it was debugfs sched/min_granularity_ns until 6.5, and is sched/base_slice_ns since 6.6",
        TO_DEBUGFS,
    ),
    gone(
        "sysctl.kernel.sched_wakeup_granularity_ns",
        (5, 13),
        "it was debugfs sched/wakeup_granularity_ns until 6.5; nothing took its place in 6.6",
        TO_DEBUGFS,
    ),
    gone(
        "sysctl.kernel.sched_migration_cost_ns",
        (5, 13),
        "it is debugfs sched/migration_cost_ns",
        TO_DEBUGFS,
    ),
    gone("sysctl.kernel.sched_nr_migrate", (5, 13), "it is debugfs sched/nr_migrate", TO_DEBUGFS),
    gone(
        "sysctl.kernel.sched_tunable_scaling",
        (5, 13),
        "it is debugfs sched/tunable_scaling",
        TO_DEBUGFS,
    ),
    gone(
        "sysctl.kernel.numa_balancing_scan_delay_ms",
        (5, 13),
        "it is debugfs sched/numa_balancing/scan_delay_ms",
        TO_DEBUGFS,
    ),
    gone(
        "sysctl.kernel.numa_balancing_scan_period_max_ms",
        (5, 13),
        "it is debugfs sched/numa_balancing/scan_period_max_ms",
        TO_DEBUGFS,
    ),
    gone(
        "sysctl.kernel.numa_balancing_scan_period_min_ms",
        (5, 13),
        "it is debugfs sched/numa_balancing/scan_period_min_ms",
        TO_DEBUGFS,
    ),
    gone(
        "sysctl.kernel.numa_balancing_scan_size_mb",
        (5, 13),
        "it is debugfs sched/numa_balancing/scan_size_mb",
        TO_DEBUGFS,
    ),
    gone(
        "sysctl.kernel.sched_domain.",
        (5, 13),
        "debugfs sched/domains shows the domains",
        "kernel/sched/debug.c, commit 3b87f136f8fc",
    ),
    gone("sysctl.kernel.sched_time_avg_ms", (4, 19), "nothing took its place", "kernel/sysctl.c"),
    gone(
        "sysctl.kernel.sched_child_runs_first",
        (6, 6),
        "EEVDF places a child by its deadline; nothing took its place",
        EEVDF,
    ),
    gone("sched/latency_ns", (6, 6), NO_SLICES, EEVDF),
    gone(
        "sched/min_granularity_ns",
        (6, 6),
        "it is debugfs sched/base_slice_ns",
        "kernel/sched/debug.c, commit e4ec3318a17f",
    ),
    gone("sched/wakeup_granularity_ns", (6, 6), NO_SLICES, EEVDF),
    gone("sched/idle_min_granularity_ns", (6, 6), NO_SLICES, EEVDF),
    gone(
        "sysctl.vm.hugepages_treat_as_movable",
        (4, 16),
        "nothing took its place",
        "kernel/sysctl.c, commit d6cb41cc44c6",
    ),
    gone("sysctl.vm.swap_token_timeout", (3, 5), "nothing took its place", "mm/thrash.c"),
    gone(
        "sysctl.net.ipv4.tcp_tw_recycle",
        (4, 12),
        "nothing took its place",
        "net/ipv4/sysctl_net_ipv4.c, commit 4396e46187ca",
    ),
    gone(
        "elevator",
        (5, 0),
        "each disk has a scheduler of its own: /sys/block/DISK/queue/scheduler",
        "block/elevator.c, commit f382fb0bcef4",
    ),
    gone(
        "nosmap",
        (5, 18),
        "clearcpuid=smap does it",
        "arch/x86/kernel/cpu/common.c, commit dbae0a934f09",
    ),
    gone(
        "nosmep",
        (5, 18),
        "clearcpuid=smep does it",
        "arch/x86/kernel/cpu/common.c, commit 385d2ae0a1b5",
    ),
    gone(
        "sched_debug",
        (5, 13),
        "it is sched_verbose",
        "kernel/sched/topology.c, commit 9406415f46f6",
    ),
    gone(
        "rcutree.rcu_idle_gp_delay",
        (5, 17),
        "rcutree.enable_rcu_lazy saves power by delaying callbacks, from 6.9 on",
        "kernel/rcu/tree_plugin.h, commit e2c73a6860bd",
    ),
    gone(
        "workqueue.disable_numa",
        (6, 6),
        "it is workqueue.default_affinity_scope",
        "kernel/workqueue.c",
    ),
];

/// Returns the reason why a series has not got a setting that Linux had once; of an unknown series,
/// why no supported one has it.
pub(crate) fn refusal(setting: &Setting, series: Option<Series>) -> Option<String> {
    let name = match setting {
        Setting::Parameter { name, .. } => name.to_string(),
        Setting::Sysctl { name, .. } => format!("sysctl.{name}"),
        Setting::Debugfs { path, .. } => path.to_string(),
        Setting::Lab(_) => return None,
    };
    let is_it = |gone: &&Gone| match gone.name.strip_suffix('.') {
        Some(_) => name.starts_with(gone.name),
        None => gone.name == name,
    };
    let Gone { since, instead, source, .. } = GONE.iter().find(is_it)?;
    (*since <= series.unwrap_or(OLDEST)).then(|| {
        let (major, minor) = since;
        format!("Linux has no such setting since {major}.{minor} ({source}): {instead}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(setting: &str, series: Option<Series>) -> Option<String> {
        refusal(&setting.parse().unwrap(), series)
    }

    #[test]
    fn what_is_gone_is_named_with_its_place() {
        let said = says("sysctl.kernel.sched_migration_cost_ns=5000000", None).unwrap();
        assert!(said.contains("since 5.13") && said.contains("debugfs sched/migration_cost_ns"));
        let said = says("sched/min_granularity_ns=1", Some((6, 12))).unwrap();
        assert!(said.contains("since 6.6") && said.contains("sched/base_slice_ns"), "{said}");
        assert!(says("sysctl.kernel.sched_domain.cpu0.domain0.flags=1", None).is_some());
        assert!(says("elevator=noop", None).is_some());
    }

    #[test]
    fn what_some_supported_kernel_has_is_refused_on_others_only() {
        for (setting, last_with) in [
            ("sched/min_granularity_ns=1", (6, 5)),
            ("sysctl.kernel.sched_child_runs_first=1", (6, 5)),
            ("sysctl.kernel.sched_latency_ns=1", (5, 12)),
        ] {
            assert_eq!(says(setting, Some(last_with)), None, "{setting}");
            let (major, minor) = last_with;
            assert!(says(setting, Some((major, minor + 1))).is_some(), "{setting}");
        }
        assert_eq!(says("sched/latency_ns=1", None), None);
        assert_eq!(says("sysctl.kernel.sched_rr_timeslice_ms=1", None), None);
        assert_eq!(says("nohz=on", Some((7, 2))), None);
    }
}
