//! Tests of `apply --emit`: the output is a file for its reader, and holds all of the settings or
//! names the place of the rest.

use std::process::Command;

use crate::common::{Desk, Finished};
use crate::root::Root;
use preemptlab_testkit::traced;

const TARGETS: [&str; 5] = ["grub", "systemd-boot", "tuned", "sysctl", "script"];

fn emit(desk: &Desk, target: &str, settings: &[&str]) -> Finished {
    desk.run(&[&["system", "apply", "--emit", target], settings].concat())
}

/// Returns the lines that are not comments.
fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect()
}

#[test]
fn what_is_emitted_is_for_its_reader_alone() {
    let desk = Desk::new();
    let settings =
        ["--preempt", "full", "--nohz-full", "1-3", "--sysctl", "kernel.sched_rt_runtime_us=-1"];
    let of = |target: &str| emit(&desk, target, &settings).succeeds().stdout.clone();
    let words = "nohz_full=1-3 preempt=full";
    let grub = of("grub");
    let variable =
        format!("GRUB_CMDLINE_LINUX_DEFAULT=\"${{GRUB_CMDLINE_LINUX_DEFAULT}} {words}\"");
    assert_eq!(lines(&grub), [variable.as_str()]);
    assert!(grub.ends_with("# Then, as root: update-grub\n"), "{grub}");
    let systemd_boot = of("systemd-boot");
    assert_eq!(lines(&systemd_boot), [words]);
    assert!(systemd_boot.contains("# Then, as root: kernel-install add-all\n"), "{systemd_boot}");
    let tuned = of("tuned");
    let expected = [
        "[main]",
        "summary=Settings of preemptlab",
        "[bootloader]",
        &format!("cmdline_preemptlab=+{words}"),
        "[sysctl]",
        "kernel.sched_rt_runtime_us=-1",
    ];
    assert_eq!(lines(&tuned), expected);
    assert_eq!(lines(&of("sysctl")), ["kernel.sched_rt_runtime_us = -1"]);
    let script = desk.write("script", &of("script"));
    assert!(Command::new("sh").arg("-n").arg(script).status().unwrap().success());
}

/// The real grub-mkconfig sources it, as its drop-in.
#[test]
fn grub_mkconfig_takes_the_drop_in_as_it_is() {
    let root = Root::grub();
    let desk = Desk::new();
    let settings = ["--threadirqs", "--rcu-nocbs", "1-3,5", "--base-slice-ns", "3000000"];
    let emitted = emit(&desk, "grub", &settings);
    root.write("etc/default/grub.d/zz-preemptlab.cfg", &emitted.succeeds().stdout);
    root.regenerate();
    let config = root.read("boot/grub/grub.cfg");
    let with = config.lines().filter(|line| line.ends_with(" quiet rcu_nocbs=1-3,5 threadirqs"));
    assert_eq!(with.count(), 2, "{config}");
}

#[test]
fn nothing_is_dropped_without_a_word() {
    let desk = Desk::new();
    // Each setting, its words, and the targets that have a place for it.
    let settings: [(&[&str], &str, &[&str]); 4] = [
        (&["--skew-tick"], "skew_tick=1", &["grub", "systemd-boot", "tuned", "script"]),
        (&["--base-slice-ns", "3000000"], "sched/base_slice_ns", &["script"]),
        (&["--sched-feature", "NO_HRTICK"], "NO_HRTICK", &["script"]),
        (&["--sysctl", "kernel.watchdog=0"], "kernel.watchdog", &["tuned", "sysctl", "script"]),
    ];
    for target in TARGETS {
        for (setting, text, places) in settings {
            let alone = emit(&desk, target, setting);
            if places.contains(&target) {
                alone.succeeds();
                // A sysctl by its name, or by its file.
                let lines = lines(&alone.stdout).join("\n").replace('/', ".");
                assert!(lines.contains(&text.replace('/', ".")), "{}", alone.stdout);
                continue;
            }
            alone.fails(2, &["none of it is for", text, "--emit"]);
            assert_eq!(alone.stdout, "");
            // Beside something that it has a place for it is a comment.
            let other = if target == "sysctl" { settings[3].0 } else { settings[0].0 };
            let beside = emit(&desk, target, &[setting, other].concat());
            let comment = beside.succeeds().stdout.lines().find(|line| line.contains(text));
            let comment = comment.unwrap_or_default();
            assert!(comment.starts_with("# Not for") && comment.contains("--emit"), "{comment}");
        }
    }
}

#[test]
fn what_no_kernel_would_take_is_not_emitted() {
    let desk = Desk::new();
    for target in TARGETS {
        let refused = |settings: &[&str], said: &[&str]| {
            let finished = emit(&desk, target, settings);
            finished.fails(2, said);
            assert_eq!(finished.stdout, "");
        };
        for list in ["2..7", "7-2", "1,,2", "", "0-7:3/2", "9999", "1 2", "$(reboot)"] {
            refused(&["--nohz-full", list], &["no list of CPUs"]);
            refused(&["--rcu-nocbs", list], &["no list of CPUs"]);
            refused(&["--isolcpus", list], &["no list of CPUs"]);
        }
        refused(&["--isolcpus", "managed,1"], &["no list of CPUs"]);
        refused(&["--nohz-full", "domain,1"], &["no list of CPUs"]);
        refused(&["--base-slice-ns", "0"], &["base-slice-ns"]);
        refused(&["--sched-feature", "NO_HRTCK"], &["did you mean HRTICK?", "--allow"]);
        refused(&["--sched-feature", "HRTICK;reboot"], &["the name of a feature"]);
        refused(&["--sysctl", "kernel.core_pattern=/tmp/x"], &["not among the sysctls"]);
        refused(&["--sysctl", "kernel.sched_rt_runtime=1"], &["did you mean"]);
        refused(&["--sysctl", "kernel/../vm.swappiness=1"], &["is no setting"]);
        refused(&["--parameter", "x86/ibrs_enabled=0"], &["not among the files of debugfs"]);
        refused(&["--parameter", "nohz_full=2..7"], &["no list of CPUs"]);
        refused(&["--parameter", "nohz_ful=2-7"], &["did you mean nohz_full?"]);
        refused(&["--parameter", "init=/bin/sh"], &["--allow init=/bin/sh"]);
        refused(&["--parameter", "--", "--allow", "--"], &[""]);
        let other = ["--parameter", "init=/bin/sh", "--allow", "init=/bin/bash"];
        refused(&other, &["--allow init=/bin/bash: nothing of what is asked for is that"]);
        refused(&["--skew-tick", "--parameter", "skew_tick=0"], &["twice"]);
    }
    for list in ["1-3,5", "0-7:2/4", "all", "1-N", "N"] {
        emit(&desk, "grub", &["--nohz-full", list])
            .succeeds()
            .says(&[&format!("nohz_full={list}")]);
    }
    emit(&desk, "grub", &["--isolcpus", "managed_irq,domain,1-3"]).succeeds();
    let allowed = ["--parameter", "quirk=1", "--allow", "quirk=1"];
    emit(&desk, "grub", &allowed).succeeds().says(&["quirk=1"]);
    let allowed = ["--sched-feature", "NO_NEW", "--allow", "sched/features=NO_NEW"];
    emit(&desk, "script", &allowed).succeeds().says(&["NO_NEW"]);
}

/// Tuning notes have sysctls that no supported kernel has, and parameters that are sysctls.
#[test]
fn what_is_gone_is_refused_with_its_place() {
    let desk = Desk::new();
    for target in ["sysctl", "script", "tuned"] {
        let refused = |settings: &[&str], said: &[&str]| {
            let finished = emit(&desk, target, settings);
            finished.fails(2, said);
            assert_eq!(finished.stdout, "");
        };
        let sysctl = |text: &'static str| ["--sysctl", text];
        for (setting, said) in [
            ("kernel.sched_min_granularity_ns=10000000", "sched/base_slice_ns since 6.6"),
            ("kernel.sched_migration_cost_ns=5000000", "debugfs sched/migration_cost_ns"),
            ("kernel.sched_latency_ns=1", "debugfs sched/latency_ns until 6.5"),
            ("kernel.sched_wakeup_granularity_ns=1", "debugfs sched/wakeup_granularity_ns"),
            ("kernel.sched_nr_migrate=8", "debugfs sched/nr_migrate"),
            ("kernel.sched_tunable_scaling=0", "debugfs sched/tunable_scaling"),
        ] {
            refused(&sysctl(setting), &["since 5.13", said]);
        }
        refused(
            &["--parameter", "elevator=noop", "--skew-tick"],
            &["since 5.0", "queue/scheduler"],
        );
        let said = "write sysctl.kernel.sched_rt_runtime_us=-1";
        refused(&["--parameter", "sched_rt_runtime=-1"], &[said]);
    }
    emit(&desk, "sysctl", &["--sysctl", "kernel.sched_rr_timeslice_ms=50"]).succeeds();
}

#[test]
fn a_line_that_the_kernel_would_cut_is_refused() {
    let desk = Desk::new();
    let long = format!("quirk={}", "1".repeat(2920));
    let finished = emit(&desk, "grub", &["--parameter", &long, "--allow", &long]);
    finished.fails(2, &["it has 2926 characters", "keeps 2047"]);
    let halves = ["a", "b"].map(|name| format!("{name}={}", "1".repeat(1022)));
    let [a, b] = &halves;
    let allowed = ["--parameter", a, "--allow", a, "--parameter", b, "--allow", b];
    emit(&desk, "grub", &allowed).fails(2, &["the command line: it has 2049 characters"]);
    emit(&desk, "grub", &allowed[..4]).succeeds();
    // A list of CPUs is shortened to ranges.
    let cpus = (1..=700).map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(",");
    let finished = emit(&desk, "grub", &["--isolcpus", &cpus, "--nohz-full", "1,2,3,8"]);
    finished.succeeds().says(&["nohz_full=1-3,8 isolcpus=1-700"]);
}

#[test]
fn a_mode_that_some_kernel_ignores_comes_with_a_warning() {
    let desk = Desk::new();
    for target in ["grub", "systemd-boot", "tuned", "script"] {
        for (mode, said) in [("none", "from 7.0 on"), ("lazy", "before 6.13")] {
            let finished = emit(&desk, target, &["--preempt", mode]);
            assert!(finished.succeeds().stderr.contains(said), "{}", finished.stderr);
        }
    }
    let other = emit(&desk, "grub", &["--skew-tick"]);
    assert!(!other.stderr.contains("preempt="), "{}", other.stderr);
}

/// The script names its changes, and says the second time that there are none.
#[test]
fn the_script_says_whether_anything_was_changed() {
    let mut root = Root::systemd_boot();
    root.write("cmdline", "root=UUID=0c7a6b6c ro quiet\n");
    root.more += "\nmount --bind \"$root/cmdline\" \"$root/proc/cmdline\"";
    root.write("sys/kernel/debug/sched/preempt", "none (voluntary) full\n");
    root.write("sys/kernel/debug/sched/base_slice_ns", "2800000\n");
    let desk = Desk::new();
    let run = |settings: &[&str]| {
        root.write("script", &emit(&desk, "script", settings).succeeds().stdout);
        let folder = root.path("").display().to_string();
        root.shell(&["chroot", &folder, "sh", "/script"])
    };
    let settings = ["--preempt", "full", "--base-slice-ns", "3000000"];
    let first = run(&settings);
    first.succeeds().says(&[
        "changed /boot/loader/entries/debian-6.12.117+deb13-amd64.conf",
        "changed /etc/kernel/cmdline",
        "changed /sys/kernel/debug/sched/base_slice_ns to 3000000",
    ]);
    assert!(!first.stderr.contains("would ignore"), "{}", first.stderr);
    assert_eq!(root.read("sys/kernel/debug/sched/base_slice_ns"), "3000000");
    let before = root.snapshot();
    let second = run(&settings);
    assert_eq!(
        second.succeeds().stdout,
        "/script: nothing was changed: all of it was there already\n"
    );
    assert_eq!(before, root.snapshot());
    // Another mode than those of the running kernel.
    let lazy = run(&["--preempt", "lazy"]);
    assert!(lazy.stderr.contains("would ignore preempt=lazy: it offers none (voluntary) full"));
    // A line that the kernel would cut.
    let before = root.snapshot();
    let long = format!("quirk={}", "1".repeat(2014));
    let cut = run(&["--parameter", &long, "--allow", &long]);
    cut.fails(1, &["would have 2048 characters, and the kernel keeps 2047: nothing was changed"]);
    assert_eq!(before, root.snapshot());
}

/// A recording's words reach a machine only if they are on the lists.
#[test]
fn a_strangers_words_are_held_to_the_lists() {
    let desk = Desk::new();
    let hostile = |name: &str, words: &[&str]| {
        traced::untraced(&desk.path(name), |manifest| {
            let words = words.iter().map(|word| (*word).to_owned());
            manifest.experiment.machine.cmdline = words.collect();
        });
    };
    let bad = ["threadirqs", "init=/bin/sh mitigations=off", "x=$(reboot)", "nohz_full=2..7"];
    hostile("words", &bad);
    let refused = [
        "init=/bin/sh: init is not among",
        "--allow init=/bin/sh",
        "--allow mitigations=off",
        "x=$(reboot): it holds characters",
        "nohz_full=2..7: `2..7` is no list of CPUs",
    ];
    let finished = desk.run(&["recommend", "words"]);
    finished.succeeds().says(&["`preemptlab system apply` refuses"]);
    finished.says(&refused);
    let (_, given) = finished.stdout.split_once("With GRUB").unwrap();
    assert!(given.contains("threadirqs") && !given.contains("init="), "{given}");
    let json = desk.run(&["recommend", "words", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(document["refused"].as_array().unwrap().len(), 4);
    for target in TARGETS {
        let finished = emit(&desk, target, &["--from", "words"]);
        finished.fails(2, &["nothing was changed"]);
        finished.fails(2, &refused);
        assert_eq!(finished.stdout, "");
    }
    hostile("allowed", &["quirk=1", "init=/bin/sh"]);
    let allow = ["--from", "allowed", "--allow", "quirk=1", "--allow", "init=/bin/sh"];
    emit(&desk, "grub", &allow).succeeds().says(&["quirk=1 init=/bin/sh"]);
    emit(&desk, "grub", &allow[..4]).fails(2, &["--allow init=/bin/sh"]);
    let root = Root::quick_grub();
    let before = root.snapshot();
    let words = desk.path("words").display().to_string();
    let applied =
        root.preemptlab(&["system", "apply", "--yes", "--skip-ignored", "--from", &words]);
    applied.fails(2, &refused);
    assert_eq!(before, root.snapshot());
}
