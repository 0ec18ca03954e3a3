//! Data in which every text is hostile: each configuration is one that a page could stumble over.

use preemptlab_report_html::{
    Better, CellRow, CellStatus, Configuration, FORMAT, Failure, Group, Histogram, ImageUsed,
    KernelUsed, MetricInfo, MetricValues, Package, PageData, QemuUsed, ReplicateValue, Timeline,
    Verdict, Word,
};

/// Ends what it stands in, begins what runs, and is no text that a terminal or a page would like.
pub const TEXT: &str = "</script></style><!--<script><img src=x onerror=alert(1)>\"'&amp;{a|b}${c}\u{0}\u{1b}[31m\u{202e}\u{2028}\\u003c\n\t";

/// As it comes from a guest that writes without an end.
pub fn long() -> String {
    format!("{TEXT}{}", "long-name-".repeat(400))
}

/// A page of them, and of groups that lack what others have.
pub fn data() -> PageData {
    let lists = || vec![Package { name: long(), version: TEXT.to_owned() }; 5];
    PageData {
        format: FORMAT,
        title: TEXT.to_owned(),
        generator: TEXT.to_owned(),
        caption: TEXT.to_owned(),
        margin: 0.05,
        verdict: Verdict { headline: TEXT.to_owned(), points: vec![long(), String::new()] },
        groups: vec![measured(), without_metrics(), without_configurations()],
        kernels: vec![KernelUsed {
            run: Some(TEXT.to_owned()),
            name: TEXT.to_owned(),
            release: long(),
            image_sha256: TEXT.to_owned(),
            packages: lists(),
        }],
        qemu: vec![QemuUsed {
            run: None,
            version: TEXT.to_owned(),
            digest: long(),
            packages: lists(),
        }],
        images: vec![ImageUsed {
            run: None,
            kernels: vec![TEXT.to_owned()],
            workloads: vec![long()],
            sha256: TEXT.to_owned(),
            packages: lists(),
        }],
        command_lines: vec![TEXT.to_owned()],
        cells: (1..4).map(|replicate| cell(0, replicate)).chain([cell(99, 1)]).collect(),
    }
}

/// Three measured configurations, one of them once, and two without measurements.
fn measured() -> Group {
    let names = ["wakeup.fifo.p99", "wakeup.fifo.max", TEXT];
    let latencies = names.map(|name| MetricInfo {
        name: name.to_owned(),
        unit: "us".to_owned(),
        better: Better::Lower,
        headline: true,
    });
    let throughput = MetricInfo {
        name: "throughput".to_owned(),
        unit: TEXT.to_owned(),
        better: Better::Higher,
        headline: true,
    };
    let mut failed = configuration("none", &[]);
    failed.failures = vec![Failure { replicate: 1, reason: long() }];
    let mut unavailable = configuration(TEXT, &[]);
    unavailable.unavailable = Some(TEXT.to_owned());
    Group {
        workload: TEXT.to_owned(),
        cpus: 0,
        replicates: 3,
        baseline: Some(0),
        metrics: latencies.into_iter().chain([throughput]).collect(),
        configurations: vec![
            configuration("full", &[7.0, 7.0, 7.0]),
            configuration("lazy", &[0.0]),
            configuration("toString", &[1.0, 1e300, 9.0]),
            failed,
            unavailable,
        ],
    }
}

fn without_metrics() -> Group {
    Group {
        workload: long(),
        metrics: Vec::new(),
        configurations: vec![configuration("full", &[])],
        ..measured()
    }
}

fn without_configurations() -> Group {
    Group { baseline: Some(7), configurations: Vec::new(), ..measured() }
}

fn configuration(mode: &str, values: &[f64]) -> Configuration {
    let metrics = ["wakeup.fifo.p99", "wakeup.fifo.max", TEXT, "throughput"];
    let metrics = metrics.iter().filter(|_| !values.is_empty()).map(|name| MetricValues {
        name: (*name).to_owned(),
        values: (1..)
            .zip(values)
            .map(|(replicate, &value)| ReplicateValue { replicate, value })
            .collect(),
        median: values[0],
        min: values[0],
        max: values.iter().copied().fold(0.0, f64::max),
        interval: None,
        ratio: Some(0.0),
        ratio_interval: None,
        word: Some(Word::Undecided),
        more: Some(u32::MAX),
        note: Some(long()),
    });
    Configuration {
        run: Some(TEXT.to_owned()),
        kernel: TEXT.to_owned(),
        rt: None,
        mode: mode.to_owned(),
        observed: vec![TEXT.to_owned()],
        replicates: 3,
        unavailable: None,
        failures: Vec::new(),
        missing: 0,
        metrics: metrics.collect(),
        histograms: [(TEXT, vec![(0, 1), (u64::MAX, 2)]), ("fifo", vec![])]
            .map(|(probe, counts)| Histogram {
                probe: probe.to_owned(),
                metric_prefix: "wakeup.fifo".to_owned(),
                unit: TEXT.to_owned(),
                counts,
                overflow: 3,
                overflow_max: None,
            })
            .to_vec(),
        timelines: vec![Timeline {
            caption: TEXT.to_owned(),
            sentence: long(),
            svg: TEXT.to_owned(),
        }],
    }
}

fn cell(group: usize, replicate: u32) -> CellRow {
    CellRow {
        group,
        configuration: 0,
        replicate,
        status: CellStatus::Failed,
        reason: Some(long()),
        id: Some(TEXT.to_owned()),
        digest: None,
        seed: Some(u64::MAX),
        command_line: Some(0),
    }
}
