//! Tests of the reader of cyclictest: real results from a guest beside hackbench (kernel 6.12,
//! without preemption on one CPU, with full preemption on two), and the same with damage.

use crate::common::{self, command, inputs, named};
use preemptlab_model::{CellInputs, PreemptMode};
use preemptlab_protocol::{CommandReport, Exit, Report};
use preemptlab_workload::{MeasureError, Measurements, Workload};

const FIFO: &str = include_str!("data/rt-tests-2.6-fifo.json");
const OTHER: &str = include_str!("data/rt-tests-2.6-other.json");
const FIFO_2_4: &str = include_str!("data/rt-tests-2.4-fifo.json");
const OTHER_2_4: &str = include_str!("data/rt-tests-2.4-other.json");
const FIFO_2_CPUS: &str = include_str!("data/rt-tests-2.6-fifo-2-cpus.json");
const OTHER_2_CPUS: &str = include_str!("data/rt-tests-2.6-other-2-cpus.json");

fn workload() -> Workload {
    Workload::CyclictestHackbench(Default::default())
}

fn cell(cpus: u32) -> CellInputs {
    common::cell(&workload(), cpus)
}

/// Returns the report of a sound cell.
fn report(cell: &CellInputs, fifo: &str, other: &str) -> Report {
    let probes = [fifo, other].into_iter().zip(&cell.job.probes).map(|(json, probe)| {
        let files = [(probe.files[0].clone(), json.to_owned())].into();
        CommandReport { files, ..command(&probe.name, Exit::Code(0)) }
    });
    let hackbench = CommandReport {
        written_bytes: Some((1_000, 8_001_000)),
        ..command("hackbench", Exit::Stopped)
    };
    common::report(vec![hackbench], probes.collect())
}

fn measure(cpus: u32, fifo: &str, other: &str) -> Result<Measurements, MeasureError> {
    let cell = cell(cpus);
    named(&workload(), workload().measure(&cell, &report(&cell, fifo, other)))
}

/// Returns the error of a report with a change.
fn refused(change: impl FnOnce(&mut Report)) -> String {
    let cell = cell(1);
    let mut report = report(&cell, FIFO, OTHER);
    change(&mut report);
    workload().measure(&cell, &report).unwrap_err().to_string()
}

/// Returns the error of a result of the fair probe with a change.
fn refused_result(from: &str, to: &str) -> String {
    assert!(OTHER.contains(from), "{from}");
    let error = measure(1, FIFO, &OTHER.replacen(from, to, 1)).unwrap_err().to_string();
    assert!(error.contains("other"), "{error}");
    error
}

#[test]
fn every_metric_of_a_real_cell() {
    let metrics = measure(1, FIFO, OTHER).unwrap().metrics();
    let listed: Vec<_> = metrics
        .iter()
        .map(|metric| {
            let (name, value) = (&metric.name, metric.value);
            format!("{name} {value:.2} {}, {} is better", metric.unit, metric.direction.as_str())
        })
        .collect();
    assert_eq!(
        listed,
        [
            "wakeup.fifo.min 7.00 us, lower is better",
            "wakeup.fifo.avg 79.10 us, lower is better",
            "wakeup.fifo.p50 59.00 us, lower is better",
            "wakeup.fifo.p99 291.00 us, lower is better",
            "wakeup.fifo.p99.9 307.00 us, lower is better",
            "wakeup.fifo.max 308.00 us, lower is better",
            "wakeup.fifo.omitted 0.00 periods, lower is better",
            "wakeup.other.min 11.00 us, lower is better",
            "wakeup.other.avg 125.91 us, lower is better",
            "wakeup.other.p50 28.00 us, lower is better",
            "wakeup.other.p99 922.00 us, lower is better",
            "wakeup.other.p99.9 1076.00 us, lower is better",
            "wakeup.other.max 1095.00 us, lower is better",
            "wakeup.other.omitted 10.00 periods, lower is better",
            "throughput 40000.00 messages/s, higher is better",
        ]
    );
}

#[test]
fn rt_tests_2_4_writes_the_same() {
    let measurements = measure(1, FIFO_2_4, OTHER_2_4).unwrap();
    let [fifo, other] = measurements.latencies.as_slice() else { panic!() };
    assert_eq!((fifo.histogram.count(), fifo.omitted), (2100, Some(0)));
    assert_eq!((other.histogram.count(), other.omitted), (1901, Some(99)));
}

#[test]
fn cpus_are_merged_and_none_may_be_missing() {
    let measurements = measure(2, FIFO_2_CPUS, OTHER_2_CPUS).unwrap();
    let [fifo, other] = measurements.latencies.as_slice() else { panic!() };
    assert_eq!((fifo.histogram.max(), fifo.omitted), (Some(1522), Some(2)));
    assert_eq!((other.histogram.count(), other.histogram.max()), (1999 + 1963, Some(1058)));
    let error = measure(2, FIFO, OTHER_2_CPUS).unwrap_err().to_string();
    assert!(error.contains("1 threads measured on 2 CPUs"), "{error}");
}

#[test]
fn a_load_that_did_not_last_is_refused() {
    let said = refused(|report| {
        report.load[0].exit = Exit::Code(1);
        report.load[0].stderr = "SENDER: write (error: Broken pipe)\n".to_owned();
    });
    assert!(said.contains("did not last through the window"), "{said}");
    assert!(said.contains("with status 1 and said `SENDER: write (error: Broken pipe)`"), "{said}");
    assert!(refused(|report| report.load.clear()).contains("lacks hackbench"));
}

#[test]
fn an_idle_load_is_refused() {
    for written_bytes in [None, Some((5_000, 5_000))] {
        let said = refused(|report| report.load[0].written_bytes = written_bytes);
        assert!(said.contains("wrote nothing"), "{said}");
    }
}

#[test]
fn a_probe_without_a_result_is_refused() {
    let said = refused(|report| report.probes[0].exit = Exit::Signal(11));
    assert!(said.contains("the probe fifo failed, it ended by signal 11"), "{said}");
    let said = refused(|report| report.probes[1].files.clear());
    assert!(said.contains("the probe other wrote no result"), "{said}");
    let said = refused(|report| drop(report.probes.pop()));
    assert!(said.contains("lacks other"), "{said}");
}

#[test]
fn another_mode_is_refused_and_an_unknown_one_is_not() {
    let said = refused(|report| {
        report.system.preempt = Some("none voluntary (full)".to_owned());
    });
    assert!(said.contains("run in mode none, but the kernel says full"), "{said}");
    let cell = cell(1);
    let mut report = report(&cell, FIFO, OTHER);
    report.system.preempt = None;
    assert!(workload().measure(&cell, &report).is_ok());
}

#[test]
fn results_that_contradict_themselves_are_refused() {
    for (from, to, said) in [
        ("\"cycles\": 1990", "\"cycles\": 1989", "1990 samples in the buckets, 1989 in all"),
        ("\"cycles\": 1990", "\"cycles\": 1991", "1 samples in no bucket"),
        ("\"cycles\": 1990", "\"cycles\": 0", "no sample on CPU 0"),
        ("\"max\": 1095", "\"max\": 1096", "maximum 1096"),
        ("\"min\": 11", "\"min\": 10", "minimum 10"),
        ("\"avg\": 125.91", "\"avg\": 125.89", "average 125.89"),
        ("\"avg\": 125.91", "\"avg\": -nan", "1990 samples have no average"),
        ("\"avg\": 125.91", "\"avg\": inf", "cannot be read"),
        ("\"resolution_in_ns\": 0", "\"resolution_in_ns\": 1", "not the microsecond"),
        ("\"thread\"", "\"threads\"", "cannot be read: missing field `thread`"),
        ("}", "", "cannot be read"),
    ] {
        let error = refused_result(from, to);
        assert!(error.contains(said), "{to}: {error}");
    }
}

/// As cyclictest writes it, on x86-64 and on arm64.
#[test]
fn a_probe_without_samples_is_refused_by_its_cpu() {
    for nan in ["-nan", "nan"] {
        let thread =
            format!("\"cycles\": 0, \"min\": 1000000, \"max\": 0, \"avg\": {nan}, \"cpu\": 0");
        let json = format!(
            "{{\"resolution_in_ns\": 0, \"thread\": {{\"0\": {{\"histogram\": {{}}, {thread}}}}}}}"
        );
        let error = measure(1, FIFO, &json).unwrap_err().to_string();
        assert!(error.contains("the probe other took no sample on CPU 0: its window"), "{error}");
    }
}

#[test]
fn the_samples_must_fill_the_window() {
    let error = measure(1, OTHER, OTHER).unwrap_err().to_string();
    assert!(error.contains("no CPU has 2100 periods, but 1990"), "{error}");
    let error = measure(1, FIFO, FIFO).unwrap_err().to_string();
    assert!(error.contains("2100 periods where 2001 are possible"), "{error}");
    let error = measure(1, &short(FIFO), OTHER).unwrap_err().to_string();
    assert!(error.contains("no CPU has 2100 periods, but 1"), "{error}");
}

fn short(json: &str) -> String {
    let thread = r#"{"histogram": {"9": 1}, "cycles": 1, "min": 9, "max": 9, "avg": 9.00}"#;
    let output: serde_json::Value = serde_json::from_str(json).unwrap();
    let resolution = &output["resolution_in_ns"];
    format!(r#"{{"resolution_in_ns": {resolution}, "thread": {{"0": {thread}}}}}"#)
}

#[test]
fn a_sample_beyond_the_buckets_keeps_its_value() {
    // One sample of 250.3 ms: 250 periods went by without one.
    let thread = r#"{"histogram": {"9": 1750}, "cycles": 1751, "min": 9, "max": 250300,
        "avg": 151.94}"#;
    let json = format!(r#"{{"resolution_in_ns": 0, "thread": {{"0": {thread}}}}}"#);
    let measurements = measure(1, FIFO, &json).unwrap();
    let other = &measurements.latencies[1];
    assert_eq!((other.histogram.overflow(), other.omitted), (1, Some(250)));
    assert_eq!(other.histogram.max(), Some(250_300));
    assert!((other.avg_us - 151.94).abs() < 0.01);
}

#[test]
fn the_job_of_a_seed_never_changes() {
    let job = cell(1).job;
    let commands: Vec<_> = job.load.iter().chain(&job.probes).map(|c| c.argv.join(" ")).collect();
    assert_eq!(
        commands,
        [
            "/usr/bin/hackbench --process --groups=2 --datasize=100 --loops=100000000",
            "/usr/bin/cyclictest --policy=fifo --priority=90 --threads=1 --affinity \
             --interval=1000 --loops=2100 --mlockall --quiet --default-system --histogram=200000 \
             --histfile=/ --json=/tmp/fifo.json",
            "/usr/bin/cyclictest --policy=other --threads=1 --affinity \
             --interval=1000 --duration=2 --mlockall --quiet --default-system --histogram=200000 \
             --histfile=/ --json=/tmp/other.json",
        ]
    );
    let phases = [job.load_start.settle_ns, job.probes[0].delay_ns, job.probes[1].delay_ns];
    assert_eq!(phases, [50_822_465, 2_428_519, 22_890_590]);
    assert_eq!((job.load_start.written_bytes_min, job.limit_ns), (80_000, 14_000_000_000));
}

#[test]
fn seeds_move_every_phase_within_a_tick() {
    let phases = |seed| {
        let job = workload().job(inputs(seed, PreemptMode::Full, 1));
        [
            job.load_start.settle_ns - 50_000_000,
            job.probes[0].delay_ns,
            job.probes[1].delay_ns - 20_000_000,
        ]
    };
    for index in 0..3 {
        let drawn: Vec<_> = (1..=64).map(|seed| phases(seed)[index]).collect();
        assert!(drawn.iter().all(|phase| *phase < 4_000_000));
        assert!(drawn.iter().min() < Some(&400_000) && drawn.iter().max() > Some(&3_600_000));
    }
}
