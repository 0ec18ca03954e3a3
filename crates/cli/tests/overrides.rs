//! Options of `run` and `plan` that replace values of an experiment's file.

use crate::common::Desk;
use preemptlab_testkit::recorded;

const TEXT: &str = "preempt = [\"none\", \"full\"]\n[replicates]\ncount = 2\n\
    [workload.load]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";

/// Nothing listens there: a command that gets that far says so.
const NO_MIRROR: [&str; 2] = ["--set", "mirror=http://127.0.0.1:9/debian"];

/// Returns a desk with `made.toml`, and with its recording in `runs/made` if `text` is given: the
/// experiment that was run.
fn desk(text: Option<&str>) -> Desk {
    let desk = Desk::new();
    let check = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/check");
    let check = preemptlab_experiment::Recording::open(check.as_ref()).unwrap();
    let kernel = &check.manifest().kernels[0].name;
    let head = format!("format = 1\nname = \"made\"\n[factors]\nkernel = [\"{kernel}\"]\n");
    desk.write("made.toml", &format!("{head}{TEXT}"));
    if let Some(text) = text {
        recorded::record(&desk.path("runs/made"), text, |_, _| recorded::Cell::Measured);
    }
    desk
}

#[test]
fn values_that_cannot_be_are_refused_before_anything_is_brought_here() {
    desk(Some(TEXT)).replays("overrides");
}

#[test]
fn a_first_look_says_so_and_leaves_the_experiments_folder_alone() {
    let desk = desk(Some(TEXT));
    let said = "not as the file says: replicates.count = 1 instead of 2";
    let look = ["run", "made.toml", "--replicates", "1"];
    desk.run(&[&look[..], &NO_MIRROR].concat()).fails(4, &[said, "127.0.0.1:9"]);
    // A value that the file has anyway is not a change.
    let same = ["run", "made.toml", "--replicates", "2", "--out", "runs/made"];
    let finished = desk.run(&[&same[..], &NO_MIRROR].concat());
    assert!(!finished.stderr.contains("not as the file says"), "{}", finished.stderr);
    assert!(!finished.stderr.contains("another experiment"), "{}", finished.stderr);
}

#[test]
fn a_recording_of_other_values_is_read_like_any_and_says_so() {
    let desk = desk(Some(&TEXT.replace("count = 2", "count = 1")));
    let path = desk.path("runs/made/recording.json");
    let mut bytes = std::fs::read(&path).unwrap();
    preemptlab_model::unseal(&mut bytes).unwrap();
    let sound = String::from_utf8(bytes).unwrap();
    let write = |run: &str| {
        let change = serde_json::json!([{ "key": "replicates.count", "file": "2", "run": run }]);
        let before = "\"experiment\"";
        let with = sound.replacen(before, &format!("\"overrides\": {change}, {before}"), 1);
        std::fs::write(&path, preemptlab_model::seal(with.trim_end().into())).unwrap();
    };
    write("1");
    let said = "runs/made was made with replicates.count = 1 instead of 2";
    for verb in ["compare", "recommend"] {
        let finished = desk.run(&[verb, "runs/made"]);
        assert!(finished.stderr.contains(said), "{verb}: {}", finished.stderr);
    }
    desk.run(&["verify", "runs/made", "--against", "runs/made"]).succeeds();
    desk.run(&["run", "made.toml", "--out", "runs/made"])
        .fails(2, &["another experiment (made with replicates.count = 1 instead of 2)"]);
    // A stranger's words steer no terminal.
    write("\u{1b}[2J");
    let finished = desk.run(&["compare", "runs/made"]);
    assert!(finished.stderr.contains("was made with"), "{}", finished.stderr);
    assert!(!finished.stderr.contains('\u{1b}'), "{:?}", finished.stderr);
}
