//! Words of command lines that are not the kernel's: sysctls without `sysctl.`, words that other
//! programs read, and names of vendors' patches.

use preemptlab_model::{nearest, sysctls};

use crate::tune::known;

/// Words that are not parameters of Linux, and the explanation of each. A name that ends in a dot
/// stands for every word that begins so.
const OF_OTHERS: &[(&str, &str)] = &[
    ("biosdevname", "udev reads it, and not the kernel"),
    ("intel.max_cstate", "Linux has no such parameter: it is intel_idle.max_cstate"),
    (
        "kthread_cpus",
        "Linux has no such parameter, but a patch in kernels of StarlingX and Ubuntu's real-time \
         ones has; nohz_full= keeps kernel threads off its CPUs",
    ),
    ("net.ifnames", "udev reads it, and not the kernel"),
    (
        "nohalt",
        "it was a parameter of Itanium, which 6.7 removed; on x86 idle=poll keeps idle CPUs from \
         halting",
    ),
    (
        "nohlt",
        "it is a parameter of other architectures; on x86 idle=poll keeps idle CPUs from halting",
    ),
    (
        "noirqbalance",
        "the kernel balances no interrupts itself since 2.6.29: irqaffinity= and the service \
         irqbalance place them",
    ),
    ("processor_idle.max_cstate", "Linux has no such parameter: it is processor.max_cstate"),
    ("rd.", "the initramfs reads it, and not the kernel"),
    ("systemd.", "systemd reads it, and not the kernel"),
    ("tuned.", "tuned reads it, and not the kernel"),
];

/// Folders of /proc/sys that no module of the kernel has the name of.
const SYSCTL_FOLDERS: [&str; 4] = ["kernel.", "net.core.", "net.ipv4.", "vm."];

/// Units that the names of sysctls end with.
const UNITS: [&str; 5] = ["_us", "_ms", "_ns", "_secs", "_centisecs"];

/// Returns the reason why a word of a command line is not one for the kernel; `None` if it may be.
pub(crate) fn refusal(name: &str, value: Option<&str>) -> Option<String> {
    if known::values(name).is_some() {
        return None;
    }
    let is_it = |known: &str| name == known || known.ends_with('.') && name.starts_with(known);
    if let Some((_, what)) = OF_OTHERS.iter().find(|(known, _)| is_it(known)) {
        return Some((*what).to_owned());
    }
    let sysctl = sysctl(name)?;
    let value = value.filter(|value| !value.is_empty()).unwrap_or("VALUE");
    Some(format!("it is a sysctl and no parameter: write sysctl.{sysctl}={value}"))
}

/// Returns the sysctl that a name means.
fn sysctl(name: &str) -> Option<String> {
    let name = name.replace('-', "_");
    if SYSCTL_FOLDERS.iter().any(|folder| name.starts_with(folder)) {
        let near = nearest(&name, sysctls()).map(str::to_owned);
        return Some(near.unwrap_or(name));
    }
    let is_it = |sysctl: &&str| {
        let last = sysctl.rsplit('.').next().unwrap_or_default();
        last == name || UNITS.iter().any(|unit| last.strip_suffix(unit) == Some(&name))
    };
    sysctls().find(is_it).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(word: &str) -> Option<String> {
        let (name, value) = word.split_once('=').map_or((word, None), |(n, v)| (n, Some(v)));
        refusal(name, value)
    }

    #[test]
    fn a_sysctl_is_told_its_right_form() {
        for (word, right) in [
            ("sched_rt_runtime=-1", "sysctl.kernel.sched_rt_runtime_us=-1"),
            ("sched_rt_runtime_us=-1", "sysctl.kernel.sched_rt_runtime_us=-1"),
            ("timer_migration=0", "sysctl.kernel.timer_migration=0"),
            ("kernel.timer_migration=0", "sysctl.kernel.timer_migration=0"),
            ("swappiness=1", "sysctl.vm.swappiness=1"),
            ("vm.swapiness=1", "sysctl.vm.swappiness=1"),
            ("vm.nr_hugepages=8", "sysctl.vm.nr_hugepages=8"),
            ("dirty_writeback=1", "sysctl.vm.dirty_writeback_centisecs=1"),
            ("sched_autogroup_enabled", "sysctl.kernel.sched_autogroup_enabled=VALUE"),
        ] {
            let said = says(word).unwrap_or_default();
            assert!(said.ends_with(&format!("write {right}")), "{word}: {said}");
        }
    }

    #[test]
    fn words_of_others_are_told_from_the_kernels() {
        assert!(says("net.ifnames=0").unwrap().contains("udev"));
        assert!(says("systemd.unit=rescue.target").unwrap().contains("systemd"));
        assert!(says("kthread_cpus=0").unwrap().contains("patch"));
        assert!(says("intel.max_cstate=0").unwrap().contains("intel_idle.max_cstate"));
        // Both a parameter and a sysctl.
        for word in
            ["nmi_watchdog=0", "numa_balancing=disable", "watchdog_thresh=5", "quiet", "quirk=1"]
        {
            assert_eq!(says(word), None, "{word}");
        }
    }
}
