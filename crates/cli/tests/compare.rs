//! Tests of `compare` and `report` with recordings that hold no answer.

use std::{fs, process::Command};

use crate::common::{Desk, Finished};
use preemptlab_model::BackendKind;
use preemptlab_testkit::recorded::{Cell, record, record_on};
use serde_json::Value;

const TWO_MODES: &str = "preempt = [\"none\", \"full\"]\n[replicates]\ncount = 5\n\
    [workload.load]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";

fn with_count(count: u32) -> String {
    TWO_MODES.replace("count = 5", &format!("count = {count}"))
}

/// Runs the comparison in every form, and checks for words that must never be in it.
#[track_caller]
fn compare(desk: &Desk, recordings: &[&str]) -> Finished {
    let mut finished = Vec::new();
    for format in [&["--all"][..], &["--format", "json"], &["--format", "csv"]] {
        let said = desk.run(&[&["compare"], recordings, format].concat());
        said.succeeds();
        sound(&said.stdout);
        finished.push(said);
    }
    let page = desk.run(&[&["compare"], recordings, &["-o", "report.html"]].concat());
    page.succeeds();
    let page = fs::read_to_string(desk.path("report.html")).unwrap();
    // The script itself may name words that are never printed.
    sound(page.split("<script").next().unwrap());
    finished.remove(0)
}

#[track_caller]
fn sound(text: &str) {
    for never in ["NaN", "inf", "Infinity", "null,\n      \"null"] {
        assert!(!text.contains(never), "{never} in:\n{text}");
    }
}

#[test]
fn one_replicate_decides_nothing() {
    let desk = Desk::new();
    record(&desk.path("a"), &with_count(1), |_, _| Cell::Measured);
    compare(&desk, &["a"])
        .says(&["undecided, +4 replicates", "Fewer than 5 replicates decide nothing."]);
    let overview = desk.run(&["compare", "a"]);
    overview.says(&["1 replicate (n=1: no spread)"]);
}

#[test]
fn values_that_are_all_equal_are_the_same() {
    let desk = Desk::new();
    record(&desk.path("a"), TWO_MODES, |_, _| Cell::Measured);
    let finished = compare(&desk, &["a"]);
    // cyclictest cannot tell whether equal numbers of a few microseconds are within 5%.
    finished.says(&["are better, 0 worse,", "within the resolution of the", " 0 undecided"]);
    finished.says(&["5 replicates are too few for an extreme-value fit"]);
}

#[test]
fn the_counts_are_of_what_the_table_shows() {
    let desk = Desk::new();
    record(&desk.path("a"), TWO_MODES, |_, _| Cell::Measured);
    let overview = desk.run(&["compare", "a"]);
    overview.says(&[
        "Of 5 comparisons 0 are better, 0 worse,",
        "10 more, of metrics that are",
        "compare RUN --all",
        "adjusted for all 15",
    ]);
    let letter = desk.letter(&["a"]);
    assert_eq!(letter.stdout.matches("Of 5 comparisons 0 are better").count(), 2);
}

#[test]
fn metrics_are_chosen_by_name_or_by_class() {
    let desk = Desk::new();
    record(&desk.path("a"), TWO_MODES, |_, _| Cell::Measured);
    let chosen = |metric: &str| {
        let finished = desk.run(&["compare", "a", "--format", "csv", "--metric", metric]);
        finished.succeeds();
        let metrics = finished.stdout.lines().skip(1).map(|row| row.split(',').nth(9).unwrap());
        metrics.map(str::to_owned).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(chosen("throughput").len(), 1);
    let wakeups = chosen("wakeup");
    assert!(wakeups.len() > 10 && !wakeups.contains("throughput"), "{wakeups:?}");
    let both = ["compare", "a", "--metric", "wakeup.fifo.min", "--metric", "throughput"];
    desk.run(&both).says(&["Of 2 comparisons", "adjusted for all 15"]);
    for (metric, meant) in [
        ("throughputs", "did you mean `throughput`?"),
        ("wakup", "did you mean `wakeup`?"),
        ("", "there is no metric"),
    ] {
        desk.run(&["compare", "a", "--metric", metric]).fails(2, &[meant]);
    }
}

#[test]
fn maxima_that_are_all_equal_are_no_distribution() {
    let desk = Desk::new();
    record(&desk.path("a"), &with_count(20), |_, _| Cell::Measured);
    compare(&desk, &["a"]).says(&["which is no distribution to fit"]);
}

#[test]
fn what_is_apart_is_better_or_worse() {
    let desk = Desk::new();
    record(&desk.path("a"), TWO_MODES, |mode, replicate| match mode {
        // Beyond the resolution of cyclictest's buckets.
        "none" => Cell::Later(u64::from(replicate) + 5),
        _ => Cell::Measured,
    });
    let row = |finished: &Finished, mode: &str| {
        let of_p99 = finished.stdout.split("wakeup.fifo.p99,").nth(1).unwrap();
        of_p99.lines().find(|line| line.contains(mode)).unwrap().to_owned()
    };
    let finished = compare(&desk, &["a"]);
    assert!(row(&finished, " full ").ends_with("better"), "{}", finished.stdout);
    finished.says(&["Of 15 comparisons"]);
    let full = ["compare", "a", "--all", "--baseline", "debian:6.12.107+deb13/full"];
    let finished = desk.run(&full);
    assert!(row(&finished, " none ").ends_with("worse"), "{}", finished.stdout);
    finished.says(&["× is the ratio to debian:6.12.107+deb13/full"]);
}

#[test]
fn failed_and_missing_cells_keep_their_reasons() {
    let desk = Desk::new();
    record(&desk.path("a"), TWO_MODES, |mode, replicate| match (mode, replicate) {
        ("full", 1) => Cell::Failed,
        ("full", 2) => Cell::Missing,
        _ => Cell::Measured,
    });
    compare(&desk, &["a"])
        .says(&["1 of 5 not executed yet; 1 of 5 failed: the guest used up its virtual time"]);
    record(&desk.path("b"), TWO_MODES, |_, _| Cell::Failed);
    compare(&desk, &["b"]).says(&["none, full: 5 of 5 failed"]);
    record(&desk.path("c"), TWO_MODES, |_, _| Cell::Missing);
    compare(&desk, &["c"]).says(&["none, full: 5 of 5 not executed yet"]);
    desk.run(&["compare", "c", "--format", "csv"]).succeeds().says(&[",\"missing\","]);
}

#[test]
fn one_name_for_two_workloads_is_refused() {
    let desk = Desk::new();
    record(&desk.path("a"), TWO_MODES, |_, _| Cell::Measured);
    let other = TWO_MODES.replace("window = \"1s\"", "window = \"1s\"\nmessage_bytes = 1000");
    record(&desk.path("b"), &other, |_, _| Cell::Missing);
    let page = ["-o", "page.html"];
    for (verb, more) in
        [("compare", &[][..]), ("compare", &page), ("recommend", &[]), ("export", &[])]
    {
        desk.run(&[&[verb, "a", "b"], more].concat()).fails(
            2,
            &["`load` is not the same workload in a and b", "message_bytes is 100 and 1000"],
        );
    }
}

#[test]
fn cells_that_two_recordings_share_are_pointed_out() {
    let desk = Desk::new();
    record(&desk.path("a"), TWO_MODES, |_, _| Cell::Measured);
    record(&desk.path("b"), &with_count(2), |_, _| Cell::Measured);
    let finished = desk.run(&["compare", "a", "b"]);
    finished.succeeds();
    assert!(finished.stderr.contains("a and b share 4 cells"), "{}", finished.stderr);
}

#[test]
fn machines_that_differ_are_pointed_out() {
    let desk = Desk::new();
    record(&desk.path("a"), TWO_MODES, |_, _| Cell::Measured);
    let other = format!("{TWO_MODES}[machine]\ncmdline = [\"threadirqs\"]\n");
    record(&desk.path("b"), &other, |_, _| Cell::Measured);
    let finished = desk.run(&["compare", "a", "b"]);
    finished.succeeds();
    assert!(finished.stderr.contains("the machines of a and b differ"), "{}", finished.stderr);
    assert!(finished.stderr.contains("cmdline is [] and [\"threadirqs\"]"), "{}", finished.stderr);
}

#[test]
fn a_newer_recording_among_others_is_refused() {
    let desk = Desk::new();
    record(&desk.path("a"), TWO_MODES, |_, _| Cell::Measured);
    fs::create_dir(desk.path("b")).unwrap();
    desk.write("b/recording.json", r#"{"format": 99}"#);
    desk.run(&["compare", "a", "b"]).fails(2, &["format 99", "use the newer one"]);
}

#[test]
fn margins_and_baselines_that_are_none_are_refused() {
    let desk = Desk::new();
    record(&desk.path("a"), TWO_MODES, |_, _| Cell::Measured);
    for (margins, said) in [
        (
            &["5"][..],
            "`5` is not a margin; expected a percentage between 0% and 100%, such as `5%`, or a time, such as",
        ),
        (&["101%"], "`101%` is not a margin"),
        (&["-5%"], "`-5%` is not a margin"),
        (&["throughput=-1us"], "`throughput=-1us` is not a margin"),
        (
            &["3%", "4%"],
            "the margin of all metrics is given twice, as 3% and 4%: leave one of them out",
        ),
        (
            &["throughput=5us"],
            "the margin of `throughput` cannot be a time such as 5 us, since its values are in messages/s: give \
             it a percentage, such as `throughput=5%`",
        ),
        (
            &["wakeup.fifo.maxx=5us"],
            "no cell has the metric `wakeup.fifo.maxx` of a margin; did you mean",
        ),
    ] {
        let margins = margins.iter().map(|margin| format!("--margin={margin}"));
        let margins: Vec<String> = margins.collect();
        for verb in ["compare", "recommend"] {
            let arguments = [verb, "a"].into_iter().chain(margins.iter().map(String::as_str));
            desk.run(&arguments.collect::<Vec<_>>()).fails(2, &[said]);
        }
    }
    desk.run(&["compare", "a", "--baseline", "debian:7.2/lazy"])
        .fails(2, &["no measurements of the baseline", "debian:6.12.107+deb13/full"]);
}

#[test]
fn a_time_is_the_margin_of_a_latency() {
    let desk = Desk::new();
    record(&desk.path("a"), TWO_MODES, |mode, _| match mode {
        "full" => Cell::Later(10),
        _ => Cell::Measured,
    });
    let compare = |margins: &[&str]| {
        let json = desk.run(&[&["compare", "a", "--format", "json"], margins].concat());
        let json: Value = serde_json::from_str(&json.succeeds().stdout).unwrap();
        let infos = json["groups"][0]["metrics"].as_array().unwrap().clone();
        let of =
            |name: &str| infos.iter().find(|info| info["name"] == name).unwrap()["margin"].clone();
        let metrics = json["groups"][0]["configurations"][1]["metrics"].as_array().unwrap();
        let p99 = metrics.iter().find(|of| of["name"] == "wakeup.fifo.p99").unwrap().clone();
        let margins = ["wakeup.fifo.p99", "throughput"].map(of);
        (json["margin"].clone(), margins, p99["effect"]["verdict"].clone())
    };
    let said = |margins: &[&str]| desk.run(&[&["compare", "a", "--all"], margins].concat()).stdout;
    let null = Value::Null;
    assert_eq!(compare(&[]), (0.05.into(), [null.clone(), null.clone()], "worse".into()));
    let within = (0.05.into(), ["20 us".into(), null.clone()], "within_margin".into());
    assert_eq!(compare(&["--margin", "20us"]), within);
    let own = ["--margin", "3%", "--margin", "wakeup.fifo.p99=5us"];
    assert_eq!(compare(&own), (0.03.into(), ["5 us".into(), null], "worse".into()));
    let text = said(&["--margin", "20us"]);
    assert!(text.contains("within 20 us") && text.contains(" within the margin, "), "{text}");
    assert!(said(&[]).contains(" within 5%, "), "{}", said(&[]));
}

#[test]
fn a_report_replaces_the_one_before_and_no_folder() {
    let desk = Desk::new();
    record(&desk.path("a"), TWO_MODES, |_, _| Cell::Measured);
    for _ in 0..2 {
        desk.run(&["compare", "a", "-o", "report.html"]).succeeds();
    }
    let first = fs::read(desk.path("report.html")).unwrap();
    desk.run(&["compare", "a", "-o", "again.html"]).succeeds();
    assert!(first == fs::read(desk.path("again.html")).unwrap(), "the page differs");
    fs::create_dir(desk.path("a.html")).unwrap();
    desk.run(&["compare", "a", "-o", "a.html"]).fails(4, &["cannot write a.html"]);
    desk.run(&["compare", "a", "-o", "a"]).fails(2, &["by its ending what to write"]);
    desk.run(&["compare", "a", "-o", "absent/report.html"]).fails(4, &["absent/report.html"]);
    let names = fs::read_dir(desk.path(".")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().starts_with(".draft")));
}

#[test]
fn a_report_holds_the_numbers_of_the_comparison_and_every_cell() {
    let desk = Desk::new();
    record(&desk.path("a"), TWO_MODES, |mode, replicate| match (mode, replicate) {
        ("full", 3) => Cell::Failed,
        ("full", 4) => Cell::Missing,
        ("none", _) => Cell::Later(replicate.into()),
        _ => Cell::Measured,
    });
    desk.run(&["compare", "a", "-o", "report.html"]).succeeds();
    let html = fs::read_to_string(desk.path("report.html")).unwrap();
    let data = html.split("type=\"application/json\"").nth(1).unwrap();
    let data = &data[data.find('>').unwrap() + 1..data.find("</script>").unwrap()];
    let page: Value = serde_json::from_str(data).unwrap();
    let compared = desk.run(&["compare", "a", "--format", "json"]);
    let compared: Value = serde_json::from_str(&compared.stdout).unwrap();

    for field in ["format", "margin", "comparisons", "looks", "groups", "agreements"] {
        assert_eq!(page[field], compared[field], "{field}");
    }
    let configurations = compared["groups"][0]["configurations"].as_array().unwrap();
    let evidence = page["evidence"].as_array().unwrap();
    assert_eq!((configurations.len(), evidence.len()), (2, 2));
    for (configuration, evidence) in configurations.iter().zip(evidence) {
        assert_eq!(configuration["metrics"].as_array().unwrap().len(), 15);
        let replicates = configuration["metrics"][0]["n"].as_u64().unwrap();
        let counts = evidence["histograms"][0]["counts"].as_array().unwrap();
        let samples: u64 = counts.iter().map(|bucket| bucket[1].as_u64().unwrap()).sum();
        assert_eq!(samples, 1100 * replicates);
    }
    let statuses: Vec<&str> = page["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["no_result"]["status"].as_str().unwrap_or("completed"))
        .collect();
    let of = |status| statuses.iter().filter(|each| **each == status).count();
    assert_eq!((statuses.len(), of("completed"), of("failed"), of("missing")), (10, 8, 1, 1));
}

#[test]
fn a_report_answers_what_it_is_asked() {
    let desk = Desk::new();
    record(&desk.path("a"), TWO_MODES, |_, _| Cell::Measured);
    desk.letter(&["a", "--require", "wakeup.max<1us"])
        .says(&["No configuration satisfies every requirement."]);
    let plain = desk.letter(&["a"]);
    plain.says(&[
        "a real-time task was at most 16 us late, and as late under full",
        "### How it was measured",
        "6.12.107-1",
    ]);
    desk.letter(&["a", "--require", "wakup.max<1us"]).fails(2, &["no metric `wakup.max`"]);
}

#[test]
fn options_without_a_meaning_are_refused_with_a_sentence() {
    let desk = Desk::new();
    record(&desk.path("a"), TWO_MODES, |_, _| Cell::Measured);
    for (arguments, said) in [
        (&["--require", "wakeup.max<1us"][..], "or ask `preemptlab recommend`"),
        (&["--all", "-o", "page.html"], "a page holds all of it: leave --all out"),
        (&["--format", "csv", "-o", "letter.md"], "leave --format out"),
        (&["--metric", "throughput", "-o", "x.svg"], "leave --metric out"),
        (&["--picture", "--format", "json"], "--picture is for a terminal: leave --format out"),
        (&["--template", "x", "--among", "*"], "leave --require and the like out"),
        (&["--by", "kernel", "--all"], "leave --all out"),
        (&["--by", "kernel", "--baseline", "x/full"], "leave --baseline out"),
        (&["--by", "kernel", "--format", "csv"], "leave --format csv out"),
        (&["--by", "kernel", "-o", "page.html"], "-o FILE.md, -o FILE.svg"),
    ] {
        desk.run(&[&["compare", "a"], arguments].concat()).fails(2, &[said]);
    }
}

#[test]
fn a_full_disk_leaves_the_report_that_was_there() {
    let desk = Desk::new();
    record(&desk.path("a"), TWO_MODES, |_, _| Cell::Measured);
    desk.write("report.html", "the old one");
    let report = desk.command(&["compare", "a", "-o", "report.html"]);
    // A limit on file sizes has the effect of a full disk on a process.
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 8; trap '' XFSZ; exec \"$@\"", "sh"]);
    limited.arg(report.get_program()).args(report.get_args());
    limited.current_dir(desk.path(".")).env("NO_COLOR", "1");
    Finished::new(limited.output().unwrap()).fails(4, &["cannot write report.html"]);
    assert_eq!(fs::read_to_string(desk.path("report.html")).unwrap(), "the old one");
}

/// `full` is later than `none` in both kinds of time, by other amounts, and earlier in a third.
#[test]
fn kinds_of_time_stand_beside_each_other_and_are_never_mixed() {
    let desk = Desk::new();
    let late = |full_us: u64| {
        move |mode: &str, replicate: u32| {
            let own_us = if mode == "full" { full_us } else { 6 };
            Cell::Later(own_us + u64::from(replicate % 2))
        }
    };
    record(&desk.path("vm"), TWO_MODES, late(12));
    record_on(BackendKind::Host, &desk.path("host"), TWO_MODES, late(15));
    record_on(BackendKind::Kvm, &desk.path("kvm"), TWO_MODES, late(0));

    let both = compare(&desk, &["vm", "host"]);
    both.says(&["load on 1 CPU: what server-x86 and host say", "load on 1 CPU, host"]);
    both.says(&["agree in their direction, 0 disagree", "Times are virtual", "Times of host are"]);
    assert!(!compare(&desk, &["vm"]).stdout.contains("what server-x86"));
    let alone = compare(&desk, &["host"]);
    assert!(!alone.stdout.contains("Times are virtual"), "{}", alone.stdout);
    // Below the table: disturbances of the machine concern its numbers.
    let said = desk.run(&["compare", "host"]).stdout;
    let table = said.rfind('─').unwrap();
    for note in ["10 of 10 cells the frequency governor was powersave", "on a virtual machine"] {
        let words = said[table..].split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(note), "{said}");
    }
    let against = compare(&desk, &["kvm", "vm"]);
    assert!(!against.stdout.contains(" 0 disagree"), "{}", against.stdout);

    let csv = desk.run(&["compare", "vm", "host", "--format", "csv"]).stdout;
    let backend = |line: &str| line.rsplit(',').next().map(str::to_owned);
    assert_eq!(backend(csv.lines().next().unwrap()).as_deref(), Some("\"backend\""));
    assert!(csv.lines().any(|line| backend(line).as_deref() == Some("\"host\"")), "{csv}");
    let json = desk.run(&["compare", "vm", "host", "--format", "json"]).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["groups"][1]["backend"], "host");
    assert_eq!(json["groups"][0]["backend"], "vm");
    assert_eq!(json["agreements"][0]["backends"], serde_json::json!(["vm", "host"]));

    desk.run(&["recommend", "vm", "host"]).fails(2, &["several kinds of time"]);
    desk.run(&["verify", "host"]).fails(2, &["only virtual time can say the same again"]);
    desk.run(&["explain", "host"]).fails(2, &["only virtual time can be traced"]);
}
