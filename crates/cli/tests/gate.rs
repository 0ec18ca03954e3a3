//! `gate` on recordings: its decisions, exit codes, formats and refusals.

use crate::common::{Desk, Finished};
use preemptlab_testkit::recorded::{Cell, record};
use serde_json::Value;

const FULL: &str = "preempt = [\"full\"]\n[replicates]\ncount = 6\n\
    [workload.load]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";

/// Returns a desk with recordings of the same kernel: `base`, `same`, and `new`, whose cells are these.
fn desk(new: impl Fn(&str, u32) -> Cell) -> Desk {
    let desk = Desk::new();
    record(&desk.path("base"), FULL, |_, _| Cell::Measured);
    record(&desk.path("same"), FULL, |_, _| Cell::Measured);
    record(&desk.path("new"), FULL, new);
    desk
}

fn gate(desk: &Desk, arguments: &[&str]) -> Finished {
    desk.run(&[&["gate", "base"], arguments].concat())
}

#[test]
fn equal_recordings_are_no_worse() {
    let desk = desk(|_, _| Cell::Measured);
    let said = gate(&desk, &["same"]);
    said.succeeds();
    assert!(said.stdout.contains("is no worse than"), "{}", said.stdout);
    assert!(said.stdout.contains("within 20 us") && said.stdout.contains("within 3%"));
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 100), "{}", said.stdout);
    gate(&desk, &["same", "--bisect"]).succeeds();
}

#[test]
fn later_wakeups_are_worse_beyond_the_margin() {
    let desk = desk(|_, _| Cell::Later(30));
    let said = gate(&desk, &["new"]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stdout.contains("is worse than") && said.stdout.contains("+30.0 us"));
    assert_eq!(gate(&desk, &["new", "--bisect"]).code, 1);
    gate(&desk, &["new", "--margin", "50us"]).succeeds();
    let own = gate(&desk, &["new", "--margin", "wakeup.fifo.p99=10us", "--margin", "50us"]);
    assert_eq!(own.code, 1);
    // The other way round the kernel is better, and so passes.
    desk.run(&["gate", "new", "base"]).succeeds();
    gate(&desk, &["new", "--metric", "throughput"]).succeeds();
}

#[test]
fn few_seeds_decide_nothing() {
    let desk = Desk::new();
    for name in ["base", "new"] {
        record(&desk.path(name), &FULL.replace("count = 6", "count = 4"), |_, _| Cell::Measured);
    }
    let said = gate(&desk, &["new"]);
    assert_eq!(said.code, 3, "{}", said.stderr);
    assert!(said.stdout.contains("undecided +1"), "{}", said.stdout);
    assert_eq!(gate(&desk, &["new", "--bisect"]).code, 125);
}

#[test]
fn cells_that_fail_are_worse_and_a_kernel_without_any_is_skipped() {
    let some = desk(|_, replicate| if replicate == 3 { Cell::Failed } else { Cell::Measured });
    for arguments in [&["new"][..], &["new", "--bisect"]] {
        let said = gate(&some, arguments);
        assert_eq!(said.code, 1, "{}", said.stderr);
        assert!(said.stdout.contains("seed 3: the guest used up its virtual time"));
    }
    let all = desk(|_, _| Cell::Failed);
    assert_eq!(gate(&all, &["new"]).code, 1);
    assert_eq!(gate(&all, &["new", "--bisect"]).code, 125);
    // A base without measurements does not tell about the new kernel.
    let base = all.run(&["gate", "new", "base"]);
    base.fails(3, &["no cell of the base", "used up its virtual time"]);
    assert_eq!(all.run(&["gate", "new", "base", "--bisect"]).code, 131);
}

#[test]
fn every_format_tells_the_same() {
    let desk = desk(|_, _| Cell::Later(30));
    let told = |format: &str| {
        let said = gate(&desk, &["new", "--format", format]);
        assert_eq!(said.code, 1, "{format}: {}", said.stderr);
        said.stdout
    };
    let json: Value = serde_json::from_str(&told("json")).unwrap();
    assert_eq!(json["verdict"], "worse");
    assert!(told("markdown").starts_with("### "));
    assert!(told("junit").contains("failures=\"1\""));
    assert!(told("github").contains("::error title=load full on 1 CPU%3A wakeup.fifo.p99::"));
    let kcidb: Value = serde_json::from_str(&told("kcidb")).unwrap();
    assert!(kcidb["tests"].as_array().unwrap().iter().any(|test| test["status"] == "FAIL"));
    assert!(told("lkp").contains("load.wakeup.fifo.p99"));
}

#[test]
fn one_decision_is_written_in_several_formats() {
    let desk = desk(|_, _| Cell::Later(30));
    let forms =
        ["new", "--format", "junit=out.xml", "--format", "github", "--format", "json=out.json"];
    let said = gate(&desk, &forms);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stdout.starts_with("::notice title=preemptlab gate::"), "{}", said.stdout);
    let read = |name: &str| std::fs::read_to_string(desk.path(name)).unwrap();
    assert_eq!(read("out.xml"), gate(&desk, &["new", "--format", "junit"]).stdout);
    assert_eq!(read("out.json").trim(), gate(&desk, &["new", "--format", "json"]).stdout.trim());
    // Files alone leave standard output empty.
    let files = gate(&desk, &["new", "--format", "markdown=out.md"]);
    assert!(files.stdout.is_empty() && read("out.md").starts_with("### "), "{}", files.stdout);
    gate(&desk, &["new", "--format", "junit=absent/out.xml"])
        .fails(4, &["cannot write absent/out.xml"]);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let desk = desk(|_, _| Cell::Measured);
    for (arguments, said) in [
        (&["debian:6.12"][..], "base is a recording and the other is none"),
        (&["base"], "is named twice"),
        (&["new", "x.toml"], "two recordings are compared as they are"),
        (&["new", "--seed", "3"], "two recordings are compared as they are"),
        (&["new", "--metric", "throughputt"], "did you mean `throughput`?"),
        (
            &["new", "--margin", "3"],
            "`3` is not a margin; expected a percentage between 0% and 100%, such as `5%`",
        ),
        (&["new", "--margin", "0%"], "`0%` is not a margin"),
        (
            &["new", "--margin", "3%", "--margin", "5%"],
            "the margin of all metrics is given twice, as 3% and 5%",
        ),
        (
            &["new", "--margin", "throughput=5us"],
            "the margin of `throughput` cannot be a time such as 5 us",
        ),
        (&["new", "--margin", "throughputt=5%"], "did you mean `throughput`?"),
        (&["new", "--budget", "lots"], "expected a number of executions"),
        (&["new", "--format", "xml"], "`xml` is not a format; the formats are table, json"),
        (&["new", "--format", "junit="], "a file follows `junit=`"),
        (&["new", "--format", "junit=-"], "a file follows `junit=`"),
        (&["new", "--format", "junit", "--format", "github"], "two formats go to standard output"),
        (&["new", "--format", "junit=a", "--format", "json=a"], "two formats go to a"),
    ] {
        gate(&desk, arguments).fails(2, &[said]);
    }
    let mirror = ["--set", "mirror=http://127.0.0.1:9/debian"];
    for (base, new, said) in [
        ("=debian:6.12", "debian:7.2", "is not a label"),
        ("x=debian:6.12", "x=debian:7.2", "two kernels have the label `x`"),
        ("\u{1b}[2J=debian:6.12", "debian:7.2", "is not a label"),
        ("debain:6.12", "debian:7.2", "did you mean `debian:6.12`?"),
        ("runs/none", "debian:7.2", "names no kernel"),
    ] {
        let refused = desk.run(&[&["gate", base, new], &mirror[..]].concat());
        refused.fails(2, &[said]);
        assert!(!refused.stderr.contains('\u{1b}') && !refused.stderr.contains("127.0.0.1"));
    }
    record(&desk.path("two"), &FULL.replace("\"full\"", "\"none\""), |_, _| Cell::Measured);
    gate(&desk, &["two"]).fails(2, &["have no workload, mode and seed in common"]);
}
