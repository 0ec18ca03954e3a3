//! Tests of programs in folders: the example of the documentation on real output, and reports with
//! damage.

use crate::common::{cell, command, named, report};
use preemptlab_model::{Arch, CellInputs, Digest, Distribution, MetricName, VirtualDuration};
use preemptlab_protocol::{Exit, Job, Policy, Report};
use preemptlab_workload::{Definition, Folder, MeasureError, Measurements, Workload};
use proptest::prelude::*;

/// The example of `docs/workload.md`.
const REDIS: &str = include_str!("../../../examples/redis/workload.toml");

/// Output of redis-benchmark in Debian 12; below, in Debian 13.
const REDIS_7_0: &str = include_str!("data/redis-benchmark-7.0.csv");
const REDIS_8_0: &str = include_str!("data/redis-benchmark-8.0.csv");

/// Every kind of source in one workload.
const ALL: &str = r#"format = 1
packages = ["dash"]
without = ["libselinux1"]
window = "1s"
settle = "5ms"
limit = "30s"
cyclictest = "fifo"

[[prepare]]
name = "start"
argv = ["/workload/start"]

[[load]]
name = "noise"
argv = ["/workload/noise", "{cpus}"]
policy = "fifo:7"

[[probe]]
name = "work"
argv = ["/workload/work", "--seed={seed}", "{seconds}s", "{other}"]
unprivileged = true

[[metric]]
name = "cpu"
unit = "s"
better = "lower"
from = "work.user"

[[metric]]
name = "switches"
unit = "switches"
better = "lower"
from = "noise.switches"

[[metric]]
name = "score"
unit = "points"
better = "higher"
from = "work:/tmp/score"

[[metric]]
name = "throughput"
unit = "rows/s"
better = "higher"
from = "work.real"
amount = 1000

[latency]
from = "work.stderr"
pattern = '^took (\S+)$'
unit = "ms"
"#;

fn workload(definition: &str) -> Workload {
    let definition: Definition = toml::from_str(definition).unwrap();
    definition.check().unwrap();
    Workload::Folder(Folder::with_content(Digest::of(b"files"), definition))
}

/// Returns the report of a sound cell, whose probes have written nothing yet.
fn sound(cell: &CellInputs) -> Report {
    let load = cell.job.load.iter().map(|load| command(&load.name, Exit::Stopped));
    let probes = cell.job.probes.iter().map(|probe| command(&probe.name, Exit::Code(0)));
    report(load.collect(), probes.collect())
}

fn measure(definition: &str, say: impl FnOnce(&mut Report)) -> Result<Measurements, MeasureError> {
    let workload = workload(definition);
    let cell = cell(&workload, 1);
    let mut report = sound(&cell);
    say(&mut report);
    named(&workload, workload.measure(&cell, &report))
}

fn redis(stdout: &str) -> Result<Measurements, MeasureError> {
    measure(REDIS, |report| report.probes[0].stdout = stdout.to_owned())
}

/// Measures a sound report of [`ALL`] without its cyclictest, after a change.
fn all(change: impl FnOnce(&mut Report)) -> Result<Measurements, MeasureError> {
    measure(&ALL.replace("\"fifo\"", "\"none\""), |report| {
        (report.load[0].voluntary_switches, report.load[0].involuntary_switches) = (3, 4);
        let work = &mut report.probes[0];
        (work.start_ns, work.end_ns, work.user_ns) = (5_000_000_000, 5_500_000_000, 250_000_000);
        work.files.insert("/tmp/score".to_owned(), " 12.5\n".to_owned());
        work.stderr = "starting\ntook 1.25\ntook 0.0005\ntook 3e1\n".to_owned();
        change(report);
    })
}

fn refused(change: impl FnOnce(&mut Report)) -> String {
    all(change).unwrap_err().to_string()
}

#[test]
fn the_example_reads_what_redis_benchmark_prints() {
    for (csv, expected) in
        [(REDIS_7_0, [4_991.68, 0.943, 17.711]), (REDIS_8_0, [11_267.61, 1.183, 2.815])]
    {
        let numbers = redis(csv).unwrap().numbers;
        let listed = numbers.iter().map(|metric| (metric.name.to_string(), metric.unit.as_str()));
        let names = [("throughput", "requests/s"), ("latency_p50", "ms"), ("latency_p99", "ms")]
            .map(|(name, unit)| (name.to_owned(), unit));
        assert_eq!(listed.take(3).collect::<Vec<_>>(), names);
        let values = numbers.iter().map(|metric| metric.value);
        assert_eq!(values.take(3).collect::<Vec<_>>(), expected);
        assert_eq!(numbers[3].name, "context_switches");
    }
}

#[test]
fn modules_that_a_program_loads_are_named() {
    let with =
        |names: &str| REDIS.replace("packages =", &format!("module_files = {names}\npackages ="));
    assert_eq!(workload(&with("[\"veth\", \"raid6_pq\"]")).module_files(), ["veth", "raid6_pq"]);
    assert!(workload(REDIS).module_files().is_empty());
    for (names, expected) in [
        ("[\"../veth\"]", "`../veth` is not the name of a kernel module"),
        ("[\"\"]", "`` is not the name of a kernel module"),
        (
            "[\"preemptlab_hold\"]",
            "`preemptlab_hold` is built for an experiment, and is in no package of a kernel",
        ),
        (&format!("[{}]", "\"veth\",".repeat(33)), "there are more than 32 modules"),
    ] {
        let definition: Definition = toml::from_str(&with(names)).unwrap();
        assert_eq!(definition.check().unwrap_err().message, expected);
    }
}

#[test]
fn every_source_of_a_number() {
    let Measurements { latencies, numbers } = all(|_| ()).unwrap();
    let listed: Vec<_> = numbers[..4]
        .iter()
        .map(|m| format!("{} {} {}, {}", m.name, m.value, m.unit, m.direction.as_str()))
        .collect();
    assert_eq!(
        listed,
        [
            "throughput 2000 rows/s, higher",
            "cpu 0.25 s, lower",
            "switches 7 switches, lower",
            "score 12.5 points, higher",
        ]
    );
    let [response] = latencies.as_slice() else { panic!() };
    assert_eq!(response.of, Distribution::Response);
    let counts: Vec<_> = response.histogram.counts().collect();
    assert_eq!(counts, [(0, 1), (1250, 1), (30_000, 1)]);
    assert!((response.avg_us - (1250.0 + 0.5 + 30_000.0) / 3.0).abs() < 1e-9);
}

/// The example of docs/workload.md with control groups, on its program's output in a cell.
#[test]
fn a_service_in_a_control_group_is_measured_by_its_response_times() {
    let definition = include_str!("../../../examples/control-groups/workload.toml");
    let measured = measure(definition, |report| {
        report.probes[0].stdout = "requests 4\n".to_owned();
        let times = "2019\n6021\n2019\n2020\n".to_owned();
        report.probes[0].files.insert("/tmp/times".to_owned(), times);
    })
    .unwrap();
    let [latency] = &measured.latencies[..] else { panic!("{measured:?}") };
    assert_eq!(
        (latency.histogram.quantile(50_000), latency.histogram.max()),
        (Some(2019), Some(6021))
    );
    assert!(measured.numbers.iter().any(|it| it.name == "requests" && it.value == 4.0));
}

/// The example of docs/workload.md with a deadline task, on cyclicdeadline's output in a cell.
#[test]
fn a_deadline_task_is_the_probe_that_traces_follow() {
    let definition = include_str!("../../../examples/cyclicdeadline/workload.toml");
    let names = workload(definition).metric_names();
    assert!(names.has_realtime_wakeups() && !names.has_fair_wakeups());
    assert!(!names.contains(&MetricName::FIFO_MAX), "no histogram is made up");
    let measured = measure(definition, |report| {
        report.probes[0].stdout = "Using all CPUS\n\
            T: 0 (  126) I:10000 C:    101 Min:      0 Act:    4 Avg:   11 Max:     392\n"
            .to_owned();
    })
    .unwrap();
    assert_eq!(measured.latencies, []);
    assert!(measured.numbers.iter().any(|it| it.name == "max" && it.value == 392.0));
}

const FOLLOWED: &str = r#"format = 1
[[load]]
name = "noise"
argv = ["/workload/noise"]
[[probe]]
name = "first"
argv = ["/workload/first"]
[[probe]]
name = "second"
argv = ["/workload/second", "{seed}"]
[[probe]]
name = "third"
argv = ["/workload/third"]
[[metric]]
name = "time"
unit = "s"
better = "lower"
from = "first.real"
"#;

fn following(probe: &str) -> String {
    let name = format!("name = \"{probe}\"");
    FOLLOWED.replace(&name, &format!("{name}\nwakeups = true"))
}

/// Traces follow the first probe of a job, and a workload without the key has the job that it always had.
#[test]
fn the_followed_probe_is_the_first_of_the_job_and_nothing_else_changes() {
    let job = |definition: &str| cell(&workload(definition), 1).job;
    let names = |job: &Job| job.probes.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    let plain = job(FOLLOWED);
    assert_eq!(names(&plain), ["first", "second", "third"]);
    assert_eq!(job(&following("first")), plain);
    let mut moved = job(&following("second"));
    assert_eq!(names(&moved), ["second", "first", "third"]);
    moved.probes[..2].reverse();
    assert_eq!(moved, plain);
    assert_eq!(names(&job(&following("third"))), ["third", "first", "second"]);
    // A recording of a workload without the key does not mention it.
    let recorded = serde_json::to_string(&workload(FOLLOWED)).unwrap();
    assert!(!recorded.contains("wakeups"), "{recorded}");
    let followed = workload(&following("second"));
    let recorded = serde_json::to_string(&followed).unwrap();
    assert_eq!(serde_json::from_str::<Workload>(&recorded).unwrap(), followed);
}

#[test]
fn the_job_holds_what_the_definition_says() {
    let workload = workload(ALL);
    assert_eq!(workload.packages(Arch::Amd64), ["dash", "rt-tests"]);
    assert_eq!(workload.assumed_packages(), ["libselinux1", "python3"]);
    assert_eq!(workload.files_sha256(), Some(Digest::of(b"files")));
    let [start] = &workload.prepare(Arch::Amd64)[..] else { panic!() };
    assert_eq!(start.argv, ["/workload/start"]);

    let job = cell(&workload, 1).job;
    assert_eq!(job.limit_ns, 30_000_000_000);
    assert!((5_000_000..9_000_000).contains(&job.load_start.settle_ns));
    let [noise] = &job.load[..] else { panic!() };
    assert_eq!((noise.argv[1].as_str(), noise.policy), ("1", Policy::Fifo(7)));
    let [work, fifo] = &job.probes[..] else { panic!() };
    assert_eq!(work.argv, ["/workload/work", "--seed=1", "1s", "{other}"]);
    assert_eq!((work.files.as_slice(), work.unprivileged), (&["/tmp/score".to_owned()][..], true));
    assert!(work.delay_ns < 4_000_000);
    assert_eq!(fifo.argv[0], "/usr/bin/cyclictest");
    assert!(workload.virtual_time_estimate() > VirtualDuration::from_ms(1_000));
}

#[test]
fn a_folder_that_was_not_read_measures_nothing() {
    let workload: Workload = toml::from_str("kind = \"folder\"\npath = \"mine\"").unwrap();
    assert!(workload.packages(Arch::Amd64).is_empty() && workload.prepare(Arch::Amd64).is_empty());
    let cell = cell(&workload, 1);
    let error = workload.measure(&cell, &sound(&cell)).unwrap_err().to_string();
    assert!(error.contains("the folder was not read"), "{error}");
}

#[test]
fn a_load_that_did_not_last_and_a_probe_that_failed_are_refused() {
    let said = refused(|report| {
        report.load[0].exit = Exit::Code(2);
        report.load[0].stderr = "no such device\n".to_owned();
    });
    assert!(said.contains("the load noise did not last"), "{said}");
    assert!(said.contains("with status 2 and said `no such device`"), "{said}");
    let said = refused(|report| report.probes[0].exit = Exit::Signal(9));
    assert!(said.contains("the probe work failed, it ended by signal 9"), "{said}");
    assert!(refused(|report| report.load.clear()).contains("lacks noise"));
    assert!(refused(|report| report.probes.clear()).contains("lacks work"));
}

#[test]
fn a_number_that_is_not_there_says_what_is() {
    let said = redis("Could not connect to Redis\n").unwrap_err().to_string();
    assert!(said.starts_with("the metric throughput has no value: in clients.stdout, `"), "{said}");
    assert!(said.contains("is not there; it ends with `Could not connect to Redis`"), "{said}");
    let said = redis("").unwrap_err().to_string();
    assert!(said.contains("is not there; it is empty"), "{said}");
    let said = redis(&REDIS_7_0.replace("\"4991.68\"", "\"1.2.3\"")).unwrap_err().to_string();
    assert!(said.contains("`1.2.3` is not a number"), "{said}");
    let said = redis(&REDIS_7_0.repeat(2)).unwrap_err().to_string();
    assert!(said.contains("is there more than once"), "{said}");
    for number in ["nan", "inf", "1e999", "1,000", ""] {
        let said = refused(|report| {
            report.probes[0].files.insert("/tmp/score".to_owned(), number.to_owned());
        });
        assert!(said.contains(&format!("`{number}` is not a number")), "{said}");
    }
    let said = refused(|report| report.probes[0].files.clear());
    assert!(said.contains("in work:/tmp/score, it left no file /tmp/score"), "{said}");
    let said = refused(|report| report.probes[0].end_ns = 0);
    assert!(said.contains("in work.real, no time has passed"), "{said}");
}

#[test]
fn response_times_that_cannot_be_are_refused() {
    for (stderr, said) in [
        ("took 1\ntook long\n", "`long` is not a number"),
        ("took -1\n", "`-1` cannot be a response time"),
        ("took 1e300\n", "`1e300` cannot be a response time"),
    ] {
        let error = refused(|report| report.probes[0].stderr = stderr.to_owned());
        assert!(error.contains(said), "{error}");
        assert!(error.starts_with("the metric response has no value: in work.stderr"), "{error}");
    }
}

#[test]
fn no_response_time_is_a_result() {
    for stderr in ["", "starting\n"] {
        let measured = all(|report| report.probes[0].stderr = stderr.to_owned()).unwrap();
        assert_eq!(measured.latencies[0].histogram.count(), 0);
        let metrics = measured.metrics();
        let of_response =
            metrics.iter().find(|metric| metric.name.to_string().starts_with("response"));
        assert_eq!(of_response, None);
        assert!(metrics.len() > 1, "the other numbers stay");
        assert!(metrics.iter().all(|metric| metric.value.is_finite()));
    }
}

#[test]
fn the_last_digit_that_a_program_prints_is_the_resolution() {
    for (score, resolution) in
        [("15", 1.0), ("15.0", 0.1), ("0.940", 0.001), ("1.5e3", 100.0), ("2E-3", 0.001)]
    {
        let measured = all(|report| {
            report.probes[0].files.insert("/tmp/score".to_owned(), score.to_owned());
        });
        let metrics = measured.unwrap().metrics();
        let told = metrics.iter().map(|metric| metric.resolution);
        assert!(
            told.clone().any(|step| step == resolution),
            "{score}: {:?}",
            told.collect::<Vec<_>>()
        );
    }
}

proptest! {
    /// Any output of a program gives an answer without a panic, and its numbers are finite.
    #[test]
    fn nothing_that_is_said_is_a_panic(
        at in 0usize..300,
        length in 0usize..40,
        insert in "\\PC{0,20}",
        stderr in "(took \\PC{0,9}\n){0,9}",
    ) {
        let mut said: Vec<char> = REDIS_8_0.chars().collect();
        let start = at.min(said.len());
        said.splice(start..(start + length).min(said.len()), insert.chars());
        let said: String = said.into_iter().collect();
        let measured = [redis(&said), all(|report| report.probes[0].stderr = stderr)];
        for measured in measured.into_iter().flatten() {
            prop_assert!(measured.metrics().iter().all(|metric| metric.value.is_finite()));
        }
    }
}
