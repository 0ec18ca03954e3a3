//! Deadline tasks as the probe whose wakeups a trace explains.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::common::{Desk, Finished, median};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run(desk: &Desk, arguments: &[&str]) -> Finished {
    Finished::new(desk.lasting_command(arguments).output().unwrap())
}

/// Runs one cell of the workload in a folder with a trace, and returns why its probe was late.
fn explained(desk: &Desk, folder: &Path) -> Value {
    let experiment = format!(
        "format = 1\nname = \"deadline\"\n[factors]\nkernel = [\"debian:6.12\"]\npreempt = [\"none\"]\n\
         [replicates]\ncount = 1\n[machine]\ncost = \"instructions\"\n[workload.deadline]\nkind = \"folder\"\npath = {folder:?}\n"
    );
    desk.write("deadline.toml", &experiment);
    let arguments = ["run", "deadline.toml", "--trace", "--out", "run"];
    let said = run(desk, &arguments);
    said.succeeds().says(&["latency, us", "worst"]);
    assert!(said.stderr.contains("next: preemptlab explain run\n"), "{}", said.stderr);
    assert!(!said.stderr.contains("cyclictest"), "{}", said.stderr);
    run(desk, &["explain", "run"]).succeeds().says(&[", deadline, wakeup ", "At every instant"]);
    let json = run(desk, &["explain", "run", "--format", "json", "--worst", "200"]);
    serde_json::from_str(&json.succeeds().stdout).unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

/// Returns whether a wakeup is accounted for from its due time to user space.
fn is_whole(wakeup: &Value) -> bool {
    let segments = wakeup["segments"].as_array().unwrap();
    let length = |it: &Value| number(&it["end_ns"]) - number(&it["start_ns"]);
    segments.iter().map(length).sum::<u64>() == number(&wakeup["latency_ns"])
}

/// cyclicdeadline tells whole microseconds from the begin of its period to its own clock, which it reads soon
/// after its first instruction; the trace sees the same of the timer of the period.
#[test]
fn cyclicdeadline_has_the_timeline_of_its_worst_wakeup_and_a_bound() {
    let desk = Desk::new();
    let document = explained(&desk, &root().join("examples/cyclicdeadline"));
    assert_eq!(document["probe"], "cyclicdeadline");
    let worst = document["worst"].as_array().unwrap();
    // One in each period of 10 ms, in a second.
    assert!((99..=102).contains(&number(&document["wakeups"])), "{}", document["wakeups"]);
    assert!(worst.iter().all(is_whole));
    let worst_ns = number(&worst[0]["latency_ns"]);
    let bound = &document["bound"];
    assert!(number(&bound["max_ns"]) >= worst_ns, "{bound}");
    assert_eq!(number(&bound["observed_ns"]), worst_ns);

    let compared = run(&desk, &["compare", "run", "--all", "--format", "json"]);
    let comparison: Value = serde_json::from_str(&compared.succeeds().stdout).unwrap();
    let configuration = &comparison["groups"][0]["configurations"][0];
    assert_eq!(median(configuration, "latency.worst") * 1e3, number(&bound["max_ns"]) as f64);
    let own_us = median(configuration, "max");
    assert!((worst_ns as f64 / 1e3 - own_us).abs() < 10.0, "{own_us} us, {worst_ns} ns");
}

/// A program with one thread, whose policy is declared: it waits by a timer of its own and by yielding in turns,
/// behind another probe that no trace follows.
#[test]
fn a_declared_deadline_task_waits_by_timers_and_by_yielding() {
    const DEFINITION: &str = "format = 1\nwindow = \"1s\"\n\
        [[probe]]\nname = \"beside\"\nargv = [\"/workload/beside\", \"1\"]\n\
        [[probe]]\nname = \"servo\"\nargv = [\"/workload/servo\", \"20\"]\n\
        policy = \"deadline:2ms:10ms:10ms\"\nwakeups = true\n\
        [[metric]]\nname = \"took\"\nunit = \"s\"\nbetter = \"lower\"\nfrom = \"servo.real\"\n";
    let desk = Desk::new();
    let folder = desk.path("servo");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("workload.toml"), DEFINITION).unwrap();
    let source = root().join("crates/cli/tests/deadline/servo.c");
    for program in ["servo", "beside"] {
        let built = Command::new("gcc")
            .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-static", "-o"])
            .args([&folder.join(program), &source])
            .status();
        assert!(built.unwrap().success());
    }
    let document = explained(&desk, &folder);
    assert_eq!(document["probe"], "servo");
    assert_eq!(number(&document["wakeups"]), 40);
    assert!(document["worst"].as_array().unwrap().iter().all(is_whole));
    // Nothing else runs, and a wakeup of the idle machine takes some microseconds.
    assert!(number(&document["worst"][0]["latency_ns"]) < 100_000, "{document}");
}
