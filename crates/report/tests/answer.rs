//! Answers of comparisons in a person's words.

use preemptlab_model::{
    BackendKind, Direction, Factors, Instants, MeasuredCell, Metric, PreemptMode, Settings,
};
use preemptlab_report::answer;
use preemptlab_stats::{Rule, compare};

/// Cells of a configuration: worst instants and instants at 99.9 % in microseconds, throughput, and the
/// cause of the worst instant.
fn cells(
    workload: &str,
    (kernel, preempt): (&str, PreemptMode),
    (worst_us, p99_9_us, throughput): (f64, f64, f64),
    of: &str,
    replicates: u32,
) -> Vec<MeasuredCell> {
    let metric = |name: &str, value: f64, unit: &str, direction| Metric {
        name: name.into(),
        value,
        unit: unit.to_owned(),
        direction,
        resolution: 0.0,
    };
    let cell = |replicate: u32| {
        let shift = 1.0 + f64::from(replicate % 3) * 0.01;
        MeasuredCell {
            rt: Some(kernel.ends_with("-rt")),
            observed: Some(preempt),
            instants: Some(Instants {
                computed_ns: (worst_us * shift * 1e3) as u64,
                traced_ns: 0,
                worst_ns: (worst_us * shift * 1e3) as u64,
                of: Some(of.to_owned()),
            }),
            ..MeasuredCell::new(
                BackendKind::Vm,
                Factors {
                    workload: workload.to_owned(),
                    kernel: kernel.parse().unwrap(),
                    machine: None,
                    preempt,
                    cpus: 1,
                    settings: Settings::default(),
                    replicate,
                },
                Ok(vec![
                    metric("latency.p99.9", p99_9_us * shift, "us", Direction::Lower),
                    metric("latency.worst", worst_us * shift, "us", Direction::Lower),
                    metric("throughput", throughput * shift, "ops/s", Direction::Higher),
                ]),
            )
        }
    };
    (1..=replicates).map(cell).collect()
}

const NONE: (&str, PreemptMode) = ("debian:6.18", PreemptMode::None);
const FULL: (&str, PreemptMode) = ("debian:6.18", PreemptMode::Full);
const RT: (&str, PreemptMode) = ("debian:6.12-rt", PreemptMode::Full);

fn said(cells: Vec<Vec<MeasuredCell>>) -> Vec<String> {
    answer(&compare(&cells.concat(), Rule::default()).unwrap())
}

#[test]
fn causes_and_costs_of_what_is_decided_are_said() {
    let said = said(vec![
        cells("memory", NONE, (10_800.0, 30.0, 60.0), "kernel not preemptible in munmap", 6),
        cells("memory", FULL, (1_137.0, 9.0, 60.0), "softirq in rcu_core_si", 6),
        cells("memory", RT, (14.1, 1.8, 45.0), "interrupts off in x", 6),
    ]);
    assert_eq!(
        said,
        [
            "Under 6.18 none a real-time task can be 11.0 ms late (kernel not preemptible in munmap).",
            "It can be 1.16 ms under 6.18 full (softirq in rcu_core_si) and 14.4 us under 6.12-rt full \
             (interrupts off in x).",
            "6.18 full has the throughput of 6.18 none; 6.12-rt full has 25 % less.",
            "At 99.9 % of all instants a real-time task is late by at most: 6.18 none 30.3 us; 6.18 full 9.09 us (×0.30); 6.12-rt full 1.82 us (×0.060).",
        ]
    );
}

#[test]
fn configurations_with_one_cause_name_it_once() {
    let of = |kernel, preempt, worst_us, cause| {
        cells("memory", (kernel, preempt), (worst_us, worst_us / 9.0, 60.0), cause, 6)
    };
    let said = said(vec![
        of("debian:6.18", PreemptMode::None, 2_600.0, "not preemptible in close()"),
        of("debian:6.18", PreemptMode::Voluntary, 1_300.0, "not preemptible in munmap()"),
        of("debian:6.18", PreemptMode::Full, 270.0, "preemption off in x"),
        of("debian:7.3", PreemptMode::Full, 160.0, "preemption off in x"),
        of("debian:6.12-rt", PreemptMode::Full, 7.0, "interrupts off in y"),
        of("debian:6.12-rt", PreemptMode::Lazy, 7.0, "interrupts off in y"),
    ]);
    assert_eq!(
        said[1],
        "It can be 1.33 ms under 6.18 voluntary (not preemptible in munmap()); 275 us under 6.18 full and 163 us under \
         7.3 full (all: preemption off in x); 7.14 us under 6.12-rt full and 6.12-rt lazy (all: interrupts off in y)."
    );
}

#[test]
fn the_workload_that_separates_most_comes_first_and_six_sentences_are_enough() {
    let of = |workload: &str, late_us: f64| {
        [
            cells(workload, NONE, (late_us, late_us / 9.0, 60.0), "a", 6),
            cells(workload, FULL, (10.0, 3.0, 50.0), "b", 6),
        ]
        .concat()
    };
    let said = said(vec![of("a", 20.0), of("b", 2_000.0), of("c", 200.0)]);
    assert!(
        said[0].starts_with("b on 1 CPU: under none a real-time task can be 2.04 ms late (a)"),
        "{said:?}"
    );
    assert!(said[3].starts_with("c on 1 CPU"), "{said:?}");
    assert_eq!((said.len(), said[5].as_str()), (6, "The table has the rest."));
}

#[test]
fn a_metric_without_a_sentence_is_not_called_undecided() {
    let renamed = |mut cells: Vec<MeasuredCell>| {
        for cell in &mut cells {
            let metrics = cell.result.as_mut().unwrap();
            metrics.truncate(1);
            metrics[0].name = "took".into();
        }
        cells
    };
    let of = |mode, late_us| renamed(cells("memory", mode, (1.0, late_us, 1.0), "x", 6));
    assert!(said(vec![of(NONE, 100.0), of(FULL, 9.0)]).is_empty());
}

#[test]
fn what_is_not_decided_is_not_said() {
    let alike = |replicates| {
        let value = |mode| cells("memory", mode, (100.0, 9.0, 60.0), "x", replicates);
        said(vec![value(NONE), value(FULL)])
    };
    let one = alike(1);
    assert!(one[0].contains("1 replicate of each, and fewer than 5 decide nothing"), "{one:?}");
    let six = alike(6);
    assert!(six[0].contains("and as late under full"), "{six:?}");
    let alone = said(vec![cells("memory", FULL, (100.0, 9.0, 60.0), "x", 1)]);
    assert_eq!(alone, ["Under full a real-time task can be 101 us late (x)."]);
    assert!(said(Vec::new()).is_empty());
}
