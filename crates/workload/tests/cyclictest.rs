//! cyclictest alone and beside stress-ng, on real results of both.

use std::collections::BTreeMap;

use crate::common::{self, cell, command, inputs, named, read, report};
use preemptlab_model::{Arch, PreemptMode};
use preemptlab_protocol::{CommandReport, Exit, Report};
use preemptlab_workload::{Measurements, Workload};

const FIFO: &str = include_str!("data/rt-tests-2.6-fifo.json");
const OTHER: &str = include_str!("data/rt-tests-2.6-other.json");
const CPU: &str = include_str!("data/stress-ng-0.19.02-cpu.yaml");
const MIXED: &str = include_str!("data/stress-ng-0.19.02-mixed.yaml");
const MIXED_0_15: &str = include_str!("data/stress-ng-0.15.06-mixed.yaml");

fn workload(parameters: &str) -> Workload {
    read(&format!("kind = \"cyclictest\"\n{parameters}")).unwrap()
}

fn ran(name: &str, file: &str, text: &str) -> CommandReport {
    let files = [(file.to_owned(), text.to_owned())].into();
    CommandReport { files, ..command(name, Exit::Code(0)) }
}

fn probes() -> Vec<CommandReport> {
    vec![ran("fifo", "/tmp/fifo.json", FIFO), ran("other", "/tmp/other.json", OTHER)]
}

fn beside(yaml: &str) -> Report {
    let load = ran("stress-ng", "/tmp/stress-ng.yaml", yaml);
    report(vec![], [load].into_iter().chain(probes()).collect())
}

fn measure(parameters: &str, report: &Report) -> Result<Measurements, String> {
    let workload = workload(parameters);
    let measured = workload.measure(&cell(&workload, 1), report);
    named(&workload, measured).map_err(|error| error.to_string())
}

fn numbers(measurements: &Measurements) -> BTreeMap<String, f64> {
    measurements.numbers.iter().map(|metric| (metric.name.to_string(), metric.value)).collect()
}

#[test]
fn without_a_load_there_is_no_throughput() {
    let measured = measure("", &report(vec![], probes())).unwrap();
    let names: Vec<_> = measured.latencies.iter().map(|latency| latency.of.to_string()).collect();
    assert_eq!(names, ["wakeup.fifo", "wakeup.other"]);
    assert!(!numbers(&measured).contains_key("throughput"));
}

#[test]
fn the_load_on_the_cpu_says_what_it_did() {
    let measured = measure("load = \"cpu\"", &beside(CPU)).unwrap();
    let rate = CPU.split_once("bogo-ops-per-second-real-time: ").unwrap().1;
    let rate: f64 = rate.lines().next().unwrap().parse().unwrap();
    assert_eq!(numbers(&measured)["throughput"], rate);
    assert_eq!(measured.latencies.len(), 2);
}

#[test]
fn operations_of_different_kinds_are_not_added_up() {
    for yaml in [MIXED, MIXED_0_15] {
        let measured = measure("load = \"mixed\"", &beside(yaml)).unwrap();
        let numbers = numbers(&measured);
        assert!(!numbers.contains_key("throughput"));
        for stressor in ["cpu", "fork", "switch", "fault"] {
            assert!(numbers[format!("stressor.{stressor}").as_str()] > 0.0, "{stressor}");
        }
    }
    let said = measure("load = \"mixed\"", &beside(CPU)).unwrap_err();
    assert!(said.contains("it has no metrics of fork"), "{said}");
}

#[test]
fn a_load_that_failed_is_refused() {
    let mut report = beside(CPU);
    report.probes[0].exit = Exit::Code(2);
    let said = measure("load = \"cpu\"", &report).unwrap_err();
    assert!(said.contains("stress-ng failed, it ended with status 2"), "{said}");
    let said = measure("load = \"cpu\"", &common::report(vec![], probes())).unwrap_err();
    assert!(said.contains("lacks stress-ng"), "{said}");
}

#[test]
fn the_load_begins_before_the_probes_and_ends_after_them() {
    let job = workload("load = \"mixed\"").job(inputs(1, PreemptMode::None, 2));
    assert_eq!(
        job.probes[2].argv.join(" "),
        "/usr/bin/stress-ng --cpu=2 --fork=2 --switch=2 --fault=2 --timeout=3s --seed=1 \
         --temp-path=/tmp --metrics --yaml=/tmp/stress-ng.yaml"
    );
    assert!(job.probes[..2].iter().all(|probe| probe.delay_ns >= 400_000_000));
    let alone = workload("probes = \"other\"").job(inputs(1, PreemptMode::None, 1));
    assert_eq!(alone.probes.len(), 1);
    assert_eq!(workload("").packages(Arch::Amd64), ["rt-tests"]);
    assert_eq!(workload("load = \"cpu\"").packages(Arch::Amd64), ["rt-tests", "stress-ng"]);
}

#[test]
fn keys_are_checked() {
    for (parameters, said) in [
        ("load = \"io\"", "unknown variant `io`"),
        ("probes = \"none\"", "nothing to measure"),
        ("window = \"10ms\"", "a time from 50ms to 3600s in whole milliseconds"),
    ] {
        let error = read(&format!("kind = \"cyclictest\"\n{parameters}")).unwrap_err();
        assert!(error.contains(said), "{parameters}: {error}");
    }
}
