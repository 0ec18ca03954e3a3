//! Real results of oslat 2.6, which Debian 13 has, in guests of one CPU and of two; and the same with each kind of
//! damage.

use crate::common::{cell, command, inputs, named, read, report};
use preemptlab_model::{Distribution, PreemptMode, Probe};
use preemptlab_protocol::{CommandReport, Exit, Report};
use preemptlab_workload::{Measurements, Workload};
use proptest::prelude::*;

const ONE: &str = include_str!("data/oslat-2.6-1-cpu.out");
const TWO: &str = include_str!("data/oslat-2.6-2-cpus.out");
const OLD: &str = include_str!("data/oslat-2.4.out");

fn workload(parameters: &str) -> Workload {
    read(&format!("kind = \"oslat\"\n{parameters}")).unwrap()
}

fn oslat(stdout: &str) -> CommandReport {
    let (start_ns, end_ns) = (4_785_069_148, 6_788_514_133);
    let stdout = stdout.to_owned();
    CommandReport { start_ns, end_ns, stdout, ..command("oslat", Exit::Code(0)) }
}

fn measure_in(cpus: u32, probe: CommandReport) -> Result<Measurements, String> {
    let (workload, report): (_, Report) = (workload(""), report(vec![], vec![probe]));
    let measured = workload.measure(&cell(&workload, cpus), &report);
    named(&workload, measured).map_err(|error| error.to_string())
}

fn measure(cpus: u32, stdout: &str) -> Result<Measurements, String> {
    measure_in(cpus, oslat(stdout))
}

fn value(measured: &Measurements, name: &str) -> f64 {
    measured.metrics().into_iter().find(|metric| metric.name == *name).unwrap().value
}

#[test]
fn rounds_are_those_of_all_cpus_rounded_down() {
    // The tick interrupts each CPU 250 times a second.
    for (cpus, stdout, max, interruptions) in [(1, ONE, 9.0, 250.0), (2, TWO, 5.0, 501.0)] {
        let measured = measure(cpus, stdout).unwrap();
        let [latency] = &measured.latencies[..] else { panic!("{measured:?}") };
        assert_eq!(latency.of, Distribution::Probe(Probe::Oslat));
        assert_eq!(value(&measured, "interruption.max"), max);
        assert_eq!(value(&measured, "interruption.p50"), 0.0);
        assert!(value(&measured, "interruption.avg") < 0.001);
        assert_eq!(value(&measured, "interruptions"), interruptions);
    }
    // oslat 2.4 ran for two seconds here, and beside other tasks: of those in no bucket the longest is known.
    let measured = measure(2, OLD).unwrap();
    assert_eq!(value(&measured, "interruption.max"), 84_029.0);
    assert_eq!(measured.latencies[0].histogram.overflow(), 505);
}

#[test]
fn the_job_is_one_command_for_a_window_of_whole_seconds() {
    let job = workload("window = \"3s\"").job(inputs(1, PreemptMode::None, 2));
    let [probe] = &job.probes[..] else { panic!("{job:?}") };
    assert_eq!(probe.argv[..2], ["/usr/bin/oslat", "--duration=3"]);
    assert!(job.load.is_empty());
    for (parameters, said) in [
        ("window = \"250ms\"", "not a whole number of seconds"),
        ("window = \"0s\"", "not a whole number of seconds"),
        ("bucket = 1", "unknown field `bucket`"),
    ] {
        let error = read(&format!("kind = \"oslat\"\n{parameters}")).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn damage_is_named() {
    for (from, to, said) in [
        ("Maximum", "Maxim", "ends before its summary"),
        ("(including overflows)", "", "ends before its summary"),
        ("36715337", "-36715337", "no whole number"),
        ("36715337", "99999999999999999", "is too large"),
        ("36715337", "9999999999", "CPU 0: 10000000249 rounds in 1 s"),
        ("Maximum:\t 5 6", "Maximum:\t 3 6", "do not have the minimum"),
        ("Core:\t 0 1", "Core:\t 0 2", "2 threads measured on 2 CPUs"),
        ("Core:\t 0 1", "Core:\t 0 1 2", "other columns than the 3 cores"),
        ("245 243", "245", "columns after rows of"),
        ("36715337", "\u{1b}[2J", "`\\u{1b}[2J`"),
    ] {
        assert!(TWO.contains(from), "{from:?}");
        let error = measure(2, &TWO.replace(from, to)).unwrap_err();
        assert!(error.contains(said), "{from:?}: {error}");
        assert!(!error.contains('\u{1b}'));
    }
    assert!(measure(1, TWO).unwrap_err().contains("2 threads measured on 1 CPUs"));
    assert!(measure(2, ONE).unwrap_err().contains("1 threads measured on 2 CPUs"));
    assert!(measure(1, &format!("{ONE}{ONE}")).unwrap_err().contains("another histogram begins"));
    assert!(measure(1, "").unwrap_err().contains("wrote no result"));
    let other = include_str!("data/cyclictest-overflow.hist");
    assert!(measure(2, other).unwrap_err().contains("cyclictest wrote it"));
    let failed = CommandReport { exit: Exit::Code(1), ..oslat(ONE) };
    assert!(measure_in(1, failed).unwrap_err().contains("it ended with status 1"));
    let short = CommandReport { end_ns: 6_000_000_000, ..oslat(ONE) };
    assert!(measure_in(1, short).unwrap_err().contains("it ended 1214 ms after its start"));
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(start in 0..400_usize, text in "[0-9 \\t\\n().:a-zA-Z]{0,60}") {
        let end = TWO.char_indices().map(|(at, _)| at).find(|at| *at >= start).unwrap_or(TWO.len());
        let _ = measure(2, &format!("{}{text}{}", &TWO[..end], &TWO[end..]));
        let _ = measure(2, &TWO[..end]);
    }
}
