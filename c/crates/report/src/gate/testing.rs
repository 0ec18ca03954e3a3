//! A decision full of hostile names.

use preemptlab_model::{
    BackendKind, Direction, Factors, MeasuredCell, Metric, MetricName, NoResult, PreemptMode,
    Section,
};
use preemptlab_stats::{Gate, GateRule, gate};

/// A name that would be markup, a command or an end in some form.
pub const NASTY: &str =
    "a\u{1b}[2J\0\"'<script>&]]>%0A::error title=x::y,|`*[l](u)@all\n::warning::\u{202e}";

/// Returns a decision on kernels, workloads, functions and failures that are called so.
pub fn hostile() -> Gate {
    let factors = |seed: u64| Factors {
        workload: NASTY.to_owned(),
        machine: None,
        cpus: 1,
        preempt: PreemptMode::Full,
        settings: Default::default(),
        kernel: "debian:6.12".parse().unwrap(),
        replicate: seed as u32,
    };
    let cell = |seed: u64, scale: f64, held_ns: u64| MeasuredCell {
        sections: Some(vec![Section {
            kind: "preemption",
            function: NASTY.to_owned(),
            callers: vec![NASTY.to_owned()],
            count: 1,
            max_ns: 1 + held_ns,
            total_ns: 1 + held_ns,
        }]),
        ..MeasuredCell::new(
            BackendKind::Vm,
            factors(seed),
            Ok([
                ("throughput", scale, "messages/s", Direction::Higher),
                (NASTY, 1.0, NASTY, Direction::Lower),
            ]
            .map(|(name, scale, unit, direction)| Metric {
                name: MetricName::from(name),
                value: scale * (1000.0 + 10.0 * (seed % 3) as f64),
                unit: unit.to_owned(),
                direction,
                resolution: 0.0,
            })
            .to_vec()),
        )
    };
    let base: Vec<MeasuredCell> = (1..=10).map(|seed| cell(seed, 1.0, 0)).collect();
    let mut new: Vec<MeasuredCell> = (1..=10).map(|seed| cell(seed, 0.95, 30_000)).collect();
    new[9].result = Err(NoResult::Failed(NASTY.to_owned()));
    let rule = GateRule {
        metrics: vec![MetricName::Throughput, MetricName::from(NASTY)],
        ..GateRule::default()
    };
    gate([NASTY, NASTY], &base, &new, &rule)
}
