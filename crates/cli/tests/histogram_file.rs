//! Histograms that tools wrote on machines, beside recordings.

use std::fs;

use crate::common::{Desk, Finished};
use serde_json::Value;

/// Returns the path of the committed recording.
fn check() -> String {
    format!("{}/../../studies/check", env!("CARGO_MANIFEST_DIR"))
}

/// Returns a desk with a histogram of cyclictest, of timerlat and of oslat.
fn desk() -> Desk {
    let desk = Desk::new();
    for (name, of) in [
        ("hist.txt", "cyclictest-overflow.hist"),
        ("timerlat.txt", "rtla-timerlat-user.hist"),
        ("oslat.txt", "oslat-2.4.out"),
    ] {
        let data = format!("{}/../workload/tests/data/{of}", env!("CARGO_MANIFEST_DIR"));
        fs::copy(data, desk.path(name)).unwrap();
    }
    desk
}

fn words(said: &Finished) -> String {
    said.succeeds().stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_histogram_stands_beside_a_recording_with_its_number_of_samples() {
    let desk = desk();
    let said = words(&desk.run(&["compare", &check(), "hist.txt"]));
    for expected in [
        "Measured on machines with clocks of their own, one run each; latencies in us",
        "hist.txt (cyclictest) wakeup 1,199,998 2 2.05 2 3 3 493",
        "nothing is decided from it. Its microseconds and those of a recording are of different clocks",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert!(!said.contains("thread 0"), "{said}");
    let all = words(&desk.run(&["compare", &check(), "hist.txt", "--all"]));
    assert!(all.contains("thread 0 599,999 2 2.06 2 3 3 493"), "{all}");
    assert!(all.contains("thread 1 599,999 2 2.03 2 3 3 387"), "{all}");
    // Nothing about the recording changes.
    let json = |arguments: &[&str]| -> Value {
        let said = desk.run(&[&["compare", &check(), "--format", "json"], arguments].concat());
        serde_json::from_str(&said.succeeds().stdout).unwrap()
    };
    let (alone, mut beside) = (json(&[]), json(&["hist.txt"]));
    let histograms = beside.as_object_mut().unwrap().remove("histograms").unwrap();
    assert_eq!(alone, beside);
    assert_eq!(histograms[0]["latencies"][0]["samples"], 1_199_998);
    assert_eq!(histograms[0]["latencies"][0]["max"]["value"], 493);
    assert_eq!(histograms[0]["latencies"][2]["only"], "thread 1");
}

#[test]
fn histograms_stand_alone_and_in_every_format() {
    let desk = desk();
    let said = words(&desk.run(&["compare", "hist.txt", "timerlat.txt", "oslat.txt"]));
    assert!(said.contains("return to user space 1,999 1 2 2 9 above 9 44"), "{said}");
    assert!(
        said.contains("oslat.txt (oslat) interruption 71,918,112 1 1.04 1 1 1 84,030"),
        "{said}"
    );
    assert!(!said.contains("Times are virtual"), "{said}");
    let csv = desk.run(&["compare", "timerlat.txt", "--format", "csv"]).stdout;
    assert!(csv.contains("\"timerlat.txt\",\"rtla timerlat\","), "{csv}");
    let above = csv.lines().find(|line| line.contains("return to user space.p99.9")).unwrap();
    assert!(above.ends_with(",1,1,,,,,,,,,,,,\"above 9\",\"machine\""), "{above}");
    let markdown = desk.run(&["compare", "hist.txt", "--format", "markdown"]).stdout;
    assert!(markdown.contains("1,199,998"), "{markdown}");
}

#[test]
fn a_page_and_a_recommendation_show_it_and_decide_nothing_from_it() {
    let desk = desk();
    let alone = desk.run(&["recommend", &check(), "--require", "wakeup.max<=100us"]);
    let beside = desk.run(&["recommend", &check(), "hist.txt", "--require", "wakeup.max<=100us"]);
    assert_eq!(alone.succeeds().stdout.lines().next(), beside.succeeds().stdout.lines().next());
    let said = words(&beside);
    let broken = "hist.txt: the max of 1,199,998 samples of wakeup was 493 us, which breaks \
                  `wakeup.fifo.max <= 100 us` on that machine.";
    assert!(said.contains(broken), "{said}");
    let within = desk.run(&["recommend", &check(), "hist.txt", "--require", "wakeup.max<=1ms"]);
    let within = words(&within);
    assert!(within.contains("in that one run, which does not show that it holds"), "{within}");
    let json = desk.run(&["recommend", &check(), "hist.txt", "--format", "json"]).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["histograms"][0]["tool"], "cyclictest");
    assert_eq!(json["candidates"].as_array().unwrap().len(), 1);
    desk.run(&["compare", &check(), "hist.txt", "-o", "page.html"]).succeeds();
    let page = fs::read_to_string(desk.path("page.html")).unwrap();
    assert!(page.contains("\"samples\":1199998"), "the page lacks the histogram");
    let letter = words(&desk.letter(&[&check(), "hist.txt"]));
    assert!(letter.contains("1,199,998"), "{letter}");
}

#[test]
fn what_is_no_histogram_or_has_no_recording_is_refused() {
    let desk = desk();
    desk.write("cut.txt", "# Histogram\n000001 000002\n");
    desk.write("notes.txt", "cyclictest -h said 12\n");
    desk.write("\u{1b}[2J.txt", "# Histogram\n000001 \u{1b}[2J\n");
    for (arguments, said) in [
        (
            &["compare", "cut.txt"][..],
            "cut.txt is no recording, and not read as a histogram: it ends",
        ),
        (&["compare", "notes.txt"], "notes.txt is not a recording: it is a file"),
        (&["compare", "\u{1b}[2J.txt"], "is no whole number"),
        (&["compare", "hist.txt", "./hist.txt"], "is named twice"),
        (&["recommend", "hist.txt"], "a recommendation needs a recording"),
        (&["compare", "hist.txt", "-o", "page.html"], "a report needs a recording"),
        (
            &["export", "hist.txt"],
            "hist.txt is a histogram and no recording, and tables are of cells",
        ),
        (&["compare", "hist.txt", "--by", "kernel"], "a history is one of kernels"),
    ] {
        let finished = desk.run(arguments);
        assert_eq!(finished.code, 2, "{arguments:?}: {}", finished.stderr);
        let told = finished.stderr.replace('│', " ");
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(said), "{arguments:?}: {told}");
        assert!(!finished.stderr.contains('\u{1b}'));
    }
}
