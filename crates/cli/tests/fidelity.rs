//! `preemptlab compare` with machines, `preemptlab system submit`, and the committed results of docs/fidelity.md.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::common::Desk;
use preemptlab_model::BackendKind;
use preemptlab_testkit::recorded::{Cell, record_on};

const TWO_LOADS: &str = "preempt = [\"none\"]\n[replicates]\ncount = 2\n\
    [workload.processes]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n\
    [workload.again]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";

/// The lines of docs/fidelity.md around the table that the command prints.
const BEGIN: &str = "<!-- preemptlab compare docs/fidelity/*/*.toml --format markdown -->\n\n";
const END: &str = "\n<!-- end -->\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the committed files of results, in the order in which a shell names them.
fn committed(folder: &str) -> Vec<String> {
    let files = fs::read_dir(root().join("docs/fidelity").join(folder)).unwrap();
    let mut files: Vec<String> =
        files.map(|file| file.unwrap().path().to_str().unwrap().to_owned()).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

fn desk_with(backend: BackendKind, name: &str) -> Desk {
    let desk = Desk::new();
    record_on(backend, &desk.path(name), TWO_LOADS, |_, _| Cell::Measured);
    desk
}

#[test]
fn the_page_shows_what_the_command_prints() {
    let path = root().join("docs/fidelity.md");
    let files = [committed("machines"), committed("predictions")].concat();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let printed = Desk::new().run(&[&["compare"], &files[..], &["--format", "markdown"]].concat());
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let wanted = format!("{before}{BEGIN}{}{END}{after}", printed.stdout);
    if env::var_os("WRITE_FIDELITY").is_some() {
        fs::write(&path, &wanted).unwrap();
    } else {
        assert!(
            page == wanted,
            "docs/fidelity.md does not show docs/fidelity/; write its table anew with\n    \
             WRITE_FIDELITY=1 cargo test -p preemptlab --test tests fidelity\nand read what the page says of it"
        );
    }
}

#[test]
fn a_machine_is_submitted_and_compared_with_what_predicts_it() {
    let desk = desk_with(BackendKind::Host, "host");
    record_on(BackendKind::Vm, &desk.path("virtual"), TWO_LOADS, |_, _| Cell::Measured);
    let submit = ["system", "submit", "host", "amd-epyc", "--out", "mine.toml"];
    let submitted = desk.run(&submit);
    assert_eq!(submitted.code, 0, "{}", submitted.stderr);
    let file = fs::read_to_string(desk.path("mine.toml")).unwrap();
    assert!(file.contains("[workload.again]") && file.contains("[profile.prices]"), "{file}");

    let shown = desk.run(&["compare", "virtual", "mine.toml", "--all"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    for part in ["server-x86", "2 of 2", "FIFO wakeups", "processes", "×1.00"] {
        assert!(shown.stdout.contains(part), "no {part} in {}", shown.stdout);
    }
    // A recording and its file predict the same.
    let written = desk.run(&["compare", "virtual", "-o", "virtual.toml"]);
    assert_eq!(written.code, 0, "{}", written.stderr);
    let again = desk.run(&["compare", "virtual.toml", "mine.toml", "--all"]);
    assert_eq!(again.stdout, shown.stdout);
    let document = desk.run(&["compare", "virtual", "mine.toml", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&document.stdout).unwrap();
    assert_eq!(document["relations"][0]["pairs"]["max"], 1.0);
}

#[test]
fn what_is_no_submission_is_refused_with_the_way_on() {
    let desk = desk_with(BackendKind::Vm, "virtual");
    record_on(BackendKind::Host, &desk.path("host"), TWO_LOADS, |_, _| Cell::Measured);
    record_on(BackendKind::Host, &desk.path("part"), TWO_LOADS, |_, _| Cell::Missing);
    desk.write("x.toml", "format = 1\nexperiment = \"made\"\n[machine]\ncpu = 1\n");
    let machine = committed("machines").remove(0);
    let submit = |run, profile| ["system", "submit", run, profile, "--out", "m.toml"];
    for (line, said) in [
        (&submit("virtual", "amd-epyc")[..], "--backend host"),
        (&submit("part", "amd-epyc"), "`preemptlab run part` executes what is missing"),
        (&submit("host", "instructions"), "`preemptlab system calibrate` wrote"),
        (&submit("host", "absent.toml"), "absent.toml"),
        (&["compare", "host", &machine], "`preemptlab system submit host PROFILE --out FILE`"),
        (&["compare", "virtual", &machine], "of the experiment `made`"),
        (&["compare", &machine], "nothing predicts the machine amd-epyc-7003"),
        (&["compare", &machine, &machine], "two of these are called the machine amd-epyc-7003"),
        (&["compare", "x.toml", &machine], "did you mean `cpus`?"),
        (&["compare", &machine, "--metric", "throughput"], "--metric"),
        (&["compare", &machine, "--format", "csv"], "--format csv"),
        (&["compare", &machine, "-o", "page.html"], "--out"),
        (&["compare", "host", "-o", "host.toml"], "only virtual time predicts machines"),
        (&["compare", "virtual", "host", "-o", "both.toml"], "name one"),
    ] {
        let finished = desk.run(line);
        assert_eq!(finished.code, 2, "{line:?}: {}", finished.stderr);
        let told = finished.stderr.replace('│', "");
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(said), "{line:?}: {told}");
    }
    assert!(!desk.path("m.toml").exists());
}
