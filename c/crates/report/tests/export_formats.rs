//! Tests that both formats hold the same values, and that a value that fits no column is refused.

use std::{
    fs::File,
    io::{self, Write},
};

use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::Field,
};
use preemptlab_model::{
    BackendKind, CellId, Digest, Direction, Distribution, Factors, Histogram, MeasuredCell, Metric,
    MetricName, NoResult, PreemptMode, Section, Settings, plain,
};
use preemptlab_report::export::{Export, ExportError, ExportedCell, Format, Probe, Table};
use preemptlab_trace::Curve;
use proptest::prelude::*;

fn cell(metrics: Vec<Metric>) -> MeasuredCell {
    let factors = Factors {
        workload: "processes".to_owned(),
        kernel: "debian:6.12".parse().unwrap(),
        preempt: PreemptMode::None,
        machine: None,
        cpus: 1,
        settings: Settings::default(),
        replicate: 1,
    };
    let cell = MeasuredCell::new(BackendKind::Vm, factors, Ok(metrics));
    MeasuredCell { run: Some("quick".to_owned()), ..cell }
}

fn metric(value: f64) -> Metric {
    let name = MetricName::Throughput;
    Metric {
        name,
        value,
        unit: "messages/s".to_owned(),
        direction: Direction::Higher,
        resolution: 0.0,
    }
}

fn probe(histogram: Histogram) -> Probe {
    Probe { of: Distribution::Probe(preemptlab_model::Probe::Fifo), histogram, unit: "us" }
}

fn exported(cell: MeasuredCell, probes: Vec<Probe>) -> ExportedCell {
    ExportedCell { cell, probes, curve: Curve::default() }
}

fn write(format: Format, cells: &[ExportedCell]) -> Result<[Vec<u8>; 5], ExportError> {
    let mut files = [const { Vec::new() }; 5];
    let mut export = Export::new(format, Table::ALL.into_iter().zip(files.iter_mut()))?;
    for cell in cells {
        export.write(cell)?;
    }
    export.finish()?;
    Ok(files)
}

/// Returns the rows of a CSV file, the header first.
fn csv_rows(file: &[u8]) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(file);
    let rows = reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect());
    rows.collect()
}

fn reader(file: &[u8]) -> SerializedFileReader<File> {
    let mut copy = tempfile::tempfile().unwrap();
    copy.write_all(file).unwrap();
    SerializedFileReader::new(copy).unwrap()
}

/// Returns the rows of a Parquet file, the names of its columns first.
fn parquet_rows(file: &[u8]) -> Vec<Vec<String>> {
    let reader = reader(file);
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let names = schema.columns().iter().map(|column| column.name().to_owned()).collect();
    let rows = reader.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        row.get_column_iter().map(|(_, field)| text(field)).collect()
    });
    [names].into_iter().chain(rows).collect()
}

fn text(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        // CSV is for spreadsheets, too, where some texts are formulas.
        Field::Str(text) => {
            let field = plain::csv(text);
            field[1..field.len() - 1].replace("\"\"", "\"")
        }
        Field::UInt(number) => number.to_string(),
        Field::Long(number) => number.to_string(),
        Field::Double(number) => number.to_string(),
        Field::Bool(flag) => flag.to_string(),
        other => panic!("no column is of this type: {other}"),
    }
}

prop_compose! {
    fn any_cell()(
        (run, workload, cpus, replicate) in (".{1,8}", "\\PC{1,8}", any::<u32>(), any::<u32>()),
        backend in prop::sample::select(vec![BackendKind::Vm, BackendKind::Kvm, BackendKind::Host]),
        mode in prop::sample::select(PreemptMode::ALL.to_vec()),
        observed in prop::option::of(prop::sample::select(PreemptMode::ALL.to_vec())),
        (release, rt, look) in (prop::option::of("[a-z\",\n]{1,9}"), any::<Option<bool>>(), any::<u32>()),
        seed in 0..=i64::MAX.cast_unsigned(),
        hash in prop::option::of(any::<[u8; 32]>().prop_map(Digest::from_bytes)),
        (status, reason) in (0..4u8, "\\PC{1,20}"),
        values in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO, 0..4),
    ) -> MeasuredCell {
        let result = match status {
            0 => Ok(values.into_iter().map(metric).collect()),
            1 => Err(NoResult::Failed(reason)),
            2 => Err(NoResult::Unavailable(reason)),
            _ => Err(NoResult::Missing),
        };
        let kernel = "debian:7.2-rt".parse().unwrap();
        let settings = Settings::default();
        let factors = Factors { workload, kernel, preempt: mode, machine: None, cpus, settings, replicate };
        let id = hash.map(CellId);
        MeasuredCell {
            run: Some(run),
            release,
            rt,
            observed,
            seed,
            look,
            id,
            digest: hash,
            ..MeasuredCell::new(backend, factors, result)
        }
    }
}

prop_compose! {
    fn any_section()(
        kind in prop::sample::select(vec!["preemption", "interrupts", "softirq"]),
        (function, callers) in ("\\PC{1,8}", prop::collection::vec("[a-z_]{1,5}", 0..3)),
        (count, max_ns, total_ns) in any::<(u32, u32, u32)>(),
    ) -> Section {
        let [count, max_ns, total_ns] = [count, max_ns, total_ns].map(u64::from);
        Section { kind, function, callers, count, max_ns, total_ns }
    }
}

prop_compose! {
    fn any_exported()(
        cell in any_cell(),
        counts in prop::collection::vec((0..1_000_000u64, 0..1_000u64), 0..20),
        (overflow, beyond) in (0..3u64, 1_000_000..2_000_000u64),
        (window_ns, later) in (any::<u32>(), prop::collection::vec(any::<(u32, u32)>(), 0..4)),
        sections in prop::option::of(prop::collection::vec(any_section(), 0..4)),
    ) -> ExportedCell {
        let histogram = Histogram::new(counts).with_overflow(overflow, beyond);
        let later = later.into_iter().map(|(ns, instants)| (ns.into(), instants.into())).collect();
        let curve = Curve { window_ns: window_ns.into(), later };
        let cell = MeasuredCell { sections, ..cell };
        ExportedCell { cell, probes: vec![probe(histogram)], curve }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn both_formats_hold_the_same(cases in prop::collection::vec(any_exported(), 0..6)) {
        let csv = write(Format::Csv, &cases).unwrap();
        let parquet = write(Format::Parquet, &cases).unwrap();
        prop_assert_eq!(&write(Format::Parquet, &cases).unwrap(), &parquet);
        for (csv, parquet) in csv.iter().zip(&parquet) {
            prop_assert_eq!(csv_rows(csv), parquet_rows(parquet));
        }
        prop_assert_eq!(csv_rows(&csv[0]).len(), cases.len() + 1);
    }
}

#[test]
fn a_table_of_many_groups_is_whole() {
    let histogram = Histogram::new((0..33_000).map(|value| (value, 1)));
    let cases = vec![exported(cell(vec![]), vec![probe(histogram)]); 2];
    let [_, _, csv, ..] = write(Format::Csv, &cases).unwrap();
    let [_, _, parquet, ..] = write(Format::Parquet, &cases).unwrap();
    assert_eq!(reader(&parquet).metadata().num_row_groups(), 2);
    let rows = csv_rows(&csv);
    assert_eq!(rows.len(), 66_001);
    assert!(rows == parquet_rows(&parquet));
}

#[test]
fn the_overflow_is_a_row_of_its_own_kind() {
    let histogram = Histogram::new([(9, 2), (7, 3)]).with_overflow(4, 250_000);
    let case = exported(cell(vec![]), vec![probe(histogram)]);
    let [_, _, file, ..] = write(Format::Csv, &[case]).unwrap();
    let rows = csv_rows(&file);
    let own: Vec<String> = rows[1..].iter().map(|row| row[14..].join(" ")).collect();
    assert_eq!(
        own,
        [
            "wakeup.fifo bucket 7 us 3",
            "wakeup.fifo bucket 9 us 2",
            "wakeup.fifo overflow 250000 us 4"
        ]
    );
}

#[test]
fn instants_and_sections_are_of_completed_cells() {
    let section = Section {
        kind: "interrupts",
        function: "rmqueue_bulk".to_owned(),
        callers: vec!["alloc".to_owned(), "fault".to_owned()],
        count: 3,
        max_ns: 700,
        total_ns: 900,
    };
    let sections = Some(vec![section]);
    let measured = MeasuredCell { sections: sections.clone(), ..cell(vec![]) };
    let failed =
        MeasuredCell { sections, result: Err(NoResult::Failed("no".to_owned())), ..cell(vec![]) };
    let curve = Curve { window_ns: 1000, later: vec![(100, 1000), (112, 7)] };
    let cells = [
        ExportedCell { cell: measured, probes: vec![], curve },
        ExportedCell { cell: failed, probes: vec![], curve: Curve::default() },
    ];
    let [.., instants, sections] = write(Format::Csv, &cells).unwrap();
    let own = |file: &[u8]| -> Vec<String> {
        csv_rows(file)[1..].iter().map(|row| row[14..].join(";")).collect()
    };
    assert_eq!(own(&instants), ["100;1000;1000", "112;7;1000"]);
    assert_eq!(own(&sections), ["interrupts;rmqueue_bulk;alloc fault;3;700;900"]);
}

#[test]
fn metadata_describes_every_column_and_does_not_change() {
    let [cells, metrics, ..] = write(Format::Parquet, &[]).unwrap();
    let metadata =
        reader(&metrics).metadata().file_metadata().key_value_metadata().unwrap().clone();
    let value = |key: &str| {
        let found = metadata.iter().find(|pair| pair.key == key).unwrap();
        found.value.clone().unwrap()
    };
    assert_eq!(value("preemptlab.format"), "1");
    assert_eq!(value("preemptlab.table"), Table::Metrics.about());
    for column in Table::Metrics.columns() {
        assert!(value(&format!("preemptlab.column.{}", column.name)).starts_with(column.about));
    }
    assert_eq!(write(Format::Parquet, &[]).unwrap()[0], cells);
}

#[test]
fn a_value_that_is_none_is_refused_with_its_place() {
    for format in [Format::Csv, Format::Parquet] {
        for value in [f64::NAN, f64::INFINITY] {
            let case = exported(cell(vec![metric(value)]), vec![]);
            let error = write(format, &[case]).unwrap_err();
            let said = error.to_string();
            assert!(matches!(error, ExportError::Value { table: Table::Metrics, .. }), "{said}");
            assert!(said.contains("debian:6.12 none processes on 1 CPU #1"), "{said}");
        }
        let histogram = Histogram::new([(7, u64::MAX)]);
        let case = exported(cell(vec![]), vec![probe(histogram)]);
        let said = write(format, &[case]).unwrap_err().to_string();
        assert!(said.contains("`count`") && said.contains("18446744073709551615"), "{said}");
    }
}

/// A file on a disk that is full after this number of bytes.
struct Disk(usize);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_called_full() {
    let histogram = Histogram::new((0..40_000).map(|value| (value * 7, value + 1)));
    let cell = exported(cell(vec![]), vec![probe(histogram)]);
    for format in [Format::Csv, Format::Parquet] {
        for room in [0, 3, 5_000] {
            let disk = |table| Disk(if table == Table::Histograms { room } else { 1 << 20 });
            let files = Table::ALL.map(|table| (table, disk(table)));
            let written = Export::new(format, files).and_then(|mut export| {
                export.write(&cell)?;
                export.finish()
            });
            let Err(ExportError::Io { table: Table::Histograms, error }) = written else {
                panic!("{format:?} with {room} bytes: {written:?}");
            };
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    }
}
