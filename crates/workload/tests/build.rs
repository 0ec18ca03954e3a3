//! Tests of the reader of make's output: real output of make 4.3 and 4.4.1, and the same with
//! damage.

use crate::common::{self, named};
use preemptlab_model::CellInputs;
use preemptlab_protocol::{CommandReport, Exit, Report, Window};
use preemptlab_workload::{Build, MeasureError, Measurements, Probes, Workload};
use proptest::prelude::*;

/// Output of a build of three translation units.
const MAKE_4_3: &str = include_str!("data/make-4.3.out");
const MAKE_4_4: &str = include_str!("data/make-4.4.1.out");

/// The third of four does not compile.
const FAILED: (&str, &str) =
    (include_str!("data/make-4.4.1-failed.out"), include_str!("data/make-4.4.1-failed.err"));

fn build() -> Build {
    Build { units: 3, ..Build::default() }
}

fn cell(build: &Build, cpus: u32) -> CellInputs {
    common::cell(&Workload::Build(build.clone()), cpus)
}

fn report(cell: &CellInputs, out: &str) -> Report {
    let window = Window { start_ns: 5_000_000_000, end_ns: 7_500_000_000 };
    let probes = cell.job.probes.iter().map(|probe| CommandReport {
        start_ns: window.start_ns,
        end_ns: window.end_ns,
        user_ns: 2_000_000_000,
        system_ns: 400_000_000,
        voluntary_switches: 20,
        involuntary_switches: 300,
        stdout: out.to_owned(),
        ..common::command(&probe.name, Exit::Code(0))
    });
    let mut report = Report { window, ..common::report(vec![], probes.collect()) };
    report.kernel_threads_ns = [("pgzero".to_owned(), 1_500)].into();
    report.activity.context_switches = 2_000;
    report.activity.forks = 11;
    report
}

fn measure_report(cell: &CellInputs, report: &Report) -> Result<Measurements, MeasureError> {
    let workload = Workload::Build(build());
    named(&workload, workload.measure(cell, report))
}

fn measure(out: &str) -> Result<Measurements, MeasureError> {
    let cell = cell(&build(), 1);
    measure_report(&cell, &report(&cell, out))
}

#[test]
fn a_build_has_its_rate_its_times_and_where_they_went() {
    for out in [MAKE_4_3, MAKE_4_4] {
        let metrics = measure(out).unwrap().metrics();
        let metrics: Vec<_> =
            metrics.iter().map(|m| format!("{} {} {}", m.name, m.value, m.unit)).collect();
        let first =
            ["throughput 1.2 units/s", "real 2.5 s", "user 2 s", "system 0.4 s"].map(str::to_owned);
        assert_eq!(metrics[..4], first);
        for detail in [
            "context_switches 2000 events",
            "interrupts.RES 0 events",
            "kthread.pgzero 0.0015 ms",
            "build.forks 11 events",
            "build.voluntary_switches 20 events",
            "build.involuntary_switches 300 events",
        ] {
            assert!(metrics.iter().any(|metric| metric == detail), "{detail}: {metrics:?}");
        }
    }
}

#[test]
fn make_gets_one_job_more_than_cpus() {
    let jobs = |build: Build, cpus| {
        let cell = cell(&build, cpus);
        cell.job.probes[0].argv.iter().find(|word| word.starts_with("--jobs")).cloned().unwrap()
    };
    assert_eq!(jobs(build(), 2), "--jobs=3");
    assert_eq!(jobs(Build { jobs: Some(8), ..build() }, 2), "--jobs=8");
}

#[test]
fn a_build_that_failed_says_why() {
    let cell = cell(&build(), 1);
    let mut failed = report(&cell, FAILED.0);
    failed.probes[0].exit = Exit::Code(2);
    failed.probes[0].stderr = FAILED.1.to_owned();
    let error = measure_report(&cell, &failed).unwrap_err();
    assert!(matches!(error, MeasureError::ProbeFailed { .. }));
    let error = error.to_string();
    assert!(error.contains("status 2") && error.contains("clock.o] Error 1"), "{error}");
    failed.probes[0].exit = Exit::Signal(9);
    assert!(measure_report(&cell, &failed).unwrap_err().to_string().contains("by signal 9"));
}

#[test]
fn a_build_of_fewer_units_is_none() {
    for out in ["", "make: Nothing to be done for 'all'.\n", &MAKE_4_4[..300]] {
        let error = measure(out).unwrap_err().to_string();
        assert!(error.contains("of 3 translation units"), "{error}");
    }
    let again = format!("{MAKE_4_4}{MAKE_4_4}");
    assert!(measure(&again).unwrap_err().to_string().contains("compiled 6 of 3"));
}

#[test]
fn what_the_report_lacks_is_named() {
    let cell = cell(&build(), 1);
    let mut report = report(&cell, MAKE_4_4);
    report.probes[0].end_ns = report.probes[0].start_ns;
    assert!(measure_report(&cell, &report).unwrap_err().to_string().contains("no time"));
    report.probes.clear();
    let error = measure_report(&cell, &report).unwrap_err();
    assert!(matches!(error, MeasureError::Missing { .. }), "{error}");
}

/// Latencies after the end of a build do not count as latencies beside it.
#[test]
fn the_probes_must_end_first() {
    let build = Build { probes: Probes::Fifo, ..build() };
    let cell = cell(&build, 1);
    let mut report = report(&cell, MAKE_4_4);
    let workload = Workload::Build(build);
    let error = workload.measure(&cell, &report).unwrap_err().to_string();
    assert!(error.contains("the probe fifo wrote no result"), "{error}");
    report.probes[1].end_ns += 1;
    let error = workload.measure(&cell, &report).unwrap_err().to_string();
    assert!(error.contains("before the probe fifo did"), "{error}");
}

proptest! {
    /// Any output is read or refused without a panic, and only output of three units is read.
    #[test]
    fn any_output_is_read_or_refused(
        cut in 0..MAKE_4_4.len(),
        put in "\\PC{0,20}",
        new_lines in any::<bool>(),
    ) {
        let mut out = MAKE_4_4.to_owned();
        out.insert_str(cut, &put);
        if new_lines {
            out = out.replace(' ', "\n");
        }
        if let Ok(measurements) = measure(&out) {
            prop_assert_eq!(out.matches("x86_64-linux-gnu-gcc-14 ").count() >= 3, true);
            prop_assert!(measurements.metrics().iter().all(|metric| metric.value.is_finite()));
        }
    }
}
