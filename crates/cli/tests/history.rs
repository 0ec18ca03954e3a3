//! `compare --by kernel` on recordings: change points, tables, pages, pictures and refusals.

use std::fs;

use crate::common::{Desk, Finished};
use preemptlab_testkit::recorded::{Cell, record, record_kernels};
use serde_json::Value;

const TEXT: &str = "preempt = [\"none\", \"full\"]\n[replicates]\ncount = 6\n\
    [workload.load]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";

/// Kernels in no order.
const KERNELS: [&str; 3] = ["debian:7.2", "debian:6.9", "debian:6.12"];

/// Returns a desk with a recording, in which 7.2 is later than 6.12 in one mode.
fn desk() -> Desk {
    let desk = Desk::new();
    record_kernels(&desk.path("run"), &KERNELS, TEXT, |kernel, mode, replicate| {
        match (kernel, mode, replicate) {
            ("debian:7.2", "full", _) => Cell::Later(30),
            ("debian:6.9", "none", 2) => Cell::Failed,
            ("debian:6.9", "none", _) => Cell::Missing,
            _ => Cell::Measured,
        }
    });
    desk
}

fn history(desk: &Desk, arguments: &[&str]) -> Finished {
    desk.run(&[&["compare", "--by", "kernel"], arguments].concat())
}

#[test]
fn changes_are_named_first_between_kernels_in_the_order_of_versions() {
    let desk = desk();
    let said = history(&desk, &["run"]);
    let text = &said.succeeds().stdout;
    assert!(text.starts_with("The latency history of 3 kernels: "), "{text}");
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no `{part}` in {text}"));
    let parts = [
        "6.12 to 7.2",
        "load full on 1 CPU",
        "+30.0 us",
        "── load on 1 CPU",
        "without measurements",
    ];
    let places: Vec<usize> = parts.iter().map(|part| at(part)).collect();
    assert!(places.is_sorted(), "{places:?} {text}");
    assert!(!text.contains("6.9 to 6.12"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    said.says(&["the guest used up its virtual time", "not executed yet"]);
    let names = ["\n6.9  ", "\n6.12  ", "\n7.2  "].map(at);
    assert!(names.is_sorted(), "{text}");
}

#[test]
fn kernels_of_several_recordings_are_one_history() {
    let desk = desk();
    record_kernels(&desk.path("next"), &["debian:7.3"], TEXT, |_, _, _| Cell::Measured);
    let said = history(&desk, &["next", "run", "--metric", "wakeup.fifo.p99"]);
    said.succeeds().says(&["of 4 kernels", "6.12 to 7.2", "7.2 to 7.3", "-30.0 us", "better"]);
    assert!(!said.stdout.contains("throughput"), "{}", said.stdout);
    let wide = history(&desk, &["run", "--margin", "100us", "--metric", "wakeup.fifo.p99"]);
    wide.succeeds().says(&["no change point in 3 comparisons"]);
}

#[test]
fn a_page_links_its_pictures() {
    let desk = desk();
    fs::create_dir(desk.path("docs")).unwrap();
    let page = ["-o", "docs/history.md", "--svg", "docs/pictures/of"];
    let said = history(&desk, &[&["run"], &page[..]].concat());
    assert_eq!(said.succeeds().stdout, "");
    let page = fs::read_to_string(desk.path("docs/history.md")).unwrap();
    assert!(page.contains("![load on 1 CPU](pictures/of/load.svg)"), "{page}");
    let svg = fs::read_to_string(desk.path("docs/pictures/of/load.svg")).unwrap();
    assert!(svg.contains("width=\"800\"") && svg.contains("class=\"ring\""), "{svg}");
    // The same recording gives the same bytes.
    history(&desk, &["run", "--svg", "again"]).succeeds();
    assert_eq!(fs::read_to_string(desk.path("again/load.svg")).unwrap(), svg);
    history(&desk, &["run", "-o", "only.svg"]).succeeds();
    assert_eq!(fs::read_to_string(desk.path("only.svg")).unwrap(), svg);
}

#[test]
fn the_document_holds_the_decisions() {
    let said = history(&desk(), &["run", "--format", "json"]);
    let json: Value = serde_json::from_str(&said.succeeds().stdout).unwrap();
    let names: Vec<_> = json["kernels"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["debian:6.9", "debian:6.12", "debian:7.2"]);
    let rows = json["steps"][1]["gate"]["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["verdict"] == "worse"), "{rows:?}");
}

#[test]
fn what_makes_no_history_is_refused() {
    let desk = desk();
    record(&desk.path("one"), TEXT, |_, _| Cell::Measured);
    record(&desk.path("failed"), TEXT, |_, _| Cell::Failed);
    let priced = format!("{TEXT}[machine]\ncost = \"amd-epyc\"\n");
    record_kernels(&desk.path("priced"), &["debian:7.3"], &priced, |_, _, _| Cell::Measured);
    let other = TEXT.replace("1s", "2s");
    record_kernels(&desk.path("other"), &["debian:7.3"], &other, |_, _, _| Cell::Measured);
    let apart = TEXT.replace("workload.load", "workload.apart");
    record_kernels(&desk.path("apart"), &["debian:7.3"], &apart, |_, _, _| Cell::Measured);
    for (arguments, code, said) in [
        (&["nowhere"][..], 2, "there is no folder nowhere"),
        (&["run", "run"], 2, "is named twice"),
        (&["one"], 2, "is the only kernel that was measured, and a history needs two"),
        (
            &["one", "apart"],
            2,
            "no two neighbouring kernels have a workload, mode and seed in common",
        ),
        (&["failed"], 3, "no cell was measured: the guest used up its virtual time"),
        (&["run", "priced"], 2, "the machines of run and priced differ (cost is"),
        (&["run", "other"], 2, "`load` is not the same workload in run and other"),
        (&["run", "--metric", "throughputt"], 2, "did you mean `throughput`?"),
        (&["run", "--format", "csv"], 2, "leave --format csv out"),
        (&["run", "--out", "no/page.md"], 4, "cannot write no/page.md"),
        (&["run", "--svg", "run/recording.json"], 4, "cannot make the folder"),
        (&[], 2, "for example: preemptlab compare runs/quick"),
    ] {
        history(&desk, arguments).fails(code, &[said]);
    }
}
