//! Cells, and reports around the output of a workload's commands.

// Not every file that uses this module uses all of it.
#![allow(dead_code)]

use preemptlab_model::{CellInputs, PreemptMode};
use preemptlab_protocol::{CommandReport, Exit, FORMAT, Report, Window};
use preemptlab_workload::{JobInputs, Measurements, Workload};

pub fn inputs(seed: u64, preempt: PreemptMode, cpus: u32) -> JobInputs {
    JobInputs { seed, preempt, hz: None, settings: vec![], cpus, skew_ns: None }
}

/// Returns a cell of a workload, in the mode `none` and with the seed 1.
pub fn cell(workload: &Workload, cpus: u32) -> CellInputs {
    let mut cell = preemptlab_testkit::cell(PreemptMode::None);
    cell.snapshot.machine.cpus = cpus;
    cell.job = workload.job(inputs(1, PreemptMode::None, cpus));
    cell
}

/// Returns the report of a command that did nothing.
pub fn command(name: &str, exit: Exit) -> CommandReport {
    CommandReport {
        name: name.to_owned(),
        start_ns: 0,
        end_ns: 0,
        exit,
        written_bytes: None,
        user_ns: 0,
        system_ns: 0,
        voluntary_switches: 0,
        involuntary_switches: 0,
        stdout: String::new(),
        stderr: String::new(),
        files: Default::default(),
    }
}

/// Returns a report in the mode `none`, with a window of 2 s.
pub fn report(load: Vec<CommandReport>, probes: Vec<CommandReport>) -> Report {
    let mut report = Report {
        format: FORMAT,
        system: Default::default(),
        window: Window { start_ns: 5_000_000_000, end_ns: 7_000_000_000 },
        activity: Default::default(),
        kernel_threads_ns: Default::default(),
        load,
        probes,
    };
    report.system.preempt = Some("(none) voluntary full".to_owned());
    report
}

/// Reads the workload of a table in TOML.
///
/// # Errors
///
/// The text of the error, when the table is not a workload.
pub fn read(parameters: &str) -> Result<Workload, String> {
    let table = toml::from_str::<std::collections::BTreeMap<String, Workload>>(&format!(
        "[workload]\n{parameters}\n"
    ));
    table.map_err(|error| error.to_string()).map(|mut table| table.remove("workload").unwrap())
}

/// Checks that the names of the measurements are exactly those that were known before; only kernel
/// threads have others, and a distribution without a sample has none.
#[track_caller]
pub fn named<E>(workload: &Workload, measured: Result<Measurements, E>) -> Result<Measurements, E> {
    let Ok(measured) = measured else { return measured };
    let names = workload.metric_names();
    let metrics = measured.metrics();
    for metric in &metrics {
        assert!(names.contains(&metric.name), "{} was not known", metric.name);
    }
    let empty = measured.latencies.iter().filter(|latency| latency.histogram.count() == 0);
    let empty: Vec<_> = empty.map(|latency| &latency.of).collect();
    let is_empty = |name: &preemptlab_model::MetricName| {
        name.statistic().is_some_and(|(of, _)| empty.contains(&of))
    };
    for name in names.iter().filter(|name| !is_empty(name)) {
        assert!(metrics.iter().any(|metric| metric.name == *name), "{name} was not measured");
    }
    Ok(measured)
}
