//! Histories for tests.

use preemptlab_model::{
    BackendKind, Direction, Factors, MeasuredCell, Metric, MetricName, NoResult, PreemptMode,
    Section,
};
use preemptlab_stats::{History, HistoryCause, HistoryKernel, Margins, history as related};

use crate::gate::testing::NASTY;

fn cells(
    workload: &str,
    modes: &[PreemptMode],
    throughput: f64,
    p99: f64,
    held_ns: u64,
) -> Vec<MeasuredCell> {
    let cell = |preempt: PreemptMode, seed: u64| MeasuredCell {
        sections: Some(vec![Section {
            kind: "preemption",
            function: if workload == "load" { "held" } else { workload }.to_owned(),
            callers: vec![if workload == "load" { "caller" } else { workload }.to_owned()],
            count: 1,
            max_ns: held_ns,
            total_ns: held_ns,
        }]),
        ..MeasuredCell::new(
            BackendKind::Vm,
            Factors {
                workload: workload.to_owned(),
                machine: None,
                cpus: 1,
                preempt,
                settings: Default::default(),
                kernel: "debian:6.12".parse().unwrap(),
                replicate: seed as u32,
            },
            Ok([
                (MetricName::Throughput, throughput, "messages/s", Direction::Higher),
                (MetricName::FIFO_P99, p99, "us", Direction::Lower),
            ]
            .map(|(name, value, unit, direction)| Metric {
                name,
                value: value + (seed % 3) as f64,
                unit: unit.to_owned(),
                direction,
                resolution: 0.0,
            })
            .to_vec()),
        )
    };
    modes.iter().flat_map(|mode| (1..=6).map(|seed| cell(*mode, seed))).collect()
}

fn kernel(series: &str, line: &str) -> HistoryKernel {
    let sentence = "16 us late: the interrupt was served for 14 us.".to_owned();
    let cause = |is_bound| HistoryCause {
        preempt: PreemptMode::Full,
        workload: "load".to_owned(),
        is_bound,
        sentence: sentence.clone(),
    };
    HistoryKernel {
        name: format!("debian:{series}"),
        series: series.to_owned(),
        line: line.to_owned(),
        causes: vec![cause(false), cause(true)],
        ..HistoryKernel::default()
    }
}

/// Returns a history of two lines, in which 6.12 is slower than 6.1, and 6.9 is unavailable.
pub fn history() -> History {
    use PreemptMode::{Full, Lazy, None as No};
    let absent = MeasuredCell {
        result: Err(NoResult::Unavailable("no package".to_owned())),
        ..cells("load", &[Full], 0.0, 0.0, 0)[0].clone()
    };
    let kernels = vec![
        (kernel("6.1", "generic"), cells("load", &[No, Full], 100_000.0, 15.0, 1_000)),
        (kernel("6.9", "generic"), vec![absent]),
        (kernel("6.12", "generic"), cells("load", &[No, Full], 90_000.0, 15.0, 90_000)),
        (kernel("6.12-rt", "-rt"), cells("load", &[Full, Lazy], 50_000.0, 90.0, 0)),
        (kernel("7.2-rt", "-rt"), cells("load", &[Full, Lazy], 50_001.0, 15.0, 0)),
    ];
    let mut kernels = kernels;
    for (kernel, _) in &mut kernels {
        kernel.series = kernel.series.replace("-rt", "");
    }
    let mut history = related(kernels, &Margins::gate());
    history.caption = "Times are virtual.".to_owned();
    history
}

/// Returns a history whose names would be markup, a command or an end in some form.
pub fn hostile() -> History {
    let full = [PreemptMode::Full];
    let mut kernels = vec![
        (kernel(NASTY, NASTY), cells(NASTY, &full, 1000.0, 15.0, 1_000)),
        (kernel(NASTY, NASTY), cells(NASTY, &full, 900.0, 90.0, 90_000)),
    ];
    kernels[1].1[0].result = Err(NoResult::Failed(NASTY.to_owned()));
    for cause in &mut kernels[0].0.causes {
        cause.sentence = NASTY.to_owned();
        cause.workload = NASTY.to_owned();
    }
    let mut history = related(kernels, &Margins::gate());
    history.caption = NASTY.to_owned();
    history
}
