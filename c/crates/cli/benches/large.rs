//! The time and memory of `compare`, `report` and, where `make test-python` has installed it, of the Python
//! package for a recording of 10,000 cells with full histograms, beside the time to read its files.

#![allow(missing_docs, clippy::print_stdout, reason = "a benchmark is a program of its own")]

mod made;

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use made::{Made, measured, measured_of};
use preemptlab_experiment::RecordingWriter;
use serde_json::Value;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = folder.path().join("large");
    let bytes = record(&run);
    let started = Instant::now();
    let read: usize = fs::read_dir(run.join("cells"))
        .expect("the cells")
        .map(|entry| {
            let bytes = fs::read(entry.expect("a cell").path()).expect("a cell");
            let value: Value = serde_json::from_slice(&bytes).expect("JSON");
            drop(value);
            bytes.len()
        })
        .sum();
    assert_eq!(read, bytes);
    let limit = started.elapsed();
    println!(
        "{} cells, {} MB; reading and parsing them on one thread: {:.2} s",
        Made::new().manifest.plan.cells.len(),
        bytes / 1_000_000,
        limit.as_secs_f64()
    );
    let run = run.to_str().expect("a path of text");
    let page = folder.path().join("report.html");
    let page = page.to_str().expect("a path of text");
    let rows = Command::new(env!("CARGO_BIN_EXE_preemptlab")).args(["compare", run]).output();
    let said = String::from_utf8(rows.expect("the binary").stdout).expect("text");
    assert!(!said.contains("failed"), "cells of the recording are not sound:\n{said}");
    measure("compare", &["compare", run, "--format", "json"], limit);
    measure("report", &["compare", run, "-o", page], limit);
    let size = fs::metadata(page).expect("the page").len();
    println!("report.html: {:.1} MB", size as f64 / 1e6);
    let target = Path::new(env!("CARGO_BIN_EXE_preemptlab")).ancestors().nth(2);
    let python = target.expect("the target folder").join("python-tools/bin/python");
    if python.exists() {
        let script = format!(
            "import preemptlab; run = preemptlab.read({run:?}); print(run.cells.height, run.metrics.height)"
        );
        print("python, cells and metrics", measured_of(&python, &["-c", &script]), limit);
    }
}

/// Prints the time and the memory of a command, and its ratio to the limit.
fn measure(name: &str, arguments: &[&str], limit: Duration) {
    print(name, measured(arguments), limit);
}

fn print(name: &str, (wall, memory_mb): (Duration, u64), limit: Duration) {
    println!(
        "{name}: {:.2} s, {:.2} of that; at most {memory_mb} MB",
        wall.as_secs_f64(),
        wall.as_secs_f64() / limit.as_secs_f64(),
    );
}

/// Writes the recording; returns the size of its cells.
fn record(run: &Path) -> usize {
    let made = Made::new();
    let writer = RecordingWriter::open(run, &made.manifest).expect("a recording");
    let mut bytes = 0;
    for record in made.cells() {
        writer.cells().put(&record).expect("room for a cell");
        bytes += fs::metadata(writer.cells().file(record.id)).expect("it").len();
    }
    bytes as usize
}
