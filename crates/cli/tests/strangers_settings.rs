//! `apply --from` with every kind of setting that a recording may hold: each is given to a machine as it
//! stands, or refused with a sentence.

use crate::common::Desk;
use crate::hostile::bounded;
use preemptlab_model::Settings;
use preemptlab_testkit::recorded::{Cell, record};
use preemptlab_testkit::traced;

/// Settings that a machine is given, and the script's line of each.
const GIVEN: [(&str, &str); 21] = [
    ("threadirqs", "threadirqs"),
    ("nohz_full=1", "nohz_full=1"),
    ("rcu_nocbs=1", "rcu_nocbs=1"),
    ("rcu_nocbs", "rcu_nocbs"),
    ("isolcpus=1", "isolcpus=1"),
    ("isolcpus=managed_irq,domain,1", "isolcpus=managed_irq,domain,1"),
    ("irqaffinity=0", "irqaffinity=0"),
    ("skew_tick=1", "skew_tick=1"),
    ("nohz=off", "nohz=off"),
    ("idle=poll", "idle=poll"),
    ("rcutree.enable_rcu_lazy=1", "rcutree.enable_rcu_lazy=1"),
    ("rcutree.use_softirq=0", "rcutree.use_softirq=0"),
    ("rcutree.kthread_prio=99", "rcutree.kthread_prio=99"),
    ("workqueue.power_efficient=1", "workqueue.power_efficient=1"),
    ("transparent_hugepage=never", "transparent_hugepage=never"),
    ("sched/features=NO_HRTICK", "NO_HRTICK"),
    ("sched/features=RUN_TO_PARITY", "RUN_TO_PARITY"),
    ("sched/base_slice_ns=3000000", "3000000"),
    ("sched/fair_server/cpu0/runtime=50000000", "50000000"),
    ("sysctl.kernel.sched_rt_runtime_us=-1", "sched_rt_runtime_us"),
    ("sysctl.net.core.netdev_budget=100", "netdev_budget"),
];

/// Settings that no machine is given unasked, or that are none.
const REFUSED: &[&str] = &[
    // Settings that decide about permissions, executed programs, mounts, and the machine's end.
    "init=/bin/sh",
    "rdinit=/bin/sh",
    "systemd.unit=rescue.target",
    "mitigations=off",
    "lockdown=none",
    "selinux=0",
    "apparmor=0",
    "module.sig_enforce=0",
    "nokaslr",
    "panic=1",
    "root=/dev/sdb",
    "rw",
    "mem=64M",
    "maxcpus=1",
    "sched_proxy_exec=0",
    "rseq_slice_ext=on",
    "rseq_debug=1",
    "tsc=nonsense",
    "sysctl.kernel.core_pattern=x",
    "sysctl.kernel.modprobe=x",
    "sysctl.kernel.panic_on_oops=1",
    "sysctl.kernel.sysrq=1",
    "sysctl.kernel.unprivileged_bpf_disabled=0",
    "sysctl.kernel.yama.ptrace_scope=0",
    "sysctl.kernel.randomize_va_space=0",
    "sysctl.vm.nr_hugepages=99999",
    "sysctl.vm.min_free_kbytes=99999999",
    "sysctl.net.ipv4.ip_forward=1",
    "sysctl.fs.protected_symlinks=0",
    "sysctl.user.max_user_namespaces=0",
    "sched/debug=1",
    "sched/preempt=none",
    "sched/verbose=Y",
    "sched/fair_server/cpu0/../../../x=1",
    "kprobes/enabled=0",
    "tracing/tracing_on=1",
    "provoke-crash/DIRECT=PANIC",
    // Values that are none of theirs.
    "threadirqs=1",
    "threadirqs=",
    "nohz_full=",
    "nohz_full",
    "nohz_full=2..7",
    "nohz_full=7-2",
    "nohz_full=-1",
    "nohz_full=99999999999999999999",
    "nohz_full=0x1",
    "nohz_full=1,",
    "rcu_nocbs=x",
    "isolcpus=evil,1",
    "isolcpus=domain",
    "irqaffinity=a-b",
    "irqaffinity=",
    "skew_tick=2",
    "skew_tick=-1",
    "nohz=maybe",
    "idle=$(reboot)",
    "idle=fast",
    "preempt=realtime",
    "rcutree.kthread_prio=100",
    "rcutree.kthread_prio=1e1",
    "rcutree.blimit=18446744073709551616",
    "rcutree.enable_rcu_lazy=perhaps",
    "rcutree.unknown=1",
    "transparent_hugepage=sometimes",
    "watchdog_thresh=61",
    "workqueue.unbound_cpus=;reboot",
    "sched/features=",
    "sched/features=HRTCK",
    "sched/features=NO_NO_HRTICK",
    "sched/features=hrtick",
    "sched/features=HRTICK;reboot",
    "sched/base_slice_ns=x",
    "sched/base_slice_ns=",
    "sched/base_slice_ns=18446744073709551616",
    "sched/base_slice_ns=1e9",
    "sched/nr_migrate=$(reboot)",
    "sched/fair_server/cpu/runtime=1",
    "sched/fair_server/cpu0/other=1",
    "sched/fair_server/cpux/runtime=1",
    "sched/../sched/nr_migrate=8",
    "sysctl.kernel.sched_rt_runtime_us=",
    "sysctl.kernel.sched_rt_runtime_us=x",
    "sysctl.kernel.sched_rt_runtime_us=--1",
    "sysctl.kernel.sched_rt_runtime_us=1;reboot",
    "sysctl.kernel/../net/core/busy_poll=1",
    "sysctl.kernel.sched_rt_period_us=|touch",
    "sysctl.net.core.dev_weight=all;",
    "sysctl.=1",
    "sysctl.kernel=1",
    "sysctl.net.core.netdev_budget=0x",
    "x=$(touch+canary)",
    "x=`reboot`",
    "x='",
    "x=\\\\",
    "=",
    "a=b=c",
    "lab.kaslr",
    "lab.nothing",
];

/// A desk with a recording with the setting, unless no recording can hold it: a kernel parameter in the command
/// line of all of its machines, and another one as a level.
fn desk(setting: &str) -> Option<Desk> {
    let desk = Desk::new();
    let name = setting.split('=').next().unwrap();
    if !(name.contains('/') || name.starts_with("sysctl.") || name.starts_with("lab.")) {
        traced::untraced(&desk.path("run"), |manifest| {
            manifest.experiment.machine.cmdline = vec![setting.to_owned()];
        });
        return Some(desk);
    }
    setting.parse::<Settings>().ok()?;
    let text = format!(
        "preempt = [\"full\"]\nsettings = ['''{setting}''']\n[replicates]\ncount = 2\n\
         [workload.load]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n"
    );
    let path = desk.path("run");
    // An experiment refuses some words, and so does the reader of a recording.
    let recorded = std::panic::catch_unwind(|| record(&path, &text, |_, _| Cell::Measured));
    recorded.ok().map(|()| desk)
}

#[test]
fn every_setting_of_the_lists_is_given_as_it_stands() {
    let mut wrong = Vec::new();
    for (setting, said) in GIVEN {
        let Some(desk) = desk(setting) else {
            wrong.push(format!("{setting}: no recording has it"));
            continue;
        };
        let (script, ran) =
            bounded(&desk, &["system", "apply", "--from", "run", "--emit", "script"]);
        if script.code != 0 || !script.stdout.contains(said) || !ran.is_empty() {
            wrong.push(format!("{setting}: {} {ran}: {}", script.code, script.stderr));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_other_setting_is_refused() {
    let (mut wrong, mut held) = (Vec::new(), 0);
    for setting in REFUSED {
        let Some(desk) = desk(setting) else { continue };
        held += 1;
        for target in ["script", "grub", "tuned", "sysctl"] {
            let arguments =
                ["system", "apply", "--from", "run", "--emit", target, "--skip-ignored"];
            let (said, ran) = bounded(&desk, &arguments);
            let name = setting.split('=').next().unwrap();
            let name = name.trim_start_matches("sysctl.");
            let is_told = said.stderr.replace(char::is_whitespace, "").contains(name);
            let is_told = is_told && !said.stderr.contains("cannot be asked");
            if said.code != 2 || !said.stdout.is_empty() || !ran.is_empty() || !is_told {
                wrong.push(format!("{setting}, {target}: {} {ran}: {}", said.code, said.stderr));
            }
        }
    }
    println!("{held} of {} are settings that a recording can hold", REFUSED.len());
    assert!(held > 30, "{held}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
