//! The kernel parameters that a machine may be given, and the values of each.

use preemptlab_model::{CpuList, IsolatedCpus, PreemptMode, nearest};

use crate::Command;

/// The longest word, in bytes: half of the command line that x86 has room for
/// (`COMMAND_LINE_SIZE`, arch/x86/include/asm/setup.h).
const BYTES_MAX: usize = 1024;

/// Values that a parameter takes.
#[derive(Clone, Copy)]
enum Takes {
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

use Takes::{Cpus, IsolatedCpus as Isolated, MaybeCpus, Mode, Nothing, Number, OneOf, Truth};

/// Parameters that a machine is given unasked (Documentation/admin-guide/kernel-parameters.txt):
/// those of preemption, time keeping, callbacks, interrupts, idling and watchdogs. None of them
/// decides which program is executed (`init=`, `rdinit=`, `systemd.*`), how the machine is
/// protected (`mitigations=`, `lockdown=`, `selinux=`, `module.sig_enforce=`), or what is mounted,
/// loaded or reserved. They are in alphabetical order.
const KNOWN: &[(&str, Takes)] = &[
    ("amd_pstate", OneOf(&["active", "disable", "guided", "passive"])),
    ("clocksource", OneOf(&["acpi_pm", "hpet", "kvm-clock", "tsc"])),
    (
        "cpufreq.default_governor",
        OneOf(&["conservative", "ondemand", "performance", "powersave", "schedutil"]),
    ),
    ("cpuidle.governor", OneOf(&["haltpoll", "ladder", "menu", "teo"])),
    ("cpuidle.off", Number(1)),
    ("delayacct", Nothing),
    ("highres", OneOf(&["off", "on"])),
    ("idle", OneOf(&["halt", "nomwait", "poll"])),
    ("intel_idle.max_cstate", Number(9)),
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
    ),
    ("irqaffinity", Cpus),
    ("isolcpus", Isolated),
    ("mce", OneOf(&["ignore_ce"])),
    ("nmi_watchdog", Number(1)),
    ("noautogroup", Nothing),
    ("nohz", OneOf(&["off", "on"])),
    ("nohz_full", Cpus),
    ("nosmt", OneOf(&["", "force"])),
    ("nosoftlockup", Nothing),
    ("nowatchdog", Nothing),
    ("numa_balancing", OneOf(&["disable", "enable"])),
    ("pcie_aspm", OneOf(&["off"])),
    ("preempt", Mode),
    ("processor.max_cstate", Number(9)),
    ("psi", Truth),
    ("quiet", Nothing),
    ("rcu_nocb_poll", Nothing),
    ("rcu_nocbs", MaybeCpus),
    ("rcupdate.rcu_expedited", Truth),
    ("rcupdate.rcu_normal", Truth),
    ("rcupdate.rcu_normal_after_boot", Truth),
    ("rcutree.blimit", Number(1_000_000)),
    ("rcutree.enable_rcu_lazy", Truth),
    ("rcutree.jiffies_till_first_fqs", Number(100_000)),
    ("rcutree.jiffies_till_next_fqs", Number(100_000)),
    ("rcutree.jiffies_till_sched_qs", Number(100_000)),
    ("rcutree.kthread_prio", Number(99)),
    ("rcutree.nocb_nobypass_lim_per_jiffy", Number(1_000_000)),
    ("rcutree.nohz_full_patience_delay", Number(5000)),
    ("rcutree.qhimark", Number(10_000_000)),
    ("rcutree.qlowmark", Number(10_000_000)),
    ("rcutree.rcu_nocb_gp_stride", Number(8192)),
    ("rcutree.use_softirq", Truth),
    ("schedstats", OneOf(&["disable", "enable"])),
    ("skew_tick", Number(1)),
    ("threadirqs", Nothing),
    ("transparent_hugepage", OneOf(&["always", "madvise", "never"])),
    ("tsc", OneOf(&["noirqtime", "nowatchdog", "reliable", "unstable"])),
    ("watchdog_thresh", Number(60)),
    ("workqueue.cpu_intensive_thresh_us", Number(1_000_000)),
    ("workqueue.default_affinity_scope", OneOf(&["cache", "cpu", "numa", "smt", "system"])),
    ("workqueue.power_efficient", Truth),
    ("workqueue.unbound_cpus", Cpus),
];

/// Returns the reason why a machine is not given a word; `None` if it is. `allowed` are words that
/// the user let through by name.
pub(crate) fn refusal(word: &str, allowed: &[String]) -> Option<String> {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, None),
    };
    let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    if !is_name || !is_plain(word) || word.len() > BYTES_MAX {
        return Some(
            "it holds characters that boot loaders read in ways of their own; set it by hand"
                .into(),
        );
    }
    match KNOWN.iter().find(|(known, _)| *known == name) {
        Some((_, takes)) => mismatch(*takes, value),
        None if allowed.iter().any(|it| it == word) => None,
        None => {
            let similar = nearest(name, KNOWN.iter().map(|(known, _)| *known));
            let similar = similar.map(|it| format!("; did you mean {it}?"));
            let similar = similar.unwrap_or_else(|| ".".to_owned());
            let option = Command::new(["--allow", word]);
            Some(format!(
                "{name} is not among the kernel parameters that a machine is given unasked\
                 {similar} If it is to have it: {option}"
            ))
        }
    }
}

/// Returns whether a text means the same to a shell, GRUB, systemd and tuned without any quoting.
pub(crate) fn is_plain(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.,:=/+@~".contains(c);
    !text.is_empty() && text.chars().all(is_plain)
}

/// Returns the error of a value that the parameter does not take.
fn mismatch(takes: Takes, value: Option<&str>) -> Option<String> {
    let needs = || Some("it needs a value".to_owned());
    match (takes, value) {
        (Nothing | MaybeCpus, None) => None,
        (Nothing, Some(_)) => Some("it takes no value".to_owned()),
        (OneOf(words), value) => {
            let value = value.unwrap_or_default();
            (!words.contains(&value)).then(|| format!("it takes one of {}", list(words)))
        }
        (_, None) => needs(),
        (Mode, Some(value)) => value.parse::<PreemptMode>().err().map(|error| error.to_string()),
        (Cpus | MaybeCpus, Some(value)) => {
            value.parse::<CpuList>().err().map(|error| error.to_string())
        }
        (Isolated, Some(value)) => {
            value.parse::<IsolatedCpus>().err().map(|error| error.to_string())
        }
        (Truth, Some(value)) => {
            let is_truth = ["0", "1", "n", "N", "y", "Y", "off", "on"].contains(&value);
            (!is_truth).then(|| "it takes 0 or 1".to_owned())
        }
        (Number(max), Some(value)) => {
            let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
            let fits = value.parse::<u32>().is_ok_and(|number| number <= max);
            (!is_number || !fits).then(|| format!("it takes a number from 0 to {max}"))
        }
    }
}

fn list(words: &[&str]) -> String {
    words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_the_field_boots_with_is_given() {
        for word in [
            "preempt=lazy",
            "threadirqs",
            "nohz_full=2-7",
            "nohz_full=0-7:2/4,9",
            "isolcpus=managed_irq,domain,6-7",
            "rcu_nocbs",
            "rcu_nocbs=all",
            "rcutree.enable_rcu_lazy=1",
            "skew_tick=1",
            "idle=poll",
            "nosmt",
            "nosmt=force",
            "tsc=reliable",
            "processor.max_cstate=1",
        ] {
            assert_eq!(refusal(word, &[]), None, "{word}");
        }
    }

    #[test]
    fn nothing_else_is_given_unasked() {
        for word in [
            "init=/bin/sh",
            "rdinit=/bin/sh",
            "mitigations=off",
            "module.sig_enforce=0",
            "lockdown=none",
            "selinux=0",
            "apparmor=0",
            "systemd.unit=rescue.target",
            "systemd.debug_shell",
            "sysctl.kernel.core_pattern=x",
            "root=/dev/sda1",
            "nohz-full=1",
            "single",
            "1",
        ] {
            let reason = refusal(word, &[]).unwrap();
            assert!(reason.contains(&format!("--allow {word}")), "{reason}");
            assert_eq!(refusal(word, &[word.to_owned()]), None, "{word}");
            assert!(refusal(word, &[format!("{word}1")]).is_some(), "{word}");
        }
        let reason = refusal("nohz_ful=2", &[]).unwrap();
        assert!(reason.contains("did you mean nohz_full?"), "{reason}");
    }

    #[test]
    fn no_option_lets_through_what_would_need_quotes_or_is_no_value_of_it() {
        for word in [
            "",
            "--",
            "-x=1",
            "=1",
            ".x",
            "a=\"b\"",
            "a;b",
            "a b",
            "a=$(reboot)",
            "a=%s",
            "a=b#c",
            "a=\\",
            "a=b\n",
            "a/b=1",
            "a=\u{e4}",
            "nohz_full",
            "nohz_full=",
            "nohz_full=2..7",
            "nohz_full=7-2",
            "nohz_full=1,,2",
            "nohz_full=99999",
            "rcu_nocbs=managed_irq,1",
            "isolcpus=managed_irq",
            "isolcpus=domain,,1",
            "preempt=rt",
            "threadirqs=1",
            "skew_tick=2",
            "skew_tick=-1",
            "idle=hlt",
            "nosmt=1",
            "rcutree.enable_rcu_lazy=maybe",
            "rcutree.kthread_prio=100",
        ] {
            assert!(refusal(word, &[word.to_owned()]).is_some(), "{word}");
        }
        let long = format!("a={}", "1".repeat(BYTES_MAX));
        assert!(refusal(&long, std::slice::from_ref(&long)).is_some());
    }

    #[test]
    fn the_list_is_in_order() {
        assert!(KNOWN.is_sorted_by(|a, b| a.0 < b.0));
    }

    proptest! {
        #[test]
        fn what_is_given_needs_no_quotes(word in "\\PC{0,30}|[a-z_.]{1,8}=[ -~]{0,12}") {
            if refusal(&word, std::slice::from_ref(&word)).is_none() {
                prop_assert!(is_plain(&word));
                prop_assert!(!word.starts_with('-'));
            }
        }
    }
}
