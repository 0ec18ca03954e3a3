//! Explaining one cell changes no table: its trace is kept apart.

use std::fs;

use crate::common::{Desk, tree};
use preemptlab_model::CellRecord;
use preemptlab_testkit::traced;
use preemptlab_trace::testing::layout;

/// Verbs that read a recording and print a table of it.
const READINGS: [&[&str]; 7] = [
    &["compare", "run"],
    &["compare", "run", "--all"],
    &["compare", "run", "--format", "json"],
    &["recommend", "run", "--require", "wakeup.max<=10ms"],
    &["recommend", "run", "--format", "brief"],
    &["export", "run", "--out", "tables"],
    &["compare", "run", "--out", "page.html"],
];

/// Returns everything that the readings print and write.
fn outputs(desk: &Desk) -> Vec<(String, Vec<u8>)> {
    let mut outputs: Vec<(String, Vec<u8>)> = Vec::new();
    for arguments in READINGS {
        let finished = desk.run(arguments);
        finished.succeeds();
        outputs.push((arguments.join(" "), finished.stdout.into_bytes()));
    }
    let page = desk.path("page.html");
    outputs.push(("page".to_owned(), fs::read(&page).unwrap()));
    fs::remove_file(page).unwrap();
    for (name, bytes) in tree(&desk.path("tables")) {
        outputs.push((name.display().to_string(), bytes));
    }
    fs::remove_dir_all(desk.path("tables")).unwrap();
    outputs
}

#[test]
fn an_explained_cell_changes_no_reading() {
    let desk = Desk::new();
    let recording = traced::untraced(&desk.path("run"), |_| {});
    let before = outputs(&desk);
    assert!(before.iter().any(|(name, bytes)| name == "compare run" && !bytes.is_empty()));

    // As `explain` leaves it.
    // The reports are of a kernel in full: only these cells can be measured.
    let cells: Vec<CellRecord> = recording
        .cells()
        .filter_map(|cell| cell.unwrap().1)
        .filter(|record| record.inputs.job.preempt == "full")
        .collect();
    let explained = recording.explained();
    explained.create().unwrap();
    explained.put_layout(cells[0].inputs.snapshot.id(), &layout()).unwrap();
    traced::trace(&explained, &cells[0]);
    assert!(recording.explained().contains(cells[0].id) && !recording.traces().exists());

    for ((name, before), (_, after)) in before.iter().zip(outputs(&desk)) {
        assert!(*before == after, "explaining has changed `{name}`");
    }
    // The explanation has its trace, and executes nothing again.
    let cell = cells[0].id.to_string();
    desk.run(&["explain", "run", "what-if", "preemptible=__schedule", "--cell", &cell]).succeeds();
    desk.run(&["explain", "run", "ranking"]).succeeds();

    // A trace of the run's own is read before that of an explanation.
    let traces = recording.traces();
    traces.create().unwrap();
    traces.put_layout(cells[0].inputs.snapshot.id(), &layout()).unwrap();
    traced::trace(&traces, &cells[0]);
    let [read, ..] = recording.explained().files(cells[0].id);
    assert!(read.starts_with(traces.path()), "{}", read.display());
    let compared = desk.run(&["compare", "run"]);
    compared.succeeds();
    compared.says(&["worst"]);
}
