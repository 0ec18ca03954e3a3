//! `preemptlab run SCENARIO...`: the suite that ships, on real kernels.

use std::fs;

use crate::common::{Desk, Finished, kernel_of_the_store};
use serde_json::Value;

/// Returns the paths of the repository's scenarios.
fn shipped() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let mut paths: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
        .collect();
    paths.sort();
    assert!(paths.len() >= 15, "{paths:?}");
    paths
}

/// Plays the scenarios of the repository, with the packages of the user's store. `make nightly`
/// plays all models of all kernels.
fn play(desk: &Desk, arguments: &[&str]) -> Finished {
    let paths = shipped();
    let paths = paths.iter().map(String::as_str);
    let all: Vec<&str> = ["run"].into_iter().chain(paths).chain(arguments.to_vec()).collect();
    Finished::new(desk.lasting_command(&all).output().unwrap())
}

/// Checks that every model that a kernel offers meets its expectations.
fn check(said: &Finished, models: &[&str]) {
    let document: Value = serde_json::from_str(&said.succeeds().stdout).unwrap();
    for scenario in document["scenarios"].as_array().unwrap() {
        let columns = scenario["models"].as_array().unwrap();
        let has_all = models.iter().all(|wanted| columns.iter().any(|it| it["model"] == *wanted));
        assert!(has_all, "{columns:?}");
        for model in columns {
            assert_eq!(model["status"], "played", "{}: {model}", scenario["name"]);
            let checked = model["checked"].as_array().unwrap();
            let met = |checked: &&Value| checked["met"] == true;
            assert_eq!(checked.iter().filter(met).count(), checked.len(), "{checked:?}");
        }
    }
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn the_suite_holds_on_6_12() {
    let desk = Desk::new();
    let models = ["none", "rt"];
    let compare = models.join(",");
    let said =
        play(&desk, &["--preempt", &compare, "--format", "json", "--format", "svg=pictures"]);
    check(&said, &models);
    let demo = fs::read_to_string(desk.path("pictures/driver-demo.svg")).unwrap();
    assert!(demo.starts_with("<svg") && demo.contains(">none<"), "{demo}");
}

#[test]
fn the_suite_holds_on_7_2() {
    let desk = Desk::new();
    let models = ["lazy"];
    let compare = models.join(",");
    let arguments = ["--kernel", "debian:7.2", "--preempt", &compare, "--format", "json"];
    check(&play(&desk, &arguments), &models);
}

/// Debian's kernels for arm64 have one mode each.
#[test]
fn the_demonstration_holds_on_arm64() {
    let desk = Desk::new();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/driver-demo.toml");
    let models = ["voluntary", "rt"];
    let compare = models.join(",");
    let arguments = ["run", path, "--arch", "arm64", "--preempt", &compare, "--format", "json"];
    check(&Finished::new(desk.lasting_command(&arguments).output().unwrap()), &models);
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn the_suite_holds_on_arm64() {
    let desk = Desk::new();
    let paths: Vec<String> = shipped();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let play = |kernel: &str, models: &[&str]| {
        let models_option = models.join(",");
        let options = ["--arch", "arm64", "--kernel", kernel, "--preempt", &models_option];
        let all = [&["run"], &paths[..], &options, &["--format", "json"]].concat();
        check(&Finished::new(desk.lasting_command(&all).output().unwrap()), models);
    };
    play("debian:6.12", &["voluntary", "rt"]);
    play("debian:7.3", &["lazy"]);
}

#[test]
fn a_kernel_that_disagrees_is_the_answer_no() {
    let desk = Desk::new();
    let scenario = "format = 1\nname = \"wrong\"\ndescription = \"d\"\nend = \"50ms\"\n\
                    [thread.a]\nsteps = [{ sleep_until = \"5ms\" }, { busy = \"10ms\" }]\n\
                    [[expect]]\nthread = \"a\"\nfinishes = \"30ms\"\n";
    desk.write("wrong.toml", scenario);
    let arguments = ["run", "wrong.toml", "--preempt", "full"];
    let said = Finished::new(desk.lasting_command(&arguments).output().unwrap());
    said.fails(1, &[]);
    said.says(&["full: line 7: a finishes: expected 30 ms, found 15", "0 of 1 expectations met"]);
}

/// The guest is discarded, and the next scenario is played.
#[test]
fn a_scenario_that_hangs_its_guest_fails_alone() {
    let desk = Desk::new();
    let scenario = |name: &str, steps: &str| {
        let text = format!(
            "format = 1\nname = \"{name}\"\ndescription = \"d\"\nend = \"50ms\"\n\
             [thread.a]\npolicy = \"fifo:98\"\nsteps = [{steps}]\n"
        );
        desk.write(&format!("{name}.toml"), &text);
    };
    scenario("hangs", "{ call = [{ irqs_off = [{ busy = \"40s\" }] }] }");
    scenario("works", "{ call = [{ busy = \"10ms\" }] }");
    let arguments = ["run", "hangs.toml", "works.toml", "--preempt", "full"];
    let said = Finished::new(desk.lasting_command(&arguments).output().unwrap());
    said.fails(3, &[]);
    said.says(&["full failed: something kept the CPU long after the end", "works none to meet"]);
}

/// A kernel from a file has no headers: its module is refused, and a scenario without a module is
/// played.
#[test]
fn without_headers_only_user_space_is_played() {
    let desk = Desk::new();
    let scenario = |name: &str, cpus: u32, step: &str| {
        let text = format!(
            "format = 1\nname = \"{name}\"\ndescription = \"d\"\ncpus = {cpus}\nend = \"50ms\"\n\
             [thread.a]\nsteps = [{step}]\n"
        );
        desk.write(&format!("{name}.toml"), &text);
    };
    scenario("kernel", 1, "{ call = [{ busy = \"10ms\" }] }");
    scenario("user", 2, "{ busy = \"10ms\" }");
    let play = |arguments: &[&str]| {
        let all = [&["run", "--preempt", "full"], arguments].concat();
        Finished::new(desk.lasting_command(&all).output().unwrap())
    };
    play(&["user.toml"]).succeeds();
    let kernel = format!("file:{}", kernel_of_the_store().display());
    let said = play(&["kernel.toml", "user.toml", "--kernel", &kernel]);
    said.fails(4, &["no module can be built", "this kernel came without modules"]);
    said.says(&["user: d", "(finished)"]);
}

/// Variants stand beside each other, each with its own expectations, in one recording.
#[test]
fn variants_are_played_side_by_side() {
    let desk = Desk::new();
    let file = shipped().into_iter().find(|path| path.ends_with("priority-variants.toml")).unwrap();
    let play = |arguments: &[&str]| {
        let all = [&["run", &*file, "--preempt", "full", "--out", "both"], arguments].concat();
        Finished::new(desk.lasting_command(&all).output().unwrap())
    };
    let said = play(&["--format", "table", "--format", "svg=both.svg"]);
    said.succeeds().says(&[
        "under full",
        "(blocked on the futex m)",
        "plain, full: 3 of 3 expectations met",
        "pi, full: 3 of 3 expectations met",
    ]);
    let row = said.stdout.lines().find(|line| line.contains("(blocked on the futex m)")).unwrap();
    let [plain, pi] =
        row.split(" ms").map(|text| text.rsplit(' ').next().unwrap()).collect::<Vec<_>>()[..2]
    else {
        panic!("{row}")
    };
    assert!(plain.starts_with("25") && pi.starts_with('5'), "{row}");
    let picture = fs::read_to_string(desk.path("both.svg")).unwrap();
    assert!(picture.contains(">plain, full<") && picture.contains(">pi, full<"), "{picture}");
    let document: Value = serde_json::from_str(&play(&["--format", "json"]).stdout).unwrap();
    let columns = &document["scenarios"][0]["models"];
    assert_eq!((&columns[0]["variant"], &columns[1]["variant"]), (&"plain".into(), &"pi".into()));
    let blocked = columns[0]["outcome"]["threads"][2]["blocked"][0]["blocked_ns"].as_u64().unwrap();
    assert!(blocked.abs_diff(25_000_000) < 500_000, "{blocked}");
}

fn case(name: &str) -> String {
    format!("{}/../scenario/tests/cases/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_period_counts_from_when_it_was_due() {
    let desk = Desk::new();
    let arguments = ["run", &case("late-period"), "--preempt", "full"];
    let said = Finished::new(desk.lasting_command(&arguments).output().unwrap());
    said.fails(1, &[]);
    said.says(&[
        "server latency (wait 2): expected at most 100 us, found 3",
        "0 of 1 expectations",
    ]);
}

#[test]
fn each_variant_shows_its_own_time() {
    let desk = Desk::new();
    let arguments = ["run", &case("audio-priority"), "--preempt", "full"];
    let said = Finished::new(desk.lasting_command(&arguments).output().unwrap());
    said.succeeds();
    assert!(
        !said.stdout.contains("0 of 0") && !said.stdout.contains("added 0 "),
        "{}",
        said.stdout
    );
}
