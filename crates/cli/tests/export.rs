//! Tables of every cell, for other tools.

use std::{
    fs::{self, File},
    path::Path,
    process::Command,
};

use crate::common::{Desk, Finished, tree};
use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::Field,
};
use preemptlab_model::{Planned, plain};
use preemptlab_testkit::traced::{Traced, untraced};
use serde_json::{Value, json};

const TABLES: [&str; 5] = ["cells", "metrics", "histograms", "instants", "sections"];

/// Returns the path of the committed recording.
fn check() -> String {
    format!("{}/../../studies/check", env!("CARGO_MANIFEST_DIR"))
}

/// Reads a table in CSV: its header, then its rows.
fn csv(folder: &Path, table: &str) -> Vec<Vec<String>> {
    let path = folder.join(format!("{table}.csv"));
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(path).unwrap();
    reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

/// Reads the rows of a Parquet file.
fn parquet(folder: &Path, table: &str) -> Vec<Vec<String>> {
    let file = File::open(folder.join(format!("{table}.parquet"))).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let names = schema.columns().iter().map(|column| column.name().to_owned()).collect();
    let rows = reader.get_row_iter(None).unwrap().map(|row| {
        row.unwrap()
            .get_column_iter()
            .map(|(_, field)| match field {
                Field::Null => String::new(),
                Field::Str(text) => text.clone(),
                Field::UInt(number) => number.to_string(),
                Field::Long(number) => number.to_string(),
                Field::Double(number) => number.to_string(),
                Field::Bool(flag) => flag.to_string(),
                other => panic!("no column is of this type: {other}"),
            })
            .collect()
    });
    [names].into_iter().chain(rows).collect()
}

/// Returns some columns of every row.
fn columns(rows: &[Vec<String>], names: &[&str]) -> Vec<String> {
    let place = |name: &&str| rows[0].iter().position(|column| column == *name).unwrap();
    let places: Vec<usize> = names.iter().map(place).collect();
    let pick = |row: &Vec<String>| places.iter().map(|place| row[*place].clone()).collect();
    rows[1..].iter().map(pick).map(|row: Vec<String>| row.join(" ")).collect()
}

fn change_json(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    // A changed file has no seal any more, as in a recording of format 2.
    value.as_object_mut().unwrap().remove("sha256");
    change(&mut value);
    fs::write(path, serde_json::to_vec(&value).unwrap()).unwrap();
}

/// Makes a recording of four cells: one cannot exist, one failed, one has a probe that failed, and
/// one was not executed. None has measurements.
fn troubled(desk: &Desk) {
    let run = desk.path("run");
    let recording = untraced(&run, |_| {});
    let ids: Vec<String> =
        recording.cells().map(|cell| cell.unwrap().1.unwrap().id.to_string()).collect();
    let file = |index: usize| run.join("cells").join(format!("{}.json", ids[index]));
    let mut manifest = recording.manifest().clone();
    let reason = "no, \"none\"".to_owned();
    manifest.plan.cells[0].planned = Planned::Unavailable { reason };
    fs::write(run.join("recording.json"), serde_json::to_vec(&manifest).unwrap()).unwrap();
    change_json(&file(1), |cell| {
        cell["outcome"] = json!({"failed": {"cause": "panic", "reason": "Oops: 0002\n[#1]"}});
    });
    change_json(&file(2), |cell| {
        cell["outcome"]["completed"]["report"]["probes"][0]["exit"] = json!({"code": 1});
    });
    fs::remove_file(file(3)).unwrap();
}

#[test]
fn the_committed_recording_is_exported() {
    let desk = Desk::new();
    let said = desk.run(&["export", &check()]);
    assert_eq!(
        said.succeeds().stdout,
        "check-export/cells.csv\ncheck-export/metrics.csv\ncheck-export/histograms.csv\n\
         check-export/instants.csv\ncheck-export/sections.csv\n"
    );
    assert_eq!(said.stderr, "cells: 1 completed\n");
    let folder = desk.path("check-export");
    assert_eq!(
        fs::read_to_string(folder.join("cells.csv")).unwrap(),
        "\"run\",\"backend\",\"workload\",\"cpus\",\"kernel\",\"release\",\"rt\",\"preempt\",\"settings\",\
         \"observed\",\"replicate\",\"seed\",\"prices\",\"id\",\"look\",\"status\",\"reason\",\"digest\"\n\
         \"check\",\"vm\",\"processes\",1,\"debian:6.12.107+deb13\",\"6.12.107+deb13-amd64\",false,\"full\",\"\",\
         \"full\",1,1,\"amd-epyc\",\
         \"ec582c031fc16f1a7a36d793b5461db1725d012b723058a4b23cb6bb7b029bf9\",0,\"completed\",,\
         \"52c7841488c25f9b66b52ab456e48149e7f7b9559527b2881e58523c3651641a\"\n"
    );
    let metrics = csv(&folder, "metrics");
    assert_eq!(metrics.len(), 16);
    assert!(columns(&metrics, &["metric", "unit"]).contains(&"throughput messages/s".to_owned()));
    // Each row of each table says of which cell it is, and by which prices.
    for table in TABLES {
        let rows = columns(&csv(&folder, table), &["prices", "id"]);
        let cell = "amd-epyc ec582c031fc16f1a7a36d793b5461db1725d012b723058a4b23cb6bb7b029bf9";
        // No trace was kept of it.
        let has_rows = !["instants", "sections"].contains(&table);
        assert!(rows.is_empty() != has_rows && rows.iter().all(|row| row == cell), "{table}");
    }
    // The job's number of loops.
    let histograms = csv(&folder, "histograms");
    let fifo = columns(&histograms, &["probe", "count"]);
    let fifo = fifo.iter().filter_map(|row| row.strip_prefix("wakeup.fifo "));
    assert_eq!(fifo.map(|count| count.parse::<u64>().unwrap()).sum::<u64>(), 1100);
}

#[test]
fn every_cell_of_the_plan_has_a_row_whatever_became_of_it() {
    let desk = Desk::new();
    troubled(&desk);
    let said = desk.run(&["export", "run", "-o", "tables"]);
    assert_eq!(said.succeeds().stderr, "cells: 2 failed, 1 missing, 1 unavailable\n");
    let cells = csv(&desk.path("tables"), "cells");
    assert_eq!(
        columns(&cells, &["preempt", "replicate", "seed", "status"]),
        ["none 1  unavailable", "none 2 2 failed", "full 1 1 failed", "full 2 2 missing"]
    );
    let reasons = columns(&cells, &["reason"]);
    assert_eq!(reasons[..2], ["no, \"none\"", "Oops: 0002 [#1]"]);
    assert!(reasons[2].contains("fifo"), "{}", reasons[2]);
    assert_eq!(reasons[3], "");
    let lengths = |name| columns(&cells, &[name]).iter().map(String::len).collect::<Vec<_>>();
    assert_eq!((lengths("id"), lengths("digest")), (vec![0, 64, 64, 64], vec![0, 0, 64, 0]));
    for table in &TABLES[1..] {
        assert_eq!(csv(&desk.path("tables"), table).len(), 1);
    }
}

#[test]
fn both_formats_hold_the_same() {
    let desk = Desk::new();
    troubled(&desk);
    Traced::new(&desk.path("traced"));
    for (run, cells) in [("run", 4), ("traced", 4), (&check(), 1)] {
        desk.run(&["export", run, "--out", "csv"]).succeeds();
        desk.run(&["export", run, "--out", "pq", "--format", "parquet"]).succeeds();
        for table in TABLES {
            let (csv, parquet) = (csv(&desk.path("csv"), table), parquet(&desk.path("pq"), table));
            // A line of CSV is one line of text.
            let lines = |text: &String| plain::line(text).into_owned();
            let parquet: Vec<Vec<_>> =
                parquet.iter().map(|row| row.iter().map(lines).collect()).collect();
            assert!(csv == parquet, "{table} of {run}");
            assert!(table != "cells" || csv.len() == cells + 1);
        }
        fs::remove_dir_all(desk.path("csv")).unwrap();
        fs::remove_dir_all(desk.path("pq")).unwrap();
    }
}

#[test]
fn metrics_are_those_of_compare() {
    let desk = Desk::new();
    Traced::new(&desk.path("run"));
    desk.run(&["export", "run"]).succeeds();
    let rows = csv(&desk.path("run-export"), "metrics");
    let exported = columns(&rows, &["preempt", "metric", "replicate", "value", "unit", "better"]);
    let compared = desk.run(&["compare", "run", "--format", "json"]);
    let document: Value = serde_json::from_str(&compared.succeeds().stdout).unwrap();
    let mut expected = Vec::new();
    for configuration in document["groups"][0]["configurations"].as_array().unwrap() {
        for metric in configuration["metrics"].as_array().unwrap() {
            let replicates = metric["replicates"].as_array().unwrap();
            for (replicate, value) in replicates.iter().zip(metric["values"].as_array().unwrap()) {
                let text = |key: &str| metric[key].as_str().unwrap();
                expected.push(format!(
                    "{} {} {replicate} {} {} {}",
                    configuration["preempt"].as_str().unwrap(),
                    text("name"),
                    value.as_f64().unwrap(),
                    text("unit"),
                    text("better")
                ));
            }
        }
    }
    assert!(expected.iter().any(|row| row.contains(" latency.worst ")), "{expected:?}");
    let sorted = |mut rows: Vec<String>| {
        rows.sort();
        rows
    };
    assert_eq!(sorted(exported), sorted(expected));
}

/// The findings of the traced cells say what `compare` and `explain ranking` say of them.
#[test]
fn instants_and_sections_are_those_of_the_findings() {
    let desk = Desk::new();
    let traced = Traced::new(&desk.path("run"));
    desk.run(&["export", "run"]).succeeds();
    // The report of the cells is that of `full`, so those of `none` have no measurements.
    let mut cells = traced.recording.cells().filter_map(|cell| cell.unwrap().1);
    let cell = cells.find(|cell| cell.inputs.job.preempt == "full").unwrap().id;
    let id = cell.to_string();
    let of_cell = |table: &str, names: &[&str]| -> Vec<String> {
        let rows = csv(&desk.path("run-export"), table);
        let names: Vec<&str> = ["id"].iter().chain(names).copied().collect();
        let rows = columns(&rows, &names);
        rows.iter().filter_map(|row| Some(row.strip_prefix(&id)?.trim().to_owned())).collect()
    };
    let findings = traced.recording.traces().findings(cell).unwrap().unwrap();
    let curve = findings.bound.unwrap().curve;
    let expected: Vec<String> = curve
        .later
        .iter()
        .map(|(latency_ns, later_ns)| format!("{latency_ns} {later_ns} {}", curve.window_ns))
        .collect();
    assert!(expected.len() > 5, "{expected:?}");
    assert_eq!(of_cell("instants", &["latency_ns", "later_ns", "window_ns"]), expected);
    let expected: Vec<String> = findings
        .sections
        .iter()
        .map(|it| format!("{} {} {} {}", it.function, it.count, it.max_ns, it.total_ns))
        .collect();
    assert!(expected.len() > 2, "{expected:?}");
    let named = ["function", "count", "length_ns_max", "length_ns_total"];
    assert_eq!(of_cell("sections", &named), expected);
}

#[test]
fn the_same_recording_gives_the_same_bytes_wherever_it_is() {
    let desk = Desk::new();
    for place in ["here", "there"] {
        fs::create_dir(desk.path(place)).unwrap();
        Traced::new(&desk.path(place).join("run"));
        for format in ["csv", "parquet"] {
            let (run, out) = (format!("{place}/run/."), format!("{place}-{format}"));
            desk.run(&["export", &run, "--format", format, "--out", &out]).succeeds();
        }
    }
    for format in ["csv", "parquet"] {
        let [here, there] = ["here", "there"].map(|at| tree(&desk.path(&format!("{at}-{format}"))));
        assert_eq!(here.len(), TABLES.len());
        assert!(here == there, "{format}");
    }
}

#[test]
fn several_recordings_are_told_apart() {
    let desk = Desk::new();
    for run in ["run", "other", "deep/run"] {
        Traced::new(&desk.path(run));
    }
    desk.run(&["export", "run", "other"]).fails(2, &["several recordings", "--out FOLDER"]);
    desk.run(&["export", "run", "other", "-o", "tables"]).succeeds();
    let runs = columns(&csv(&desk.path("tables"), "cells"), &["run"]);
    assert_eq!(runs, ["run", "run", "run", "run", "other", "other", "other", "other"]);
    desk.run(&["export", "run", "deep/run", "-o", "twins"])
        .fails(2, &["two recordings are called `run`", "rename"]);
    desk.run(&["export", "run", "./run", "-o", "twins"]).fails(2, &["run is named twice"]);
    assert!(!desk.path("twins").exists());
}

#[test]
fn what_is_no_recording_is_refused_and_leaves_nothing() {
    let desk = Desk::new();
    desk.run(&["export", "nowhere"]).fails(2, &["there is no folder nowhere"]);
    fs::create_dir(desk.path("new")).unwrap();
    desk.write("new/recording.json", r#"{"format": 99, "future": true}"#);
    desk.run(&["export", "new"]).fails(2, &["format 99", "use the newer one"]);
    let traced = Traced::new(&desk.path("run"));
    let cell = desk.path("run/cells").join(format!("{}.json", traced.id));
    let text = fs::read_to_string(&cell).unwrap();
    fs::write(&cell, &text[..text.len() / 2]).unwrap();
    desk.run(&["export", "run"]).fails(2, &["cannot be read"]);
    for name in ["nowhere", "new", "run"] {
        assert!(!desk.path(&format!("{name}-export")).exists());
    }
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let desk = Desk::new();
    fs::create_dir(desk.path("thesis")).unwrap();
    desk.write("thesis/thesis.tex", "precious");
    let next = ["is not empty", "rm -r thesis", "--out"];
    desk.run(&["export", &check(), "--out", "thesis"]).fails(2, &next);
    assert_eq!(tree(&desk.path("thesis")), [("thesis.tex".into(), b"precious".to_vec())]);

    fs::create_dir(desk.path("check-export")).unwrap();
    desk.run(&["export", &check()]).succeeds();
    let before = tree(&desk.path("check-export"));
    desk.run(&["export", &check()]).fails(2, &["check-export is not empty"]);
    assert!(before == tree(&desk.path("check-export")));
}

#[test]
fn a_folder_that_cannot_be_is_named() {
    let desk = Desk::new();
    desk.write("file", "precious");
    for out in ["file", "file/tables", "/proc/nothing"] {
        desk.run(&["export", &check(), "--out", out]).fails(4, &["cannot", out, "--out"]);
    }
    assert_eq!(fs::read_to_string(desk.path("file")).unwrap(), "precious");
}

#[test]
fn a_full_disk_leaves_nothing() {
    let desk = Desk::new();
    let export = desk.command(&["export", &check(), "--out", "tables"]);
    // No file may grow beyond some blocks: as on a full disk, writing fails.
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 2; exec \"$0\" \"$@\""]);
    limited.arg(export.get_program()).args(export.get_args());
    limited.current_dir(export.get_current_dir().unwrap());
    let finished = Finished::new(limited.output().unwrap());
    finished.fails(4, &["cannot write the table of histograms", "free some space", "--out"]);
    assert!(!desk.path("tables").exists());
    desk.run(&["export", &check(), "--out", "tables"]).succeeds();
}
