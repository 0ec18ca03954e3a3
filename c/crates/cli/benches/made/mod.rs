//! A recording of 10,020 cells with full histograms, made of the committed one.

#![allow(missing_docs, dead_code, reason = "each benchmark uses its own part")]

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use preemptlab_experiment::{Experiment, Manifest, Recording};
use preemptlab_model::{CellRecord, Outcome, PreemptMode};
use preemptlab_recording::Image;
use serde_json::{Value, json};

/// Number of periods of the shorter probe.
const PERIODS: u64 = 1_000;

/// Workloads, modes and replicates: 10,020 cells.
const WORKLOADS: usize = 10;
const MODES: [PreemptMode; 3] = [PreemptMode::None, PreemptMode::Voluntary, PreemptMode::Full];
const REPLICATES: u32 = 334;

/// Recording to be made.
pub struct Made {
    pub manifest: Manifest,
    cell: CellRecord,
}

impl Made {
    pub fn new() -> Self {
        let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
        let check =
            Recording::open(&studies.join("check")).expect("the recording of studies/check");
        let cell =
            check.cells().next().expect("a cell").expect("a sound cell").1.expect("finished");
        Self { manifest: manifest(check.manifest()), cell }
    }

    /// Returns its cells, in the order of the plan.
    pub fn cells(&self) -> impl Iterator<Item = CellRecord> {
        let cells = self.manifest.plan.executable().into_iter().enumerate();
        cells.map(|(number, inputs)| {
            let Outcome::Completed { digest, mut report } = self.cell.outcome.clone() else {
                panic!("the cell is completed")
            };
            report.system.preempt = Some(match inputs.job.preempt.as_str() {
                "none" => "(none) voluntary full".to_owned(),
                "voluntary" => "none (voluntary) full".to_owned(),
                _ => "none voluntary (full)".to_owned(),
            });
            for text in report.probes.iter_mut().flat_map(|probe| probe.files.values_mut()) {
                *text = histogram(text, number as u64);
            }
            let outcome = Outcome::Completed { digest, report };
            CellRecord { inputs: inputs.clone(), id: inputs.id(), outcome, ..self.cell.clone() }
        })
    }
}

/// Executes a command of preemptlab; returns its time and the most memory that it had, in MB.
pub fn measured(arguments: &[&str]) -> (Duration, u64) {
    measured_of(Path::new(env!("CARGO_BIN_EXE_preemptlab")), arguments)
}

/// Executes a program; returns its time and the most memory that it had, in MB.
pub fn measured_of(program: &Path, arguments: &[&str]) -> (Duration, u64) {
    let started = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary");
    let mut memory_kb = 0;
    let status = loop {
        memory_kb = memory_kb.max(resident_max_kb(child.id()));
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(status.success(), "{arguments:?} failed");
    (started.elapsed(), memory_kb / 1000)
}

/// Returns the most memory that a process ever had, which the kernel keeps until it ends.
fn resident_max_kb(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}

fn manifest(check: &Manifest) -> Manifest {
    let modes: Vec<String> = MODES.iter().map(|mode| format!("\"{mode}\"")).collect();
    let names: Vec<String> = (0..WORKLOADS).map(|number| format!("load{number}")).collect();
    let workloads: String = names
        .iter()
        .zip(80..)
        .map(|(name, priority)| {
            // Priorities that differ make cells of their own.
            format!(
                "[workload.{name}]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n\
                 fifo_priority = {priority}\n"
            )
        })
        .collect();
    let text = format!(
        "format = 1\nname = \"large\"\n[factors]\nkernel = [\"{}\"]\npreempt = [{}]\n[replicates]\n\
         count = {REPLICATES}\n{workloads}",
        check.kernels[0].name,
        modes.join(", "),
    );
    let image = |workload: String| Image { workload, ..check.images[0].clone() };
    preemptlab_experiment::manifest(
        Experiment::parse(&text).expect("an experiment"),
        check.kernels.clone(),
        check.qemu.clone().expect("it was made in virtual machines"),
        names.into_iter().map(image).collect(),
    )
}

/// Returns cyclictest's output with a histogram in which nearly every sample has a bucket of its
/// own, below the period of a millisecond.
fn histogram(text: &str, number: u64) -> String {
    let mut output: Value = serde_json::from_str(text).expect("cyclictest's JSON");
    let thread = &mut output["thread"]["0"];
    // No sample is later than a period, so none is missing.
    let samples = thread["cycles"].as_u64().unwrap_or(0).max(PERIODS);
    thread["cycles"] = json!(samples);
    let value = |sample: u64| 5 + (sample * 7919 + number * 104_729) % 983;
    let mut counts = std::collections::BTreeMap::new();
    for sample in 0..samples {
        *counts.entry(value(sample)).or_insert(0_u64) += 1;
    }
    let (least, most) = (counts.keys().next(), counts.keys().next_back());
    thread["min"] = json!(least.expect("there are samples"));
    thread["max"] = json!(most.expect("there are samples"));
    let sum: u64 = counts.iter().map(|(value, count)| value * count).sum();
    thread["avg"] = json!((sum as f64 / samples as f64 * 100.0).round() / 100.0);
    thread["histogram"] =
        counts.iter().map(|(value, count)| (value.to_string(), json!(count))).collect();
    serde_json::to_string_pretty(&output).expect("it is JSON")
}
