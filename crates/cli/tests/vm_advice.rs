//! Every advice that `explain` can give is followed: a program makes wakeups late by one cause, `explain` names the
//! cause and the advice, and where the advice is followed the worst wakeup is earlier. A unit test of
//! crates/analysis checks that no advice is without a test here.

use std::{fs, path::Path, process::Command};

use crate::common::{Desk, Finished};
use preemptlab_analysis::explain::Cure;
use serde_json::Value;

/// The worst wakeup with the advice is late by at most this share of the one without, in percent.
const LEFT_MAX: u64 = 75;

/// Configuration in which a program makes wakeups late.
#[derive(Clone, Copy)]
struct Place<'a> {
    kernel: &'a str,
    preempt: &'a str,
    settings: &'a str,
    /// Commands of the program, with their policies: `policy|words`.
    loads: &'a [&'a str],
    /// A thread of the program sleeps itself, and no cyclictest does.
    probe: Option<&'a str>,
    is_fair: bool,
    window: &'a str,
}

const PLACE: Place<'static> = Place {
    kernel: "debian:6.12",
    preempt: "full",
    settings: "",
    loads: &[],
    probe: None,
    is_fair: false,
    window: "1s",
};

/// The worst wakeup of a place.
#[derive(Debug)]
struct Worst {
    latency_ns: u64,
    cure: String,
    /// The cause with the most time.
    cause: String,
    sentence: String,
}

impl Place<'_> {
    /// Returns a `workload.toml` and an experiment that names its folder.
    fn definitions(&self) -> (String, String) {
        let window = self.window;
        let mut workload = format!("format = 1\nwindow = \"{window}\"\nlimit = \"15s\"\n");
        if self.probe.is_none() {
            workload += match self.is_fair {
                true => "cyclictest = \"other\"\n",
                false => "cyclictest = \"fifo\"\n",
            };
        }
        let argv = |words: &str| {
            let words = ["/workload/late"].into_iter().chain(words.split(' '));
            format!("argv = {:?}\n", words.collect::<Vec<_>>())
        };
        for (index, load) in self.loads.iter().enumerate() {
            let (policy, words) = load.split_once('|').unwrap();
            workload += &format!("[[load]]\nname = \"load{index}\"\npolicy = \"{policy}\"\n");
            workload += &argv(words);
        }
        let measured = match self.probe {
            Some(probe) => {
                workload += &format!("[[probe]]\nname = \"nap\"\n{}", argv(probe));
                "nap"
            }
            None => "load0",
        };
        workload += &format!(
            "[[metric]]\nname = \"switches\"\nunit = \"switches\"\nbetter = \"lower\"\n\
             from = \"{measured}.switches\"\n"
        );
        let experiment = format!(
            "format = 1\nname = \"late\"\n[factors]\nkernel = [{:?}]\npreempt = [{:?}]\nsettings = \
             [{:?}]\n[replicates]\ncount = 1\n[machine]\ncost = \"instructions\"\nmodules = [\"preemptlab_scenario\"]\n\
             [workload.late]\nkind = \"folder\"\npath = \"late\"\n",
            self.kernel, self.preempt, self.settings
        );
        (workload, experiment)
    }

    /// Executes the place's cell with a trace and has its worst wakeup explained.
    fn worst(&self) -> Worst {
        let desk = Desk::new();
        let (workload, experiment) = self.definitions();
        fs::create_dir(desk.path("late")).unwrap();
        build(&desk.path("late/late"));
        desk.write("late/workload.toml", &workload);
        desk.write("late.toml", &experiment);
        run(&desk, &["run", "late.toml", "--out", "run", "--trace"]).succeeds();
        let fair: &[&str] = if self.is_fair { &["--fair"] } else { &[] };
        let explained = run(&desk, &[&["explain", "run", "--format", "json"], fair].concat());
        let json: Value = serde_json::from_str(&explained.succeeds().stdout).unwrap();
        let worst = &json["worst"][0];
        let text = |name: &str| worst[name].as_str().unwrap().to_owned();
        Worst {
            latency_ns: worst["latency_ns"].as_u64().unwrap(),
            cure: text("cure"),
            cause: longest_cause(worst),
            sentence: text("sentence"),
        }
    }
}

fn longest_cause(worst: &Value) -> String {
    let mut causes = std::collections::BTreeMap::<&str, u64>::new();
    for segment in worst["segments"].as_array().unwrap() {
        let ns = |name: &str| segment[name].as_u64().unwrap();
        *causes.entry(segment["cause"].as_str().unwrap()).or_default() +=
            ns("end_ns") - ns("start_ns");
    }
    causes.into_iter().max_by_key(|(_, ns)| *ns).unwrap().0.to_owned()
}

fn run(desk: &Desk, arguments: &[&str]) -> Finished {
    Finished::new(desk.lasting_command(arguments).output().unwrap())
}

/// Builds the program that makes wakeups late.
fn build(program: &Path) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let built = Command::new("cc")
        .args(["-static", "-O1", "-pthread", "-Wall", "-I"])
        .arg(folder.join("../../kmod/scenario"))
        .arg(folder.join("tests/advice/late.c"))
        .arg("-o")
        .arg(program)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// Checks that `explain` names the cause and the advice, and that wakeups are earlier where it is followed.
#[track_caller]
fn follow(cure: Cure, cause: &str, before: Place<'_>, after: &[Place<'_>]) {
    let late = before.worst();
    let found = (late.cause.as_str(), late.cure.as_str());
    assert_eq!(found, (cause, cure.as_str()), "{}", late.sentence);
    for place in after {
        let earlier = place.worst();
        let most_ns = late.latency_ns * LEFT_MAX / 100;
        assert!(earlier.latency_ns <= most_ns, "{cure:?}: {late:?}, then {earlier:?}");
    }
}

/// A load that computes for 2 ms of every 15 ms.
const IN_KERNEL: &[&str] = &["other|call busy 2000 15003"];

#[test]
fn full_preemption_switches_in_the_kernel() {
    let none = Place { preempt: "none", loads: IN_KERNEL, ..PLACE };
    let full = Place { preempt: "full", ..none };
    follow(Cure::FullPreemption, "not_preemptible", none, &[full]);
}

#[test]
fn spinlocks_sleep_under_preempt_rt() {
    let generic = Place { loads: &["other|call spin 2000 15003"], ..PLACE };
    let rt = Place { kernel: "debian:6.12-rt", ..generic };
    follow(Cure::RtPreemptOff, "preempt_off", generic, &[rt]);
}

/// One `write()` wakes 200 threads in a section of `spin_lock_irq`.
#[test]
fn spinlocks_leave_interrupts_on_under_preempt_rt() {
    let generic = Place { loads: &["fifo:10|herd 200 4993"], ..PLACE };
    let rt = Place { kernel: "debian:6.12-rt", ..generic };
    follow(Cure::RtIrqsOff, "irqs_off", generic, &[rt]);
}

#[test]
fn softirqs_are_served_in_threads_under_preempt_rt() {
    let generic = Place { loads: &["other|line softirq 2000 15003"], ..PLACE };
    let rt = Place { kernel: "debian:6.12-rt", ..generic };
    follow(Cure::RtSoftirqs, "softirq", generic, &[rt]);
}

/// `threadirqs` does not help here, which the advice says.
#[test]
fn ordinary_timers_expire_in_a_thread_under_preempt_rt() {
    let generic = Place { loads: &["other|timers 200 6993"], ..PLACE };
    let rt = Place { kernel: "debian:6.12-rt", ..generic };
    follow(Cure::RtTimers, "hard_irq", generic, &[rt]);
    let threaded = Place { settings: "threadirqs", ..generic }.worst();
    assert_eq!(threaded.cure, Cure::RtTimers.as_str(), "{threaded:?}");
}

/// With `threadirqs` alone the handler has a thread, which keeps interrupts off.
#[test]
fn interrupts_of_devices_have_threads_under_preempt_rt() {
    let generic = Place { loads: &["other|line hard 2000 15003"], ..PLACE };
    let rt = Place { kernel: "debian:6.12-rt", ..generic };
    follow(Cure::RtInterrupts, "device_irq", generic, &[rt]);
    let threaded = Place { settings: "threadirqs", ..generic }.worst();
    let found = (threaded.cause.as_str(), threaded.cure.as_str());
    assert_eq!(found, ("irqs_off", Cure::RtIrqsOff.as_str()), "{threaded:?}");
}

#[test]
fn a_priority_above_or_below_helps() {
    let above = Place { loads: &["fifo:95|spin as-started 2000 15003"], ..PLACE };
    let equal = Place { loads: &["fifo:90|spin as-started 2000 15003"], ..PLACE };
    let below = Place { loads: &["fifo:89|spin as-started 2000 15003"], ..PLACE };
    follow(Cure::Priority, "more_urgent_task", above, &[below]);
    let late = equal.worst();
    let found = (late.cause.as_str(), late.cure.as_str());
    assert_eq!(found, ("equal_task", Cure::Priority.as_str()), "{late:?}");
}

#[test]
fn a_real_time_policy_waits_for_no_share() {
    let fair = Place { loads: &["other|spin as-started 2000 15003"; 6], is_fair: true, ..PLACE };
    let fifo = Place { is_fair: false, ..fair };
    follow(Cure::RealtimePolicy, "fair_share", fair, &[fifo]);
}

#[test]
fn a_real_time_policy_precedes_less_urgent_ones() {
    let fair = Place { loads: &["fifo:50|spin as-started 2000 15003"], is_fair: true, ..PLACE };
    let fifo = Place { is_fair: false, ..fair };
    follow(Cure::RealtimePriority, "more_urgent_task", fair, &[fifo]);
}

#[test]
fn a_deadline_task_precedes_every_priority() {
    let deadline = Place { loads: &["other|spin deadline 2000 15003"], ..PLACE };
    let fifo = Place { loads: &["fifo:50|spin as-started 2000 15003"], ..PLACE };
    follow(Cure::NoDeadlinePolicy, "deadline_task", deadline, &[fifo]);
}

/// A poller that leaves nothing to the ordinary program beside it for 1.5 s.
const POLLER: &[&str] =
    &["fifo:20|spin as-started 1500000 1700000", "other|spin as-started 1000 0"];

/// The same, which sleeps for a fifth of its time.
const SLEEPER: &[&str] = &["fifo:20|spin as-started 8000 10000", "other|spin as-started 1000 0"];

#[test]
#[ignore = "takes long: a part of make nightly"]
fn the_fair_server_takes_nothing_where_it_is_off_or_nobody_starves() {
    let starving = Place { loads: POLLER, window: "2s", ..PLACE };
    let sleeping = Place { loads: SLEEPER, ..starving };
    // 6.12 compares the runtimes of all servers with a sum that lacks them, and refuses a smaller one.
    let off = Place {
        settings: "sysctl.kernel.sched_rt_runtime_us=-1 sched/fair_server/cpu0/runtime=0",
        ..starving
    };
    let mended =
        Place { kernel: "debian:7.2", settings: "sched/fair_server/cpu0/runtime=0", ..starving };
    follow(Cure::FairServerRuntime, "fair_server", starving, &[sleeping, off, mended]);
}

#[test]
fn rt_throttling_can_be_switched_off() {
    let throttled = Place { kernel: "debian:6.1", loads: POLLER, window: "2s", ..PLACE };
    let off = Place { settings: "sysctl.kernel.sched_rt_runtime_us=-1", ..throttled };
    let sleeping = Place { loads: SLEEPER, ..throttled };
    follow(Cure::RtRuntime, "throttled", throttled, &[off, sleeping]);
}

#[test]
fn a_timer_slack_is_a_delay() {
    let with = |probe| Place { probe: Some(probe), is_fair: true, ..PLACE };
    follow(Cure::TimerSlack, "timer_pending", with("nap 500000"), &[with("nap 1")]);
}
