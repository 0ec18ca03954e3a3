//! Real results of stress-ng: 0.19.02 in the guest (kernel 6.12, without preemption on one CPU),
//! 0.15.06 on a machine with two CPUs.

use crate::common::{cell, command, inputs, named, read, report};
use preemptlab_model::{Arch, PreemptMode, WORKS_AFTER_NS};
use preemptlab_protocol::{CommandReport, CommandSignal, Exit, Policy, Report};
use preemptlab_workload::{Measurements, Workload};
use proptest::prelude::*;

const ONE: &str = include_str!("data/stress-ng-0.19.02.yaml");
const TWO: &str = include_str!("data/stress-ng-0.19.02-2-instances.yaml");
const TWO_0_15: &str = include_str!("data/stress-ng-0.15.06.yaml");

const YAML: &str = "/tmp/stress-ng.yaml";

fn workload(parameters: &str) -> Workload {
    read(&format!("kind = \"stress-ng\"\n{parameters}")).unwrap()
}

fn refused_table(parameters: &str) -> String {
    read(&format!("kind = \"stress-ng\"\n{parameters}")).unwrap_err()
}

/// Returns the guest's report of the run of [`ONE`].
fn ran(yaml: &str) -> CommandReport {
    CommandReport {
        start_ns: 6_688_218_876,
        end_ns: 8_903_290_918,
        user_ns: 2_040_614_000,
        system_ns: 172_078_000,
        files: [(YAML.to_owned(), yaml.to_owned())].into(),
        ..command("stress-ng", Exit::Code(0))
    }
}

fn measure(parameters: &str, report: &Report) -> Result<Measurements, String> {
    let workload = workload(parameters);
    let measured = workload.measure(&cell(&workload, 1), report);
    named(&workload, measured).map_err(|error| error.to_string())
}

/// Returns the error of a run with a change.
fn refused(change: impl FnOnce(&mut CommandReport)) -> String {
    let mut ran = ran(ONE);
    change(&mut ran);
    measure("", &report(vec![], vec![ran])).unwrap_err()
}

fn number(measurements: &Measurements, name: &str) -> f64 {
    measurements.numbers.iter().find(|metric| metric.name == name).unwrap().value
}

#[test]
fn every_metric_of_a_real_cell() {
    let mut report = report(vec![], vec![ran(ONE)]);
    report.activity.context_switches = 79;
    report.activity.interrupts_by_name = [("LOC".to_owned(), 559)].into();
    report.kernel_threads_ns =
        [("rcu_preempt".to_owned(), 317_028), ("kworker/0:1-events".to_owned(), 16_284_618)].into();
    let metrics = measure("", &report).unwrap().metrics();
    let listed: Vec<_> = metrics
        .iter()
        .map(|m| {
            format!("{} {:.3} {}, {} is better", m.name, m.value, m.unit, m.direction.as_str())
        })
        .collect();
    assert_eq!(
        listed,
        [
            "throughput 389.783 ops/s, higher is better",
            "real 2.215 s, lower is better",
            "user 2.041 s, lower is better",
            "system 0.172 s, lower is better",
            "stressor.wall 2.006 s, lower is better",
            "stressor.user 2.007 s, lower is better",
            "stressor.system 0.000 s, lower is better",
            "context_switches 79.000 events, lower is better",
            "interrupts.LOC 559.000 events, lower is better",
            "interrupts.RES 0.000 events, lower is better",
            "softirqs.RCU 0.000 events, lower is better",
            "softirqs.TIMER 0.000 events, lower is better",
            "kthread.total 16.602 ms, lower is better",
            "kthread.kworker 16.285 ms, lower is better",
        ]
    );
}

#[test]
fn version_0_15_06_writes_the_same() {
    let report = report(vec![], vec![ran(TWO_0_15)]);
    let measured = measure("instances = 2\nops = 400", &report).unwrap();
    assert_eq!(number(&measured, "throughput"), 1_362.104_874);
}

#[test]
fn instances_that_took_turns_are_not_counted_as_if_at_the_same_time() {
    let ran = CommandReport { start_ns: 6_688_224_826, end_ns: 7_406_942_970, ..ran(TWO) };
    let report = report(vec![], vec![ran]);
    let parameters = "instances = 2\nops = 200\n";
    let fair = measure(parameters, &report).unwrap();
    assert_eq!(number(&fair, "throughput"), 786.829_349);
    let fifo = measure(&format!("{parameters}policy = \"fifo\""), &report).unwrap();
    assert!((number(&fifo, "throughput") - 278.273).abs() < 0.001);
    assert_eq!(number(&fifo, "real"), 0.718_718_144);
}

#[test]
fn a_run_that_failed_is_refused() {
    let said = refused(|ran| {
        ran.exit = Exit::Code(1);
        ran.stderr = "stress-ng: unrecognized option '--matirx=1'\n".to_owned();
    });
    assert!(said.contains("ended with status 1 and said `stress-ng: unrecognized"), "{said}");
    assert!(refused(|ran| ran.exit = Exit::Signal(9)).contains("by signal 9"));
    assert!(refused(|ran| ran.files.clear()).contains("wrote no result"));
    assert!(measure("", &report(vec![], vec![])).unwrap_err().contains("lacks stress-ng"));
}

#[test]
fn less_work_than_was_asked_for_is_refused() {
    let report = report(vec![], vec![ran(TWO)]);
    let said = measure("ops = 220", &report).unwrap_err();
    assert!(said.contains("200 operations of 220 were done"), "{said}");
    measure("ops = 205", &report).unwrap();
}

#[test]
fn results_that_contradict_themselves_are_refused() {
    for (from, to, said) in [
        ("metrics:", "times:", "it has no metrics"),
        ("- stressor: matrix", "- stressor: cpu", "it has metrics of `cpu`"),
        ("- stressor: matrix", "- stresser: matrix", "it has no metrics of matrix"),
        ("      max-rss: 3568", "    - stressor: cpu", "it has metrics of `cpu`"),
        ("      max-rss: 3568", "    - stressor: matrix", "it has metrics of matrix twice"),
        ("bogo-ops: 782", "bogo-ops: 0", "0 operations in 2.006243 s are not 389.783386/s"),
        ("bogo-ops: 782", "bogo-ops: -1", "bogo-ops is `-1`"),
        ("bogo-ops: 782", "bogo-opz: 782", "it has no bogo-ops"),
        ("bogo-ops: 782", "bogo-ops: 790", "790 operations in 2.006243 s are not 389.783386/s"),
        ("wall-clock-time: 2.006243", "wall-clock-time: nan", "wall-clock-time is `nan`"),
        ("wall-clock-time: 2.006243", "user-time: 1.0", "it has no wall-clock-time"),
        ("      max-rss: 3568", "      user-time: 1.0", "it has several user-time"),
        ("389.783386", "inf", "bogo-ops-per-second-real-time is `inf`"),
    ] {
        assert!(ONE.contains(from), "{from}");
        let error = refused(|ran| *ran = self::ran(&ONE.replacen(from, to, 1)));
        assert!(error.contains(said), "{to}: {error}");
    }
}

#[test]
fn the_job_of_a_seed_never_changes() {
    let job = workload("duration = \"3s\"\nprobes = \"both\"\ncpus = \"0\"").job(inputs(
        7,
        PreemptMode::None,
        2,
    ));
    let commands: Vec<_> = job.probes.iter().map(|command| command.argv.join(" ")).collect();
    assert_eq!(
        commands[2],
        "/usr/bin/stress-ng --matrix=2 --timeout=3s --taskset=0 --seed=7 --temp-path=/tmp \
         --metrics --yaml=/tmp/stress-ng.yaml"
    );
    assert!(commands[0].contains("--policy=fifo --priority=90 --threads=2"), "{}", commands[0]);
    assert!(commands[1].contains("--policy=other --threads=2"), "{}", commands[1]);
    assert!(commands[1].contains("--duration=2 "), "{}", commands[1]);
    assert!(job.probes[0].delay_ns >= 400_000_000 && job.load.is_empty());
    assert_eq!(job.limit_ns, 16_000_000_000);
}

#[test]
fn a_stressor_under_fifo_is_below_init_and_the_probes() {
    let job = workload("policy = \"fifo\"\ninstances = 4\nprobes = \"both\"").job(inputs(
        1,
        PreemptMode::None,
        1,
    ));
    let policies: Vec<_> = job.probes.iter().map(|command| command.policy).collect();
    assert_eq!(policies, [Policy::Fifo(2), Policy::Fifo(2), Policy::Fifo(1)]);
    // Four instances take turns.
    assert_eq!(job.limit_ns, 26_000_000_000);
}

#[test]
fn operations_have_no_timeout() {
    let job = workload("stressor = \"matrix-3d\"\nops = 500\ninstances = 4").job(inputs(
        1,
        PreemptMode::None,
        1,
    ));
    let argv = &job.probes[0].argv;
    assert_eq!(argv[1..4], ["--matrix-3d=4", "--matrix-3d-ops=500", "--timeout=0"]);
}

#[test]
fn the_image_holds_what_is_linked_only() {
    let alone = workload("");
    assert_eq!(alone.packages(Arch::Amd64), ["stress-ng"]);
    assert_eq!(alone.assumed_packages(), ["libegl-mesa0", "mesa-libgallium"]);
    let with_probes = workload("probes = \"fifo\"");
    assert_eq!(with_probes.packages(Arch::Amd64), ["stress-ng", "rt-tests"]);
}

#[test]
fn keys_are_checked() {
    for (parameters, said) in [
        ("stressor = \"--all\"", "a stressor's name"),
        ("stressor = \"\"", "a stressor's name"),
        ("stressor = \"matrix 1 --exec\"", "a stressor's name"),
        ("instances = 0", "a number from 1 to 64"),
        ("ops = 0", "a number from 1 to"),
        ("duration = \"0s\"", "whole number of seconds"),
        ("policy = \"rr\"", "unknown variant `rr`"),
        ("probes = \"all\"", "unknown variant `all`"),
        ("cpus = \"1;reboot\"", "a list of CPUs"),
        ("cpus = \"3-1\"", "a list of CPUs"),
        ("cpus = \"1,\"", "a list of CPUs"),
        ("cpus = \"+1\"", "a list of CPUs"),
        ("fifo_priority = 2", "a number from 3 to 98"),
        ("ops = 1\nduration = \"2s\"", "exclude each other"),
        ("ops = 1\nprobes = \"fifo\"", "need a `duration`"),
        ("duration = \"1s\"\nprobes = \"fifo\"", "2s or more"),
        ("window = \"10ms\"", "a time from 50ms to 3600s in whole milliseconds"),
        (
            "stressors = [\"mmap\"]\nduration = \"2s\"",
            "stressors of a list have a `window`, and no `ops` or `duration`",
        ),
        ("window = \"1s\"\nops = 1", "`window` and `ops` exclude each other"),
        ("window = \"1s\"\nduration = \"2s\"", "`window` and `duration` exclude each other"),
        ("window = \"1s\"\nprobes = \"fifo\"", "`window` and `probes` exclude each other"),
        ("filesystem = \"ext4\"", "say `window`, too"),
        ("window = \"1s\"\nfilesystem = \"ext5\"", "unknown variant `ext5`"),
        ("stressors = []", "`stressors` are 1 to 512 of stress-ng's"),
        ("stressors = \"class:OS\"", "or a class: \"class:os\""),
        ("stressors = \"mmap\"", "or a class: \"class:os\""),
        ("stressors = 3", "or a class: \"class:os\""),
        ("stressors = [\"mmap\", \"mmap\"]", "the stressor `mmap` stands there twice"),
        ("stressors = [\"all 1\"]", "`all 1` is not a stressor's name"),
        ("stressors = [\"mmap\"]\nstressor = \"vm\"", "`stressor` and `stressors` exclude"),
        ("stressors = [\"mmap\"]\nwithout = []", "`without` are 1 to 512"),
        ("stressors = [\"mmap\"]\nwithout = [\"vm\"]", "`without` names `vm`, which is none"),
        ("stressors = [\"mmap\"]\nwithout = [\"mmap\"]", "leaves out every one"),
        ("without = [\"mmap\"]", "and there are none"),
    ] {
        let error = refused_table(parameters);
        assert!(error.contains(said), "{parameters}: {error}");
    }
    for cpus in ["0", "0-3", "1,3-4,7"] {
        workload(&format!("cpus = \"{cpus}\""));
    }
}

#[test]
fn what_is_written_is_read_again() {
    for parameters in
        ["", "ops = 5\ninstances = 3\ncpus = \"1\"", "probes = \"other\"", "window = \"300ms\""]
    {
        let workload = workload(parameters);
        let json = serde_json::to_string(&workload).unwrap();
        assert_eq!(serde_json::from_str::<Workload>(&json).unwrap(), workload);
    }
}

/// Returns the report of a window of `matrix` that ended in this way.
fn window_of(yaml: &str, exit: Exit, stdout: &str) -> Report {
    let ran = CommandReport { exit, stdout: stdout.to_owned(), ..ran(yaml) };
    report(vec![], vec![ran])
}

#[test]
fn a_window_is_ended_by_a_signal_and_has_no_probe() {
    let job =
        workload("stressor = \"mmap\"\nwindow = \"300ms\"").job(inputs(1, PreemptMode::None, 2));
    let [command] = &job.probes[..] else { panic!("{:?}", job.probes) };
    assert!(
        command.argv.join(" ").starts_with(
            "/usr/bin/stress-ng --mmap=2 --mmap-bytes=32M --pathological --timeout=6s --seed=1 "
        ),
        "{:?}",
        command.argv
    );
    let end = command.end.unwrap();
    assert_eq!((end.signal, end.after_ns), (CommandSignal::Alarm, WORKS_AFTER_NS + 300_000_000));
    assert!(job.limit_ns > end.after_ns && job.load.is_empty() && !command.unprivileged);
}

#[test]
fn a_stressor_has_the_file_system_that_it_asks_for() {
    let alone = |keys: &str| workload(&format!("window = \"250ms\"\n{keys}"));
    let folder = |workload: &Workload| {
        let argv = workload.job(inputs(1, PreemptMode::None, 1)).probes[0].argv.clone();
        argv.iter().find_map(|word| word.strip_prefix("--temp-path=").map(str::to_owned)).unwrap()
    };
    let tmpfs = alone("stressor = \"dir\"");
    assert_eq!(tmpfs.packages(Arch::Amd64), ["stress-ng", "busybox-static"]);
    assert_eq!((tmpfs.prepare(Arch::Amd64).len(), folder(&tmpfs).as_str()), (1, "/tmp"));
    assert!(tmpfs.modules().is_empty() && tmpfs.wanted_modules().contains(&"zram"));
    for ext4 in [alone("stressor = \"dir\"\nfilesystem = \"ext4\""), alone("stressor = \"verity\"")]
    {
        assert_eq!(ext4.packages(Arch::Amd64), ["stress-ng", "busybox-static", "e2fsprogs"]);
        assert_eq!(ext4.modules(), ["brd", "ext4"]);
        assert_eq!(ext4.parameters(), ["brd.rd_size=393216"]);
        assert_eq!((ext4.prepare(Arch::Amd64).len(), folder(&ext4).as_str()), (5, "/run/files"));
    }
    let timed = workload("");
    assert!(timed.prepare(Arch::Amd64).is_empty() && timed.wanted_modules().is_empty());
}

#[test]
fn a_list_stands_for_a_workload_of_each() {
    let list =
        workload("stressors = [\"vm\", \"mmap\", \"fork\"]\nwithout = [\"mmap\"]\ninstances = 2");
    let alone = |name: &str| {
        let parameters = format!("stressor = \"{name}\"\nwindow = \"250ms\"\ninstances = 2");
        (name.to_owned(), workload(&parameters))
    };
    assert_eq!(list.listed().unwrap(), [alone("vm"), alone("fork")]);
    assert_eq!(workload("").listed(), None);
    let all = workload("stressors = \"class:os\"").listed().unwrap();
    let left_out: Vec<&str> = all
        .iter()
        .filter(|(_, one)| one.left_out().is_some())
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!((all.len(), left_out), (257, vec!["cpu-online"]));
}

#[test]
fn a_window_without_an_operation_has_the_rate_zero() {
    let none = ONE
        .replace("bogo-ops: 782", "bogo-ops: 0")
        .replace("real-time: 389.783386", "real-time: 0.000000");
    let measured = measure("window = \"300ms\"", &window_of(&none, Exit::Code(0), "")).unwrap();
    let throughput = &measured.numbers[0];
    assert_eq!((throughput.name.to_string().as_str(), throughput.value), ("throughput", 0.0));
    // One operation in the window more would be this rate.
    assert!((throughput.resolution - 1.0 / 2.006_243).abs() < 1e-6);
    assert!(measured.latencies.is_empty());
    assert!(
        measure("", &window_of(&none, Exit::Code(0), "")).unwrap_err().contains("done nothing")
    );
}

#[test]
fn a_stressor_that_does_not_work_says_why() {
    let run = "stress-ng: info:  [9] dispatching hogs: 1 matrix\nstress-ng: info:  [10] matrix: no \u{1b}[2Jdevice, \
               skipping stressor\nstress-ng: info:  [9] skipped: 1: matrix (1)\n";
    let skipped = ONE.replace("- stressor: matrix", "- stressor: cpu");
    let said = |report: &Report| measure("window = \"300ms\"", report).unwrap_err();
    assert_eq!(
        said(&window_of(&skipped, Exit::Code(0), run)),
        "the stressor matrix did not work: matrix: no \\u{1b}[2Jdevice, skipping stressor"
    );
    let mut killed = window_of(&skipped, Exit::Code(3), run);
    killed.activity.oom_kills = 2;
    assert!(said(&killed).ends_with("; the kernel killed 2 tasks for want of memory"));
    let killed_by_a_signal = "stress-ng: info:  [9] skipped: 0\nstress-ng: info:  [9] passed: 1: matrix (1)\n\
                              stress-ng: info:  [9] failed: 0\n\
                              stress-ng: info:  [9] unsuccessful run completed in 0 secs\n";
    let signalled = said(&window_of(&skipped, Exit::Code(2), killed_by_a_signal));
    assert!(signalled.contains("did not work: a signal ended a process of it"), "{signalled}");
    let silent = said(&window_of(&skipped, Exit::Code(2), ""));
    assert!(
        silent.contains("did not work: the probe stress-ng failed, it ended with status 2"),
        "{silent}"
    );
    let mut early = window_of(ONE, Exit::Code(0), "");
    early.probes[0].end_ns = early.probes[0].start_ns + 399_999_999;
    assert!(said(&early).ends_with("did not work: it ended before its window did"));
    early.probes[0].end_ns += 1;
    measure("window = \"300ms\"", &early).unwrap();
    let long = format!("stress-ng: fail:  [9] {}\n", "x".repeat(5_000));
    assert!(said(&window_of(&skipped, Exit::Code(2), &long)).len() < 500);
}

proptest! {
    /// A result with any damage is read or refused, and every number in it is finite.
    #[test]
    fn damaged_results_do_no_harm(from in 0usize..1_800, length in 0usize..60, with in "\\PC{0,12}") {
        for yaml in [ONE, TWO, TWO_0_15] {
            let mut damaged: Vec<char> = yaml.chars().collect();
            let from = from.min(damaged.len());
            let to = (from + length).min(damaged.len());
            damaged.splice(from..to, with.chars());
            let report = report(vec![], vec![ran(&damaged.into_iter().collect::<String>())]);
            if let Ok(measured) = measure("", &report) {
                prop_assert!(measured.metrics().iter().all(|metric| metric.value.is_finite()));
            }
        }
    }
}
