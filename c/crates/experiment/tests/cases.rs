//! Command lines and sysctls of public tuning notes: the plan's verdict on each before any boot.

use std::collections::BTreeMap;

use preemptlab_experiment::{Experiment, Resolved, plan};
use preemptlab_model::{BackendKind, Digest, Kernel, KernelRef, Planned, QemuBuild};

/// Returns the kernel of a name, with this release.
fn kernel(name: &KernelRef, release: &str) -> Kernel {
    Kernel {
        name: name.clone(),
        release: release.to_owned(),
        image_sha256: Digest::of(release.as_bytes()),
        packages: Vec::new(),
        rt: None,
        modes: None,
        hz: None,
        source: None,
    }
}

/// Returns each planned level of settings with the reason why it is unavailable; of several kernels
/// one after another.
fn planned(text: &str, releases: &[&str]) -> Vec<(String, Option<String>)> {
    let experiment = Experiment::parse(text).unwrap();
    let names: Vec<KernelRef> = experiment.factors.kernels().cloned().collect();
    let kernels = names.iter().zip(releases).map(|(name, it)| (name.clone(), kernel(name, it)));
    let kernels: BTreeMap<_, _> = kernels.collect();
    let images = names.iter().flat_map(|name| {
        experiment.workload.keys().map(|it| ((name.clone(), it.to_string()), Digest::of(b"image")))
    });
    let resolved = Resolved {
        images: images.collect(),
        kernels,
        configs: BTreeMap::new(),
        unavailable: BTreeMap::new(),
        backend: BackendKind::Vm,
        qemu: Some(QemuBuild { version: "10.0.13".into(), digest: Digest::of(b"qemu") }),
    };
    let cells = plan(&experiment, &resolved).cells.into_iter();
    cells
        .map(|cell| {
            let reason = match cell.planned {
                Planned::Unavailable { reason } => Some(reason),
                Planned::Execute(_) => None,
            };
            (cell.factors.settings.to_string(), reason)
        })
        .collect()
}

fn contains_all(reason: &Option<String>, parts: &[&str]) {
    let reason = reason.as_deref().unwrap_or_default();
    for part in parts {
        assert!(reason.contains(part), "no `{part}` in: {reason}");
    }
}

#[test]
fn a_vendors_line_is_told_word_by_word() {
    let cells = planned(include_str!("data/telco.toml"), &["6.12.118+deb13-rt-amd64"]);
    assert_eq!(cells[0].1, None);
    let reason = &cells[1].1;
    contains_all(
        reason,
        &[
            "net.ifnames=0: udev reads it",
            "mce=off: this virtual machine cannot be asked",
            "nmi_watchdog=0: ",
        ],
    );
    // The machine and its kernel have the targets of the others.
    for word in ["skew_tick", "isolcpus", "rcu_nocb_poll", "nohz=on", "nosoftlockup", "rcupdate."] {
        assert!(!reason.as_ref().unwrap().contains(&format!("{word}=1: ")), "{word}");
        assert!(!reason.as_ref().unwrap().contains(&format!("{word}: ")), "{word}");
    }
}

#[test]
fn folklore_is_told_word_by_word() {
    let cells = planned(include_str!("data/folklore.toml"), &["6.12.118+deb13-amd64"]);
    assert_eq!(cells[0].1, None);
    contains_all(
        &cells[1].1,
        &[
            "rcu_nocb_poll=1024: rcu_nocb_poll takes no value",
            "acpi_irq_nobalance: this virtual machine cannot be asked",
            "numa_balancing=disable: this virtual machine cannot be asked, since it has one NUMA node",
            "nosmt: this virtual machine cannot be asked, since each of its cores has one thread",
            "nosmap: Linux has no such setting since 5.18",
            "nohalt: it was a parameter of Itanium",
            "noirqbalance: the kernel balances no interrupts itself since 2.6.29",
            "intel.max_cstate=0: Linux has no such parameter: it is intel_idle.max_cstate",
            "processor_idle.max_cstate=0: Linux has no such parameter: it is processor.max_cstate",
            "hpet=disable: this virtual machine cannot be asked, since its board has no HPET",
        ],
    );
}

#[test]
fn sysctls_patches_and_missing_values_are_told_before_a_boot() {
    let cells = planned(include_str!("data/ubuntu.toml"), &["6.12.118+deb13-amd64"]);
    let said: BTreeMap<&str, &Option<String>> =
        cells.iter().map(|(settings, reason)| (settings.as_str(), reason)).collect();
    contains_all(said["kthread_cpus=0"], &["a patch"]);
    contains_all(said["timer_migration=0"], &["write sysctl.kernel.timer_migration=0"]);
    contains_all(said["sched_rt_runtime=-1"], &["write sysctl.kernel.sched_rt_runtime_us=-1"]);
    contains_all(said["isolcpus=domain"], &["a list of CPUs is missing"]);
    for runs in ["", "nohz=on", "sysctl.kernel.sched_rt_runtime_us=-1"] {
        assert_eq!(*said[runs], None, "{runs}");
    }
}

#[test]
fn sysctls_that_went_are_told_for_each_kernel() {
    let releases = ["6.1.0-56-amd64", "6.12.118+deb13-amd64"];
    let cells = planned(include_str!("data/cfs.toml"), &releases);
    let reasons: Vec<_> = cells.iter().map(|(_, reason)| reason).collect();
    for of_kernel in [&reasons[..3], &reasons[3..]] {
        contains_all(of_kernel[0], &["since 5.13", "sched/base_slice_ns since 6.6"]);
        contains_all(of_kernel[2], &["since 5.13", "debugfs sched/migration_cost_ns"]);
    }
    // 6.1 has it, 6.12 has another name for it.
    assert_eq!(reasons[1], &None);
    contains_all(reasons[4], &["since 6.6", "sched/base_slice_ns"]);
}

#[test]
fn a_symbol_with_a_wrong_value_is_named() {
    let error = Experiment::parse(include_str!("data/fragment.toml")).unwrap_err();
    assert!(error.message.contains("`+HZ_1000=m` would be a module"), "{}", error.message);
    let help = "did you mean `source:6.12,config=lab+HZ_1000=y`?";
    assert_eq!(error.help.as_deref(), Some(help));
}
