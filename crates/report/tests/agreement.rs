//! Where two costs of instructions agree.

use preemptlab_model::{
    BackendKind, CellCost, Direction, Factors, MeasuredCell, Metric, PreemptMode, PricesOf,
    Settings,
};
use preemptlab_report::{Terminal, View, markdown, terminal};
use preemptlab_stats::{Comparison, Rule, compare};

const TERMINAL: Terminal = Terminal { width: 120, color: false };

/// Measures `none` and `full` of each kernel under one price for all and under the prices of a profile.
/// Only of the last kernel they say opposite things.
fn comparison(kernels: &[&str]) -> Comparison {
    let prices = CellCost::Prices {
        of: PricesOf { profile: "mine".parse().unwrap(), has_caches: false, has_stolen: false },
        machine: "a machine".parse().unwrap(),
        checked: None,
    };
    let mut cells = Vec::new();
    for cost in [None, Some(prices)] {
        for kernel in kernels {
            for preempt in [PreemptMode::None, PreemptMode::Full] {
                let is_worse = cost.is_some() && Some(kernel) == kernels.last();
                let us = match preempt {
                    PreemptMode::None => 100.0,
                    _ if is_worse => 150.0,
                    _ => 50.0,
                };
                cells.extend((1..=6).map(|replicate| MeasuredCell {
                    run: Some(if cost.is_some() { "priced" } else { "plain" }.to_owned()),
                    cost: cost.clone(),
                    ..MeasuredCell::new(
                        BackendKind::Vm,
                        Factors {
                            workload: "load".into(),
                            kernel: kernel.parse().unwrap(),
                            preempt,
                            machine: None,
                            cpus: 1,
                            settings: Settings::default(),
                            replicate,
                        },
                        Ok(vec![Metric {
                            name: "wakeup.fifo.p99".into(),
                            value: us + f64::from(replicate),
                            unit: "us".into(),
                            direction: Direction::Lower,
                            resolution: 0.0,
                        }]),
                    )
                }));
            }
        }
    }
    compare(&cells, Rule::default()).unwrap()
}

/// Returns the words of the agreement's rows, titles and notes.
fn agreement(comparison: &Comparison) -> Vec<String> {
    let text = terminal(comparison, View::Overview, TERMINAL);
    let text = text.split("what instructions and mine say").nth(1).unwrap();
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn each_kernel_has_its_own_rows() {
    let comparison = comparison(&["debian:6.12", "debian:7.2"]);
    let lines = agreement(&comparison);
    assert!(lines[0].contains("the ratio to debian:6.12/none, each"), "{lines:#?}");
    let place = |start: &str| {
        let place = lines.iter().position(|line| line.starts_with(start));
        place.unwrap_or_else(|| panic!("{start}: {lines:#?}"))
    };
    let (old, new) = (place("debian:6.12"), place("debian:7.2"));
    assert!(lines[old + 1].starts_with("full wakeup.fifo.p99") && old < new, "{lines:#?}");
    assert!(lines[old + 1].ends_with(" agree"), "{lines:#?}");
    assert!(lines[new + 1].starts_with("none wakeup.fifo.p99"), "{lines:#?}");
    assert!(lines[new + 2].ends_with(" disagree"), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("depends on the cost model")), "{lines:#?}");
    let written = markdown(&comparison, View::Overview);
    assert!(written.matches("debian:7.2").count() >= 3, "{written}");
}

#[test]
fn a_single_kernel_needs_no_name() {
    let lines = agreement(&comparison(&["debian:6.12"]));
    assert!(lines[0].contains("the ratio to none, each"), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("debian:6.12")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("full wakeup.fifo.p99")), "{lines:#?}");
}
