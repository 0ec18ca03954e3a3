//! The kernel parameters that are known here: the values and the target of each.

use crate::tune::ActsOn;

/// Values that a parameter takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Takes {
    /// The parameter takes no value.
    Nothing,
    /// The parameter takes a preemption mode.
    Mode,
    /// A list of CPUs.
    Cpus,
    /// The parameter takes no value, or a list of CPUs.
    MaybeCpus,
    /// A list of CPUs, which flags may precede.
    IsolatedCpus,
    /// A truth value, as `kstrtobool` reads it (lib/kstrtox.c).
    Truth,
    /// A number up to this one.
    Number(u32),
    /// The parameter takes one of these words.
    OneOf(&'static [&'static str]),
}

use ActsOn::{
    ClockSource, Console, Counters, Efi, Frequencies, HardwareErrors, Hpet, Idle, IdleStates,
    Iommu, Kernel, Nodes, PcieLinks, RoutedInterrupts, SeveralCpus, SplitLocks, Thermal, Threads,
    TimeStampCounter,
};
use Takes::{Cpus, IsolatedCpus as Isolated, MaybeCpus, Mode, Nothing, Number, OneOf, Truth};

/// Parameters that a machine is given unasked (Documentation/admin-guide/kernel-parameters.txt):
/// those of preemption, time keeping, callbacks, interrupts, idling and watchdogs. None of them
/// decides which program is executed (`init=`, `rdinit=`, `systemd.*`), how the machine is
/// protected (`mitigations=`, `lockdown=`, `selinux=`, `module.sig_enforce=`), or mounts, loads or
/// reserves anything. They are in alphabetical order.
pub(crate) const GIVEN: &[(&str, Takes, ActsOn)] = &[
    ("amd_pstate", OneOf(&["active", "disable", "guided", "passive"]), Frequencies),
    ("clocksource", OneOf(&["acpi_pm", "hpet", "kvm-clock", "tsc"]), ClockSource),
    (
        "cpufreq.default_governor",
        OneOf(&["conservative", "ondemand", "performance", "powersave", "schedutil"]),
        Frequencies,
    ),
    ("cpuidle.governor", OneOf(&["haltpoll", "ladder", "menu", "teo"]), IdleStates),
    ("cpuidle.off", Number(1), IdleStates),
    ("delayacct", Nothing, Kernel),
    ("highres", OneOf(&["off", "on"]), Kernel),
    ("idle", OneOf(&["halt", "nomwait", "poll"]), Idle),
    ("intel_idle.max_cstate", Number(9), IdleStates),
    (
        "intel_pstate",
        OneOf(&[
            "active",
            "disable",
            "force",
            "hwp_only",
            "no_hwp",
            "passive",
            "per_cpu_perf_limits",
        ]),
        Frequencies,
    ),
    ("irqaffinity", Cpus, SeveralCpus),
    ("isolcpus", Isolated, SeveralCpus),
    ("mce", OneOf(&["ignore_ce"]), HardwareErrors),
    ("nmi_watchdog", Number(1), Counters),
    ("noautogroup", Nothing, Kernel),
    ("nohz", OneOf(&["off", "on"]), Kernel),
    ("nohz_full", Cpus, SeveralCpus),
    ("nosmt", OneOf(&["", "force"]), Threads),
    ("nosoftlockup", Nothing, Kernel),
    ("nowatchdog", Nothing, Kernel),
    ("numa_balancing", OneOf(&["disable", "enable"]), Nodes),
    ("pcie_aspm", OneOf(&["off"]), PcieLinks),
    ("preempt", Mode, Kernel),
    ("processor.max_cstate", Number(9), IdleStates),
    ("psi", Truth, Kernel),
    ("quiet", Nothing, Console),
    ("rcu_nocb_poll", Nothing, Kernel),
    ("rcu_nocbs", MaybeCpus, Kernel),
    ("rcupdate.rcu_expedited", Truth, Kernel),
    ("rcupdate.rcu_normal", Truth, Kernel),
    ("rcupdate.rcu_normal_after_boot", Truth, Kernel),
    ("rcutree.blimit", Number(1_000_000), Kernel),
    ("rcutree.enable_rcu_lazy", Truth, Kernel),
    ("rcutree.jiffies_till_first_fqs", Number(100_000), Kernel),
    ("rcutree.jiffies_till_next_fqs", Number(100_000), Kernel),
    ("rcutree.jiffies_till_sched_qs", Number(100_000), Kernel),
    ("rcutree.kthread_prio", Number(99), Kernel),
    ("rcutree.nocb_nobypass_lim_per_jiffy", Number(1_000_000), Kernel),
    ("rcutree.nohz_full_patience_delay", Number(5000), SeveralCpus),
    ("rcutree.qhimark", Number(10_000_000), Kernel),
    ("rcutree.qlowmark", Number(10_000_000), Kernel),
    ("rcutree.rcu_nocb_gp_stride", Number(8192), Kernel),
    ("rcutree.use_softirq", Truth, Kernel),
    ("schedstats", OneOf(&["disable", "enable"]), Kernel),
    ("skew_tick", Number(1), SeveralCpus),
    ("threadirqs", Nothing, Kernel),
    ("transparent_hugepage", OneOf(&["always", "madvise", "never"]), Kernel),
    ("tsc", OneOf(&["noirqtime", "nowatchdog", "reliable", "unstable"]), TimeStampCounter),
    ("watchdog_thresh", Number(60), Kernel),
    ("workqueue.cpu_intensive_thresh_us", Number(1_000_000), Kernel),
    (
        "workqueue.default_affinity_scope",
        OneOf(&["cache", "cpu", "numa", "smt", "system"]),
        SeveralCpus,
    ),
    ("workqueue.power_efficient", Truth, Kernel),
    ("workqueue.unbound_cpus", Cpus, SeveralCpus),
];

/// Further parameters of hardware, which no machine is given unasked. A name that ends in a dot
/// stands for every parameter of a module that is built in. They are in alphabetical order.
const OF_HARDWARE: &[(&str, ActsOn)] = &[
    ("acpi_irq_balance", RoutedInterrupts),
    ("acpi_irq_nobalance", RoutedInterrupts),
    ("amd_iommu", Iommu),
    ("amd_pstate.", Frequencies),
    ("bert_disable", HardwareErrors),
    ("cpufreq.", Frequencies),
    ("cpuidle.", IdleStates),
    ("cpuidle_haltpoll.", IdleStates),
    ("edac_core.", HardwareErrors),
    ("efi", Efi),
    ("erst_disable", HardwareErrors),
    ("ghes.", HardwareErrors),
    ("hest_disable", HardwareErrors),
    ("hpet", Hpet),
    ("intel_idle.", IdleStates),
    ("intel_iommu", Iommu),
    ("intel_pstate.", Frequencies),
    ("iommu", Iommu),
    ("iommu.", Iommu),
    ("mitigations", Kernel),
    ("noefi", Efi),
    ("nohpet", Hpet),
    ("numa", Nodes),
    ("pcie_aspm.", PcieLinks),
    ("pcie_port_pm", PcieLinks),
    ("pcie_ports", PcieLinks),
    ("pciehp.", PcieLinks),
    ("pcieportdrv.", PcieLinks),
    ("processor.", IdleStates),
    ("split_lock_detect", SplitLocks),
    ("thermal.", Thermal),
];

/// Settings at run time that act on more than the kernel's own code: sysctls, and files of debugfs. A
/// path that ends in a slash stands for every file of the folder.
const AT_RUN_TIME: &[(&str, ActsOn)] = &[
    ("kernel.nmi_watchdog", Counters),
    ("kernel.numa_balancing", Nodes),
    ("kernel.numa_balancing_promote_rate_limit_MBps", Nodes),
    ("kernel.perf_cpu_time_max_percent", Counters),
    ("kernel.sched_itmt_enabled", Frequencies),
    ("kernel.timer_migration", SeveralCpus),
    ("kernel.watchdog_cpumask", SeveralCpus),
    ("sched/migration_cost_ns", SeveralCpus),
    ("sched/nr_migrate", SeveralCpus),
    ("sched/numa_balancing/", Nodes),
    ("sched/tunable_scaling", SeveralCpus),
    ("vm.zone_reclaim_mode", Nodes),
];

/// Returns the target of a sysctl or a file of debugfs, where that is more than the kernel's own
/// code.
pub(crate) fn acts_on_at_run_time(name: &str) -> Option<ActsOn> {
    let folder = name.rfind('/').map(|slash| &name[..=slash]);
    let is_it = |known: &str| known == name || Some(known) == folder;
    AT_RUN_TIME.iter().find(|(known, _)| is_it(known)).map(|(_, acts_on)| *acts_on)
}

/// Returns the values of a parameter that a machine is given unasked; `None` for another one.
pub(crate) fn values(name: &str) -> Option<Takes> {
    GIVEN.iter().find(|(known, ..)| is_same(known, name)).map(|(_, takes, _)| *takes)
}

/// Returns whether two names are of one parameter: to the kernel `-` and `_` are the same
/// (`parameq`, kernel/params.c).
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one.bytes().zip(other.bytes()).all(|pair| match pair {
            (b'-' | b'_', b'-' | b'_') => true,
            (one, other) => one == other,
        })
}

/// Returns the target of a kernel parameter; `None` for one that is not known here.
pub fn acts_on(name: &str) -> Option<ActsOn> {
    let given = GIVEN.iter().find(|(known, ..)| is_same(known, name)).map(|(.., acts_on)| *acts_on);
    let module = name.find('.').map(|dot| &name[..=dot]);
    let is_it =
        |known: &str| is_same(known, name) || module.is_some_and(|module| is_same(known, module));
    given
        .or_else(|| OF_HARDWARE.iter().find(|(known, _)| is_it(known)).map(|(_, acts_on)| *acts_on))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_in_order() {
        assert!(GIVEN.is_sorted_by(|a, b| a.0 < b.0));
        assert!(OF_HARDWARE.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn every_parameter_that_a_machine_is_given_acts_on_something() {
        for (name, ..) in GIVEN {
            assert!(acts_on(name).is_some(), "{name}");
        }
        assert_eq!(acts_on("processor.nocst"), Some(IdleStates));
        assert_eq!(acts_on("nohz-full"), Some(SeveralCpus));
        assert_eq!(acts_on_at_run_time("sched/numa_balancing/scan_size_mb"), Some(Nodes));
        assert_eq!(acts_on_at_run_time("kernel.sched_rt_runtime_us"), None);
        assert_eq!(acts_on("processor"), None);
        assert_eq!(acts_on("thp_anon"), None);
    }
}
