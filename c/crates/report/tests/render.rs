//! A comparison of realistic size and troubles, in every form.

use preemptlab_model::{
    BackendKind, Clocks, Direction, Factors, MeasuredCell, Metric, NoResult, PreemptMode, Settings,
};
use preemptlab_report::{Cell, Column, Table, Terminal, Tone, View, csv, json, markdown, terminal};
use preemptlab_stats::{Comparison, Rule, compare};

const TERMINAL: Terminal = Terminal { width: 100, color: false };

/// Medians: FIFO min, avg, p50, p99, p99.9, max, omitted; OTHER likewise; throughput.
type Medians = [f64; 15];

const NONE_6_12: Medians = [
    7.0, 79.1, 59.0, 291.0, 307.0, 308.0, 0.0, 11.0, 125.91, 28.0, 922.0, 1076.0, 1095.0, 10.0,
    37_874.3,
];
const VOLUNTARY_6_12: Medians = [
    7.0, 16.2, 11.0, 118.0, 240.0, 351.0, 0.0, 11.0, 98.4, 24.0, 880.0, 1210.0, 1390.0, 9.0,
    37_860.5,
];
const FULL_6_12: Medians = [
    7.0, 8.48, 9.0, 13.0, 17.0, 32.0, 0.0, 10.0, 35.12, 11.0, 686.0, 1434.0, 1434.0, 11.0, 36_493.0,
];
const LAZY_6_12_RT: Medians = [
    7.0, 8.2, 8.0, 11.0, 13.0, 15.0, 0.0, 12.0, 4120.5, 3105.0, 15_980.0, 20_011.0, 123_456.0,
    1204.0, 27_450.2,
];
const FULL_7_2: Medians =
    [7.0, 8.31, 8.0, 12.0, 40.0, 59.0, 0.0, 10.0, 30.4, 11.0, 401.0, 980.0, 1002.0, 4.0, 34_020.9];
const LAZY_7_2: Medians = [
    7.0, 8.4, 8.0, 13.0, 200.0, 317.0, 0.0, 10.0, 612.0, 15.0, 3890.0, 3999.0, 4003.0, 310.0,
    35_507.1,
];

const STATISTICS: [&str; 7] = ["min", "avg", "p50", "p99", "p99.9", "max", "omitted"];

/// Returns the medians, shifted by a few percent that depend on the replicate.
fn metrics(medians: Medians, replicate: u32) -> Vec<Metric> {
    let names = ["fifo", "other"]
        .into_iter()
        .flat_map(|probe| STATISTICS.map(|statistic| format!("wakeup.{probe}.{statistic}")))
        .chain(["throughput".to_owned()]);
    let shift = [0.0, 0.031, -0.024, 0.012, -0.009, 0.02][replicate as usize % 6];
    names
        .zip(medians)
        .map(|(name, median)| Metric {
            value: match name.as_str() {
                "throughput" => median * (1.0 + shift / 4.0),
                _ if name.ends_with("avg") => (median * (1.0 + shift) * 100.0).round() / 100.0,
                _ => (median * (1.0 + shift)).round(),
            },
            unit: match name.as_str() {
                "throughput" => "messages/s",
                _ if name.ends_with("omitted") => "periods",
                _ => "us",
            }
            .to_owned(),
            direction: match name.as_str() {
                "throughput" => Direction::Higher,
                _ => Direction::Lower,
            },
            name: name.into(),
            resolution: 0.0,
        })
        .collect()
}

struct Level {
    kernel: &'static str,
    preempt: PreemptMode,
    result: Result<Medians, NoResult>,
}

fn level(kernel: &'static str, preempt: PreemptMode, medians: Medians) -> Level {
    Level { kernel, preempt, result: Ok(medians) }
}

fn unavailable(kernel: &'static str, preempt: PreemptMode, reason: &str) -> Level {
    Level { kernel, preempt, result: Err(NoResult::Unavailable(reason.to_owned())) }
}

fn cells(workload: &str, cpus: u32, replicates: u32, levels: &[Level]) -> Vec<MeasuredCell> {
    let of_level = |level: &Level| {
        let factors = |replicate| Factors {
            workload: workload.to_owned(),
            kernel: level.kernel.parse().unwrap(),
            preempt: level.preempt,
            machine: None,
            cpus,
            settings: Settings::default(),
            replicate,
        };
        let cell = |replicate| MeasuredCell {
            clocks: (cpus > 1).then(Clocks::default),
            rt: Some(level.kernel.ends_with("-rt")),
            observed: level.result.is_ok().then_some(level.preempt),
            ..MeasuredCell::new(
                BackendKind::Vm,
                factors(replicate),
                level.result.clone().map(|medians| metrics(medians, replicate)),
            )
        };
        (1..=replicates).map(cell).collect::<Vec<_>>()
    };
    levels.iter().flat_map(of_level).collect()
}

fn quick(replicates: u32) -> Vec<MeasuredCell> {
    use PreemptMode::{Full, Lazy, None, Voluntary};
    let only = "6.12.107+deb13-amd64 offers none, voluntary, full only";
    let rt = "6.12.107+deb13-rt-amd64 offers full, lazy only";
    let new = "7.2.12+deb13-amd64 offers full, lazy only";
    cells(
        "processes",
        1,
        replicates,
        &[
            level("debian:6.12", None, NONE_6_12),
            level("debian:6.12", Voluntary, VOLUNTARY_6_12),
            level("debian:6.12", Full, FULL_6_12),
            unavailable("debian:6.12", Lazy, only),
            unavailable("debian:6.12-rt", None, rt),
            unavailable("debian:6.12-rt", Voluntary, rt),
            level("debian:6.12-rt", Lazy, LAZY_6_12_RT),
            unavailable("debian:7.2", None, new),
            unavailable("debian:7.2", Voluntary, new),
            level("debian:7.2", Full, FULL_7_2),
            level("debian:7.2", Lazy, LAZY_7_2),
        ],
    )
}

fn comparison() -> Comparison {
    let mut cells = quick(6);
    // One replicate of 7.2 lazy failed, and every one of 7.2 full.
    let last = cells.len() - 1;
    cells[last].result = Err(NoResult::Failed(
        "the load hackbench did not last through the window, it ended with status 1 and said \
         `SENDER: write (error: Broken pipe)`"
            .to_owned(),
    ));
    for cell in &mut cells[last - 11..last - 5] {
        cell.result = Err(NoResult::Failed("the guest used up its virtual time".to_owned()));
        cell.observed = None;
    }
    compare(&cells, Rule::default()).unwrap()
}

#[test]
fn overview_for_a_terminal() {
    let text = terminal(&comparison(), View::Overview, TERMINAL);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn overview_of_single_replicates_and_several_cpus() {
    let levels = [
        level("debian:6.12", PreemptMode::None, NONE_6_12),
        level("debian:6.12", PreemptMode::Full, FULL_6_12),
    ];
    let cells = [cells("threads", 1, 1, &levels), cells("threads", 2, 1, &levels)].concat();
    let baseline = "debian:6.12/full".parse().unwrap();
    let comparison =
        compare(&cells, Rule { baseline: Some(&baseline), ..Rule::default() }).unwrap();
    insta::assert_snapshot!(terminal(&comparison, View::Overview, TERMINAL));
}

#[test]
fn colours_mark_what_is_better_and_worse() {
    let levels = [
        level("debian:6.12", PreemptMode::None, NONE_6_12),
        level("debian:6.12", PreemptMode::Full, FULL_6_12),
    ];
    let comparison = compare(&cells("threads", 1, 6, &levels), Rule::default()).unwrap();
    let text = terminal(&comparison, View::Overview, Terminal { color: true, ..TERMINAL });
    insta::assert_snapshot!(text.replace('\u{1b}', "ESC"));
}

#[test]
fn details_for_a_terminal() {
    let text = terminal(&comparison(), View::Details, TERMINAL);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn overview_in_markdown() {
    insta::assert_snapshot!(markdown(&comparison(), View::Overview));
}

#[test]
fn csv_has_a_row_per_configuration_and_metric() {
    let text = csv(&comparison());
    assert_eq!(text.lines().count(), 1 + 5 * 15 + 6);
    let some: Vec<_> = text
        .lines()
        .filter(|line| {
            line.contains(",p99") || line.contains("p99,") || !line.contains(",measured,")
        })
        .collect();
    insta::assert_snapshot!(some.join("\n"));
}

#[test]
fn json_holds_every_number() {
    let comparison = comparison();
    let text = json(&comparison);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (group, of) in comparison.groups.iter().zip(document["groups"].as_array().unwrap()) {
        for (at, configuration) in group.configurations.iter().enumerate() {
            for (metric, summary) in configuration.summaries.iter().enumerate() {
                let of = &of["configurations"][at]["metrics"][metric];
                assert_eq!(of["values"], serde_json::json!(summary.values));
                assert_eq!(of["median"], serde_json::json!(summary.median));
            }
        }
    }
    insta::assert_snapshot!(text.lines().take(60).collect::<Vec<_>>().join("\n"));
}

#[test]
fn nothing_to_compare_is_said_in_every_form() {
    let nothing = compare(&[], Rule::default()).unwrap();
    assert!(terminal(&nothing, View::Overview, TERMINAL).starts_with("Times are virtual"));
    assert_eq!(csv(&nothing).lines().count(), 1);
    let all_unavailable = cells(
        "processes",
        1,
        2,
        &[unavailable("debian:7.2", PreemptMode::None, "7.2 offers full, lazy only")],
    );
    let comparison = compare(&all_unavailable, Rule::default()).unwrap();
    for view in [View::Overview, View::Details] {
        let text = terminal(&comparison, view, TERMINAL);
        assert!(text.contains("unavailable: 7.2 offers full, lazy only"), "{text}");
    }
}

#[test]
fn a_guest_cannot_steer_the_terminal() {
    let mut table = Table::new("", [Column::left("reason")]);
    table.row([Cell::new("\u{1b}[2Jcleared\nand more", Tone::Plain)]);
    let text = table.terminal(TERMINAL);
    assert!(!text.contains('\u{1b}') && text.contains("[2Jcleared and more"), "{text}");
}

#[test]
fn a_wide_table_is_wrapped_to_the_terminal() {
    let mut table = Table::new(
        "Kernels on offer",
        [
            Column::left("kernel"),
            Column::right("HZ"),
            Column::left("modes"),
            Column::left("package"),
        ],
    );
    table.row([
        "debian:6.12-rt",
        "250",
        "full, lazy",
        "linux-image-6.12.107+deb13-rt-amd64 6.12.107-1 and a very long explanation that goes on \
         and on until it is wider than any terminal",
    ]);
    table.row(["debian:7.2", "1,000", "full, lazy", "linux-binary-7.2.12+deb13-amd64"]);
    let text = table.terminal(Terminal { width: 80, color: false });
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}
