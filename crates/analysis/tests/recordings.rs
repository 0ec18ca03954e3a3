//! Tests of the analyses of recordings, without a virtual machine.

#[path = "../../cli/tests/common/recorded.rs"]
mod recorded;

use std::{
    fs,
    path::{Path, PathBuf},
};

use preemptlab_analysis::{Compared, Error, Keep, data, form, letter, mixed, tables};
use preemptlab_experiment::{CostSource, Manifest, Recording, RecordingWriter};
use preemptlab_export::Format;
use preemptlab_model::{BackendKind, Digest, MetricName};
use preemptlab_report::{Answers, InWords};
use preemptlab_report_html::PageData;
use preemptlab_stats::{Comparison, Verdict as Word};
use recorded::{Cell, record, record_on};
use tempfile::TempDir;

const TWO_MODES: &str = "preempt = [\"none\", \"full\"]\n[replicates]\ncount = 5\n\
    [workload.load]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";

fn made(name: &str, cell: impl Fn(&str, u32) -> Cell) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    record(&path, TWO_MODES, cell);
    (folder, path)
}

/// Makes cells whose modes are apart; one cell failed and one was not executed.
fn apart(mode: &str, replicate: u32) -> Cell {
    match (mode, replicate) {
        ("none", 1) => Cell::Failed,
        ("none", 2) => Cell::Missing,
        ("none", _) => Cell::Later(replicate.into()),
        _ => Cell::Measured,
    }
}

/// Returns the status of a row's cell.
fn status(row: &serde_json::Value) -> &str {
    row["no_result"]["status"].as_str().unwrap_or("completed")
}

fn page(path: &Path) -> (PageData, Comparison) {
    let paths = [path.to_owned()];
    let (compared, _) = Compared::open(&paths, Keep::Distributions, None, None).unwrap();
    let comparison = compared.comparison().unwrap();
    let said = InWords { headline: "It is so.".into(), points: vec!["A point.".into()] };
    (data(&compared, &comparison, said, "a test").unwrap(), comparison)
}

#[test]
fn a_recording_is_compared_with_the_baseline_that_is_named() {
    let (_folder, path) = made("a", |mode, replicate| match mode {
        "none" => Cell::Later(replicate.into()),
        _ => Cell::Measured,
    });
    let (compared, notices) =
        Compared::open(std::slice::from_ref(&path), Keep::Metrics, None, None).unwrap();
    assert_eq!(notices, []);
    let comparison = compared.comparison().unwrap();
    let [none, full] = &comparison.groups[0].configurations[..] else { panic!() };
    assert_eq!(none.summary(&MetricName::FIFO_P99).unwrap().effect, None);
    let effect = full.summary(&MetricName::FIFO_P99).unwrap().effect.unwrap();
    assert_eq!(effect.verdict, Word::Better);

    let name = full.name().to_string();
    let (compared, _) =
        Compared::open(std::slice::from_ref(&path), Keep::Metrics, Some(&name), None).unwrap();
    assert_eq!(compared.comparison().unwrap().groups[0].baseline, Some(1));
    let (compared, _) =
        Compared::open(&[path], Keep::Metrics, Some("debian:7.2/lazy"), None).unwrap();
    let error = compared.comparison().unwrap_err();
    assert!(matches!(error, Error::Baseline(_)), "{error}");
}

#[test]
fn what_cannot_be_compared_is_refused_and_what_is_odd_is_said() {
    let (folder, path) = made("a", |_, _| Cell::Measured);
    let refused =
        |paths: &[PathBuf]| Compared::open(paths, Keep::Metrics, None, None).err().unwrap();
    let twice = refused(&[path.clone(), path.clone()]);
    assert!(twice.to_string().ends_with("is named twice"), "{twice}");
    let absent = refused(&[folder.path().join("absent")]);
    assert!(matches!(absent, Error::Recording(_)), "{absent}");
    let host = folder.path().join("host");
    record_on(BackendKind::Host, &host, TWO_MODES, |_, _| Cell::Measured);
    let (compared, _) = Compared::open(&[host], Keep::Metrics, None, None).unwrap();
    let disturbances = compared.comparison().unwrap().disturbances;
    assert!(disturbances.iter().any(|said| said.contains("powersave")), "{disturbances:?}");
}

#[test]
fn a_page_has_every_cell_of_the_plan() {
    let (_folder, path) = made("a", apart);
    let (page, comparison) = page(&path);
    let rows = serde_json::to_value(&page).unwrap()["cells"].clone();
    let statuses: Vec<&str> = rows.as_array().unwrap().iter().map(status).collect();
    assert_eq!(statuses.len(), 10);
    for (status, count) in [("completed", 8), ("failed", 1), ("missing", 1)] {
        assert_eq!(statuses.iter().filter(|each| **each == status).count(), count, "{status}");
    }
    let text = letter(&page, &comparison);
    assert!(text.contains("It is so.") && text.contains("- A point."), "{text}");
    assert!(text.contains("2 of 5") || text.contains("1 of 5 failed"), "{text}");
    let filled = |template: &str| {
        let form = form(template.to_owned(), &page, &comparison);
        let comparison = comparison.clone();
        form.fill(move |call| Answers::default().answer(&comparison, call))
    };
    assert_eq!(filled("{{ experiment }}").unwrap(), "made");
    assert!(filled("{{ median('x', 'y', 'z') }}").is_err());
}

#[test]
fn tables_are_written_whole_into_a_new_folder() {
    let (folder, path) = made("a", apart);
    let (recordings, warnings) = mixed::open(&[path]).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let out = folder.path().join("out");
    let written = tables(&recordings, Format::Csv, Some(&out)).unwrap();
    let counts: Vec<_> = written.statuses.into_iter().collect();
    assert_eq!(counts, [("completed", 8), ("failed", 1), ("missing", 1)]);
    let names = ["cells.csv", "metrics.csv", "histograms.csv"].map(|name| out.join(name));
    assert_eq!(written.files, names);
    let cells = fs::read_to_string(&names[0]).unwrap();
    assert_eq!(cells.lines().count(), 11, "{cells}");
    let error = tables(&recordings, Format::Csv, Some(&out)).unwrap_err();
    assert!(error.to_string().contains("is not empty"), "{error}");
}

#[test]
fn other_builds_of_a_kernel_are_another_cause_of_a_difference() {
    let (folder, path) = made("a", |_, _| Cell::Measured);
    let own = Recording::open(&path).unwrap();
    let mut manifest = own.manifest().clone();
    let other = |name: &str, manifest: &Manifest| {
        RecordingWriter::open(&folder.path().join(name), manifest).unwrap();
        Recording::open(&folder.path().join(name)).unwrap()
    };
    manifest.experiment.machine.prices = CostSource::named("amd-epyc");
    assert_eq!(mixed::other_builds(&own, &other("priced", &manifest)), None);
    manifest.kernels[0].image_sha256 = Digest::of(b"another build");
    let said = mixed::other_builds(&own, &other("rebuilt", &manifest)).unwrap();
    assert!(said.contains("have other builds of a kernel or of QEMU"), "{said}");
}
