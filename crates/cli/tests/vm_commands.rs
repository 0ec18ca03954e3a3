//! A workload's commands start as from a login, and no command keeps its cell from its end.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use crate::common::{Desk, Finished, median};
use crate::inherited;
use preemptlab_experiment::Recording;
use preemptlab_model::{CellRecord, FailureCause, Outcome};
use serde_json::Value;

/// Runs an experiment of these workloads: each a folder with the text of its `workload.toml`, and all
/// with the same program.
fn run(
    desk: &Desk,
    kernels: &str,
    program: impl Fn(&Path),
    workloads: &[(&str, String)],
) -> Vec<(String, CellRecord)> {
    let mut experiment = format!(
        "format = 1\nname = \"commands\"\n[factors]\nkernel = [{kernels}]\npreempt = [\"full\"]\n\
         [replicates]\ncount = 1\n[machine]\ncost = \"instructions\"\n"
    );
    for (name, definition) in workloads {
        let folder = desk.path(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("workload.toml"), format!("format = 1\n{definition}")).unwrap();
        program(&folder.join("program"));
        experiment += &format!("[workload.{name}]\nkind = \"folder\"\npath = \"{name}\"\n");
    }
    desk.write("commands.toml", &experiment);
    let arguments = ["run", "commands.toml", "--out", "recording"];
    let said = Finished::new(desk.lasting_command(&arguments).output().unwrap());
    let recording = Recording::open(&desk.path("recording")).unwrap();
    let cells = recording.cells().map(|cell| {
        let (planned, record) = cell.unwrap();
        let record = record.unwrap_or_else(|| panic!("{}{}", said.stdout, said.stderr));
        (planned.factors.workload.to_string(), record)
    });
    cells.collect()
}

fn differences(record: &CellRecord, probe: usize) -> BTreeMap<String, String> {
    let Outcome::Completed { report, .. } = &record.outcome else { panic!("{:?}", record.outcome) };
    inherited::differences(&report.probes[probe].stdout)
}

#[test]
fn a_command_starts_as_a_login_would_start_it() {
    let desk = Desk::new();
    let definition = "[[probe]]\nname = \"first\"\nargv = [\"/workload/program\"]\n\
         [[probe]]\nname = \"realtime\"\nargv = [\"/workload/program\"]\npolicy = \"fifo:50\"\n\
         [[probe]]\nname = \"deadline\"\nargv = [\"/workload/program\"]\n\
         policy = \"deadline:5ms:10ms:10ms\"\n\
         [[metric]]\nname = \"printed\"\nunit = \"programs\"\nbetter = \"higher\"\n\
         from = \"first.stdout\"\npattern = '^printed (\\d)$'\n";
    let kernels = "\"debian:6.1\", \"debian:6.12\"";
    for (_, record) in
        run(&desk, kernels, inherited::compile, &[("inherited", definition.to_owned())])
    {
        assert_eq!(differences(&record, 0), BTreeMap::new());
        let policy = |number: &str| ("policy".to_owned(), number.to_owned());
        // A real-time task has no timer slack since 6.12, which is the kernel's business.
        let of = |probe| {
            let mut found = differences(&record, probe);
            found.retain(|name, _| !name.starts_with("slack"));
            found
        };
        assert_eq!(of(1), BTreeMap::from([policy("1")]));
        assert_eq!(of(2), BTreeMap::from([policy("1073741830")]));
    }
}

/// cyclictest's main thread is a real-time task, and a task that it forks has no slack since Linux
/// 6.12.
#[test]
fn the_fair_probe_has_the_slack_of_a_login() {
    let desk = Desk::new();
    desk.write(
        "slack.toml",
        "format = 1\nname = \"slack\"\n[factors]\nkernel = [\"debian:6.1\", \"debian:6.12\"]\n\
         preempt = [\"full\"]\ncpus = [1, 2]\n[machine]\ncost = \"instructions\"\n[replicates]\ncount = 1\n\
         [workload.idle]\nkind = \"cyclictest\"\nload = \"none\"\nwindow = \"300ms\"\n",
    );
    let finished =
        |arguments: &[&str]| Finished::new(desk.lasting_command(arguments).output().unwrap());
    finished(&["run", "slack.toml", "--out", "recording"]).succeeds();
    let compared = finished(&["compare", "recording", "--format", "json"]);
    let document: Value = serde_json::from_str(&compared.succeeds().stdout).unwrap();
    let each = |list: &Value| list.as_array().unwrap().clone();
    let configurations: Vec<Value> =
        each(&document["groups"]).iter().flat_map(|group| each(&group["configurations"])).collect();
    assert_eq!(configurations.len(), 4);
    for configuration in configurations {
        let median = |metric: &str| median(&configuration, metric);
        // A fair timer expires early where another timer of its CPU expires within its slack. The periods are multiples
        // of each other, so half of a CPU's fair timers may always do so, but not 99 %.
        let later_us = median("wakeup.other.p99") - median("wakeup.fifo.p50");
        assert!((49.0..60.0).contains(&later_us), "{configuration}");
    }
}

/// Compiles the program that keeps to nothing.
fn compile_unruly(program: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/unruly/unruly.c");
    let built = Command::new("gcc")
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-static", "-o"])
        .args([program, &source])
        .status();
    assert!(built.unwrap().success());
}

const METRIC: &str = "[[metric]]\nname = \"took\"\nunit = \"s\"\nbetter = \"lower\"\n\
                      from = \"probe.real\"\n";

const UNRULY: [&str; 6] = ["fifo", "pinned", "deadline", "forks", "fifo-forks", "signals"];

#[test]
#[ignore = "takes long: a part of make nightly"]
fn no_probe_outlives_the_limit_of_its_cell() {
    let desk = Desk::new();
    let workload = |how: &&'static str| {
        let probe =
            format!("[[probe]]\nname = \"probe\"\nargv = [\"/workload/program\", \"{how}\"]\n");
        (*how, format!("limit = \"1s\"\n{probe}{METRIC}"))
    };
    let workloads: Vec<_> = UNRULY.iter().map(workload).collect();
    for (how, record) in run(&desk, "\"debian:6.1\", \"debian:6.12\"", compile_unruly, &workloads) {
        let Outcome::Failed { cause, reason, .. } = &record.outcome else {
            panic!("{how}: {:?}", record.outcome)
        };
        let is_known = match how.as_str() {
            // The guest's memory may be used up before its time.
            "forks" => {
                matches!(cause, FailureCause::VirtualTimeLimit | FailureCause::OutOfMemory)
            }
            _ => {
                *cause == FailureCause::VirtualTimeLimit
                    && reason.contains("used up its 1000000000")
            }
        };
        assert!(is_known, "{how}: {cause:?}: {reason}");
    }
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn the_window_ends_with_its_probes_whatever_the_load_does() {
    let desk = Desk::new();
    let workload = |how: &&'static str| {
        let command = |kind: &str, name: &str, rest: &str| {
            format!("[[{kind}]]\nname = \"{name}\"\nargv = [\"/workload/program\", {rest}]\n")
        };
        // init starts the probes at 99, and is less urgent while they measure.
        let load = command("load", "load", &format!("\"{how}\", \"98\""));
        let probe = command("probe", "probe", "\"sleep\", \"1\"");
        (*how, format!("limit = \"20s\"\n{load}{probe}{METRIC}"))
    };
    let workloads: Vec<_> = UNRULY.iter().filter(|how| **how != "forks").map(workload).collect();
    for (how, record) in run(&desk, "\"debian:6.12\"", compile_unruly, &workloads) {
        let Outcome::Completed { report, .. } = &record.outcome else {
            panic!("{how}: {:?}", record.outcome)
        };
        let window_ns = report.window.end_ns - report.window.start_ns;
        // The fair server gives ordinary tasks 50 ms of each second.
        assert!((1_000_000_000..4_000_000_000).contains(&window_ns), "{how}: {window_ns}");
    }
}
