//! `recommend` on a recording with one cell, and questions that do not fit one.

use std::{fs, path::Path};

use crate::common::{Desk, Finished, tree};
use preemptlab_model::{CellRecord, FailureCause, Outcome};
use preemptlab_testkit::traced;

/// Returns a desk with a copy of the committed recording in the folder `run`.
fn desk() -> Desk {
    let desk = Desk::new();
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/check");
    for (name, bytes) in tree(&check) {
        let path = desk.path("run").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    desk
}

fn recommend(desk: &Desk, arguments: &[&str]) -> Finished {
    desk.run(&[&["recommend", "run"], arguments].concat())
}

fn require(desk: &Desk, requirement: &str) -> Finished {
    recommend(desk, &["--require", requirement])
}

#[test]
fn a_single_replicate_is_called_one() {
    let desk = desk();
    let before = tree(&desk.path("run"));
    let finished =
        recommend(&desk, &["--require", "wakeup.max<=10ms", "--require", "wakeup.p99 <= 10 ms"]);
    finished.succeeds();
    finished.says(&[
        "Run debian:6.12.107+deb13/full: kernel 6.12.107+deb13-amd64 with preempt=full",
        "wakeup.fifo.max <= 10000 us",
        "is not shown",
        "not shown by",
        "A limit on a maximum is not shown by samples",
        "there is no other configuration",
        "wakeup.max is that of the real-time probe, wakeup.fifo.max.",
        "apt-get install linux-image-6.12.107+deb13-amd64=6.12.107-1",
        "GRUB_CMDLINE_LINUX_DEFAULT=\"${GRUB_CMDLINE_LINUX_DEFAULT} preempt=full\"",
        "/etc/kernel/cmdline",
        "cmdline_preemptlab=+preempt=full",
    ]);
    assert_eq!(finished.stdout.matches("Times are virtual").count(), 1);
    let widest = finished.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{}", finished.stdout);
    assert!(before == tree(&desk.path("run")), "recommending has changed the recording");
}

#[test]
fn brief_is_five_lines_at_most() {
    let desk = desk();
    let brief = |requirement: &str| {
        recommend(&desk, &["--format", "brief", "--require", requirement]).stdout
    };
    let said = brief("wakeup.max<=10ms");
    assert!((2..=5).contains(&said.lines().count()), "{said}");
    assert!(said.starts_with("Run debian:6.12.107+deb13/full"), "{said}");
    assert!(said.contains("wakeup.fifo.max <= 10000 us: largest "), "{said}");
    let none = brief("wakeup.max<1us");
    assert!((2..=5).contains(&none.lines().count()), "{none}");
    assert!(none.starts_with("No configuration satisfies every requirement."), "{none}");
}

#[test]
fn every_format_says_it() {
    let desk = desk();
    let of = |format: &str| {
        let finished = recommend(&desk, &["--format", format]);
        finished.succeeds();
        finished.stdout
    };
    assert!(of("markdown").starts_with("**Run debian:6.12.107+deb13/full"));
    assert!(of("csv").contains(r#","debian:6.12.107+deb13","full",,"recommended","throughput","#));
    let document: serde_json::Value = serde_json::from_str(&of("json")).unwrap();
    assert_eq!(document["candidates"][0]["status"], "recommended");
    assert_eq!(document["certainty"], "only");
    assert_eq!(document["settings"]["parameters"][0], "preempt=full");
}

#[test]
fn nothing_that_satisfies_it_is_a_no_with_its_obstacle() {
    let desk = desk();
    let finished = recommend(&desk, &["--require", "wakeup.max<1us", "--require", "throughput>=1"]);
    assert_eq!(finished.code, 1, "{}{}", finished.stdout, finished.stderr);
    finished.says(&[
        "No configuration satisfies every requirement.",
        "The obstacle is wakeup.fifo.max < 1 us: without it the choice would be debian:6.12",
        "The closest is debian:6.12.107+deb13/full",
    ]);
    assert!(!finished.stdout.contains("GRUB"), "{}", finished.stdout);
}

#[test]
fn unknown_metrics_are_answered_with_the_nearest_and_the_list() {
    let desk = desk();
    require(&desk, "wakeup.fifo.maxx<=1us")
        .fails(2, &["`wakeup.fifo.maxx`; did you mean `wakeup.fifo.max`?", "throughput"]);
    recommend(&desk, &["--maximize", "througput"]).fails(2, &["did you mean `throughput`?"]);
    require(&desk, "latency.worst<=1us").fails(2, &["no metric `latency.worst`", "every instant"]);
}

#[test]
fn units_that_do_not_fit_are_answered_with_those_that_do() {
    let desk = desk();
    require(&desk, "wakeup.max<=100").fails(2, &["there is no unit", "ns, us, ms or s"]);
    require(&desk, "wakeup.max<=100MB").fails(2, &["`MB` is no unit of wakeup.max"]);
    require(&desk, "throughput>=5us")
        .fails(2, &["throughput takes messages/s (or nothing, k, M or G)"]);
    require(&desk, "wakeup.omitted<=5us").fails(2, &["wakeup.omitted takes periods"]);
}

#[test]
fn candidates_are_chosen_by_pattern() {
    let desk = desk();
    recommend(&desk, &["--among", "debian:6.12*"])
        .succeeds()
        .says(&["The candidate is the only configuration; it matches debian:6.12*."]);
    recommend(&desk, &["--among", "debian:6.21*"]).fails(
        2,
        &["no configuration matches `debian:6.21*`", "did you mean `debian:6.12", "/full"],
    );
    let report = |among: &str| desk.letter(&["run", "--among", among]);
    report("*/full").succeeds().says(&["Asked for: among ", "/full."]);
    report("*/lazy").fails(2, &["no configuration matches `*/lazy`"]);
    desk.run(&["system", "apply", "--from", "run", "--among", "*/lazy", "--emit", "grub"])
        .fails(2, &["no configuration matches `*/lazy`"]);
}

#[test]
fn what_nobody_asked_for_is_called_a_default() {
    let desk = desk();
    let said = "the default, with the option to change it: throughput maximized";
    let finished = require(&desk, "wakeup.max<=10ms");
    let text = finished.stdout.replace('\n', " ");
    assert!(text.contains(said), "{text}");
    let asked = recommend(&desk, &["--maximize", "throughput"]);
    asked.succeeds();
    assert!(!asked.stdout.contains("Not asked for"), "{}", asked.stdout);
}

#[test]
fn a_single_baseline_is_certain_of_itself() {
    let desk = desk();
    let finished = require(&desk, "throughput>=95%");
    finished.succeeds();
    assert!(!finished.stdout.contains("unclear"), "{}", finished.stdout);
}

#[test]
fn malformed_command_lines_are_usage_errors() {
    let desk = desk();
    require(&desk, "wakeup.max").fails(2, &["expected METRIC<=LIMIT"]);
    require(&desk, "wakeup.max<=nan us").fails(2, &["finite and not negative"]);
    require(&desk, "wakeup.max<=-5us").fails(2, &["finite and not negative"]);
    recommend(&desk, &["--maximize", "throughput", "--minimize", "throughput"])
        .fails(2, &["cannot be used with"]);
    recommend(&desk, &["--baseline", "debian:7.2/lazy"]).fails(2, &["no measurements", "7.2/lazy"]);
    desk.run(&["recommend", "nowhere"]).fails(2, &["there is no folder nowhere"]);
}

#[test]
fn a_recording_without_a_finished_cell_says_so() {
    let desk = desk();
    fs::remove_dir_all(desk.path("run/cells")).unwrap();
    fs::create_dir(desk.path("run/cells")).unwrap();
    recommend(&desk, &[]).fails(2, &["nothing was measured", "/full: not executed yet"]);
}

#[test]
fn a_recording_whose_cells_all_failed_says_why() {
    let desk = desk();
    let cell = fs::read_dir(desk.path("run/cells")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&cell).unwrap();
    preemptlab_model::unseal(&mut bytes).unwrap();
    let mut record: CellRecord = serde_json::from_slice(&bytes).unwrap();
    let reason = "the kernel panicked".to_owned();
    record.outcome = Outcome::Failed { cause: FailureCause::Panic, reason };
    fs::write(&cell, serde_json::to_vec(&record).unwrap()).unwrap();
    require(&desk, "wakeup.max<=1us")
        .fails(2, &["nothing was measured", "/full: the kernel panicked"]);
}

#[test]
fn a_parameter_that_cannot_be_written_safely_is_left_to_the_reader() {
    let desk = Desk::new();
    traced::untraced(&desk.path("run"), |manifest| {
        manifest.experiment.machine.cmdline = vec!["dyndbg=\"$(reboot)\"".to_owned()];
    });
    let finished = recommend(&desk, &[]);
    finished.succeeds().says(&["`preemptlab system apply` refuses", "$(reboot)", "set it by hand"]);
    assert_eq!(finished.stdout.matches("dyndbg").count(), 1, "{}", finished.stdout);
}

#[test]
fn two_configurations_with_few_replicates_are_undecided() {
    let desk = Desk::new();
    traced::untraced(&desk.path("run"), |_| {});
    // The committed report, in which the kernel says that it runs in the other mode.
    for cell in fs::read_dir(desk.path("run/cells")).unwrap() {
        let cell = cell.unwrap().path();
        let mut bytes = fs::read(&cell).unwrap();
        preemptlab_model::unseal(&mut bytes).unwrap();
        let mut record: CellRecord = serde_json::from_slice(&bytes).unwrap();
        let Outcome::Completed { report, .. } = &mut record.outcome else { panic!() };
        if record.inputs.job.preempt == "none" {
            report.system.preempt = Some("(none) voluntary full".to_owned());
        }
        fs::write(&cell, serde_json::to_vec(&record).unwrap()).unwrap();
    }
    let finished = recommend(&desk, &[]);
    finished.succeeds().says(&[
        "not sure",
        "one other configuration might be as good or better; about 3 more replicates",
        "Fewer than 5 replicates decide nothing.",
        "preemptlab run run --until 5% --metric throughput",
        "--baseline debian:6.12.107+deb13/none",
        "undecided, +3 replicates",
    ]);
}

#[test]
fn recordings_with_the_same_configuration_stay_apart() {
    let desk = desk();
    for (name, bytes) in tree(&desk.path("run")) {
        let path = desk.path("other").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let finished = recommend(&desk, &["other"]);
    finished.succeeds().says(&[
        "Run run: debian:6.12.107+deb13/full",
        "other: debian:6.12.107+deb13/full",
        "not sure",
    ]);
    // No run adds to both of them.
    assert!(!finished.stdout.contains("preemptlab run"), "{}", finished.stdout);
}
