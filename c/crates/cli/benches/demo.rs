//! The time of the demo with downloaded packages and no cached cell, and its decisions in that time.

#![allow(missing_docs, clippy::print_stdout, reason = "a benchmark is a program of its own")]

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use serde_json::Value;

/// Longest time of the demo that we aim at, in seconds.
const AIM_S: f64 = 180.0;

/// Share of the table's comparisons that we aim to decide.
const DECIDED_AIM: f64 = 0.9;

/// CPU time of a decided comparison that we aim at, in seconds.
const DECIDED_AIM_S: f64 = 8.0;

/// Half an interval of the ratio of 99.9 % of all instants that we aim at, as a share of the ratio.
const INTERVAL_AIM: f64 = 0.05;

/// The columns of the demo's table.
const COLUMNS: [&str; 5] =
    ["latency.p99.9", "latency.p99.999", "latency.worst", "wakeup.fifo.max", "throughput"];

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("quick");
    let out = out.to_str().expect("text");
    let quick = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/quick.toml");
    let quick = quick.to_str().expect("text");
    preemptlab(&["run", "-n", quick]);
    let (started, cpu_s) = (Instant::now(), children_s());
    preemptlab(&["run", quick, "--out", out, "--no-cache"]);
    let (wall_s, cpu_s) = (started.elapsed().as_secs_f64(), children_s() - cpu_s);
    let compared = preemptlab(&["compare", out, "--format", "json"]);
    let compared: Value = serde_json::from_slice(&compared).expect("a document");

    let effects = effects(&compared);
    let decided = effects.iter().filter(|(_, effect)| effect["verdict"] != "undecided").count();
    let mut halves: Vec<f64> = effects
        .iter()
        .filter(|(name, _)| *name == "latency.p99.9")
        .map(|(_, it)| half(it))
        .collect();
    halves.sort_by(f64::total_cmp);
    let (share, each_s) = (decided as f64 / effects.len() as f64, cpu_s / decided as f64);
    println!("demo: {wall_s:.0} s, {:.2} of the {AIM_S} s that it may take", wall_s / AIM_S);
    println!(
        "decided: {decided} of {} comparisons, {:.2} of the {DECIDED_AIM} that it should be",
        effects.len(),
        share / DECIDED_AIM
    );
    println!(
        "CPU time: {cpu_s:.0} s, {each_s:.1} s a decided comparison, {:.2} of the {DECIDED_AIM_S} s that it may take",
        each_s / DECIDED_AIM_S
    );
    println!(
        "interval of 99.9 % of all instants: median ±{:.1} %, largest ±{:.1} %, aim ±{:.0} %",
        100.0 * halves[halves.len() / 2],
        100.0 * halves[halves.len() - 1],
        100.0 * INTERVAL_AIM
    );
}

/// Returns the effects of the table's columns, each with its metric's name.
fn effects(compared: &Value) -> Vec<(&str, &Value)> {
    let metrics = list(&compared["groups"])
        .iter()
        .flat_map(|group| list(&group["configurations"]))
        .flat_map(|configuration| list(&configuration["metrics"]));
    metrics
        .filter_map(|metric| Some((metric["name"].as_str()?, &metric["effect"])))
        .filter(|(name, effect)| COLUMNS.contains(name) && effect.is_object())
        .collect()
}

/// Returns half of an effect's interval, as a share of its ratio.
fn half(effect: &Value) -> f64 {
    let number = |value: &Value| value.as_f64().expect("a number");
    let interval = &effect["interval"];
    (number(&interval[1]) - number(&interval[0])) / 2.0 / number(&effect["ratio"])
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Executes a command to its end, and returns its output.
fn preemptlab(arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_preemptlab"));
    let done = command.args(arguments).stderr(Stdio::inherit()).output().expect("the binary");
    assert!(done.status.success(), "{arguments:?} failed");
    done.stdout
}

/// Returns the CPU time of the children that have ended, in seconds (proc_pid_stat(5), fields 16 and 17).
fn children_s() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("proc");
    let (_, after_name) = stat.rsplit_once(')').expect("a name");
    let ticks = |field: usize| -> f64 {
        let word = after_name.split_whitespace().nth(field - 3).expect("a field");
        word.parse().expect("a number")
    };
    // USER_HZ is 100 wherever Linux runs on x86-64.
    (ticks(16) + ticks(17)) / 100.0
}
