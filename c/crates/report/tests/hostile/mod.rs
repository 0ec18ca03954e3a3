//! Data in which every text that can be hostile is: each configuration is one that a page could
//! stumble over.

use std::collections::BTreeMap;

use preemptlab_model::{
    BackendKind, Direction, Distribution, Factors, KernelRef, MeasuredCell, Metric, NoResult,
    PreemptMode,
};
use preemptlab_report::page::{
    CellRow, Evidence, Histogram, ImageUsed, Instants, KernelUsed, PageData, QemuUsed, Timeline,
};
use preemptlab_stats::{Comparison, Effect, Rule, Verdict, compare};

/// Text that ends its surroundings, begins a script, and steers terminals and pages.
pub const TEXT: &str = "</script></style><!--<script><img src=x onerror=alert(1)>\"'&amp;{a|b}${c}\u{0}\u{1b}[31m\u{202e}\u{2028}\\u003c\n\t";

/// Returns the text as a guest writes it that does not stop.
pub fn long() -> String {
    format!("{TEXT}{}", "long-name-".repeat(400))
}

/// Returns a page of such texts, and of groups that lack values.
pub fn data() -> PageData {
    PageData {
        comparison: comparison(),
        title: TEXT.to_owned(),
        generator: TEXT.to_owned(),
        caption: TEXT.to_owned(),
        headline: TEXT.to_owned(),
        points: vec![long(), String::new()],
        instants: vec![Instants {
            group: 0,
            svg: "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 3'><title>&lt;/script&gt;</title></svg>".to_owned(),
        }],
        evidence: (0..5).map(evidence).collect(),
        kernels: vec![KernelUsed {
            run: Some(TEXT.to_owned()),
            name: TEXT.to_owned(),
            release: long(),
            image_sha256: TEXT.to_owned(),
            packages: Vec::new(),
        }],
        qemu: vec![QemuUsed {
            run: None,
            version: TEXT.to_owned(),
            digest: long(),
            packages: Vec::new(),
        }],
        images: vec![ImageUsed {
            run: None,
            kernels: vec![TEXT.to_owned()],
            workloads: vec![long()],
            sha256: TEXT.to_owned(),
            packages: Vec::new(),
        }],
        command_lines: vec![TEXT.to_owned()],
        cells: (1..4).map(|replicate| cell(0, replicate)).chain([cell(99, 1)]).collect(),
    }
}

/// Returns three measured configurations, one of them measured once, and two without measurements;
/// then a group without metrics, and one without configurations.
fn comparison() -> Comparison {
    let measured = [
        measured(PreemptMode::Full, &[7.0, 7.0, 7.0]),
        measured(PreemptMode::Lazy, &[0.0]),
        measured(PreemptMode::Voluntary, &[1.0, 1e300, 9.0]),
        vec![without(TEXT, PreemptMode::None, NoResult::Failed(long()))],
        vec![without(TEXT, PreemptMode::None, NoResult::Unavailable(TEXT.to_owned()))],
        vec![without(&long(), PreemptMode::Full, NoResult::Missing)],
    ];
    let mut comparison = compare(&measured.concat(), Rule::default()).unwrap();
    let first = &mut comparison.groups[0];
    let mut bare = first.clone();
    (bare.baseline, bare.configurations) = (Some(7), Vec::new());
    first.cpus = 0;
    for summary in first.configurations.iter_mut().flat_map(|each| &mut each.summaries) {
        let verdict = Verdict::Undecided { more: Some(u32::MAX) };
        summary.effect =
            Some(Effect { ratio: Some(0.0), interval: None, p_adjusted: 1.0, verdict });
    }
    comparison.groups.push(bare);
    comparison
}

fn measured(preempt: PreemptMode, values: &[f64]) -> Vec<MeasuredCell> {
    let metrics = [
        ("wakeup.fifo.p99", "us", Direction::Lower),
        ("wakeup.fifo.max", "us", Direction::Lower),
        (TEXT, "us", Direction::Lower),
        ("throughput", TEXT, Direction::Higher),
    ];
    let cells = (1..).zip(values).map(|(replicate, value)| {
        let metrics = metrics.map(|(name, unit, direction)| Metric {
            name: name.into(),
            value: *value,
            unit: unit.to_owned(),
            direction,
            resolution: 0.0,
        });
        let mut cell = without(TEXT, preempt, NoResult::Missing);
        cell.factors.replicate = replicate;
        cell.result = Ok(metrics.to_vec());
        cell
    });
    cells.collect()
}

fn without(workload: &str, preempt: PreemptMode, why: NoResult) -> MeasuredCell {
    MeasuredCell {
        run: Some(TEXT.to_owned()),
        observed: Some(PreemptMode::None),
        ..MeasuredCell::new(
            BackendKind::Vm,
            Factors {
                workload: workload.to_owned(),
                kernel: KernelRef::File { image: TEXT.replace('\0', "").into(), modules: None },
                preempt,
                machine: None,
                cpus: 2,
                settings: if matches!(why, NoResult::Unavailable(_)) {
                    "a=</script>".parse().unwrap()
                } else {
                    Default::default()
                },
                replicate: 1,
            },
            Err(why),
        )
    }
}

fn evidence(configuration: usize) -> Evidence {
    let histogram = |of: Distribution, counts| Histogram {
        title: of.title().to_owned(),
        of,
        unit: TEXT.to_owned(),
        counts,
        overflow: 3,
        overflow_max: None,
    };
    Evidence {
        group: 0,
        configuration,
        histograms: vec![
            histogram(Distribution::Own(TEXT.to_owned()), vec![(0, 1), (u64::MAX, 2)]),
            histogram(Distribution::Probe(preemptlab_model::Probe::Fifo), vec![]),
        ],
        timelines: vec![Timeline {
            caption: TEXT.to_owned(),
            sentence: long(),
            svg: TEXT.to_owned(),
        }],
        notes: BTreeMap::from([
            ("wakeup.fifo.max".to_owned(), long()),
            ("toString".to_owned(), TEXT.to_owned()),
        ]),
    }
}

fn cell(group: usize, replicate: u32) -> CellRow {
    CellRow {
        group,
        configuration: 0,
        replicate,
        no_result: Some(NoResult::Failed(long())),
        id: Some(TEXT.to_owned()),
        digest: None,
        seed: Some(u64::MAX.to_string()),
        command_line: Some(0),
    }
}
