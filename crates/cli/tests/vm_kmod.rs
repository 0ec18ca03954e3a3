//! Modules of preemptlab's own, in real virtual machines.
//!
//! Packages are taken from the user's own store, or `PREEMPTLAB_STORE`, so that only the first run
//! on a machine downloads them.

use std::{fs, path::Path, process::Command};

use crate::common::{Desk, Finished, lasting_store, median, tree};

const HOLD: &str = r#"format = 1
name = "hold"

[factors]
kernel = ["debian:6.12"]
preempt = ["full"]

[replicates]
count = 1

[machine]
cost = "instructions"
modules = ["preemptlab_hold"]

[workload.processes]
kind = "cyclictest-hackbench"
window = "1s"
"#;

/// Runs the binary with a store of this test, which has the packages of the one that lasts.
fn run(desk: &Desk, store: &str, arguments: &[&str]) -> Finished {
    let store = desk.path(store);
    let packages = store.join("packages");
    if !packages.is_dir() {
        fs::create_dir_all(&packages).unwrap();
        for package in fs::read_dir(lasting_store().join("packages")).into_iter().flatten() {
            let package = package.unwrap();
            let path = packages.join(package.file_name());
            if fs::hard_link(package.path(), &path).is_err() {
                fs::copy(package.path(), &path).unwrap();
            }
        }
    }
    Finished::new(desk.command(arguments).env("PREEMPTLAB_STORE", store).output().unwrap())
}

/// Returns the modules that a store has built.
fn modules(store: &Path) -> Vec<Vec<u8>> {
    let files = tree(&store.join("kmod")).into_iter();
    files.filter(|(path, _)| path.extension().is_some_and(|it| it == "ko")).map(|it| it.1).collect()
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn holds_show_and_their_module_is_the_same_in_another_store() {
    let desk = Desk::new();
    desk.write("hold.toml", HOLD);
    run(&desk, "store", &["run", "hold.toml", "--out", "a"]).succeeds();
    let json = run(&desk, "store", &["compare", "a", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.succeeds().stdout).unwrap();
    let max_us = median(&json["groups"][0]["configurations"][0], "wakeup.fifo.max");
    // Without the module it is some 300 us. A probe that wakes every ms meets the first one of the
    // longest holds, 5 ms, wherever that begins.
    assert!((4_000.0..6_000.0).contains(&max_us), "{max_us} us");

    // Another store builds everything again, image and module, and must come to the same bytes.
    let other = "another/folder/of-another-length";
    run(&desk, other, &["verify", "a"]).succeeds();
    let built = modules(&desk.path("store"));
    assert_eq!(built.len(), 1);
    assert!(built == modules(&desk.path(other)), "the modules differ");
    let folder = desk.path("").into_os_string().into_encoded_bytes();
    let folder = folder.strip_suffix(b"/").unwrap_or(&folder);
    assert!(!built[0].windows(folder.len()).any(|bytes| bytes == folder), "it names its folder");
}

/// The thread's variants are levels of a factor, each verified by the guest; one level switches it
/// off, and the module refuses the page count of another.
#[test]
#[ignore = "takes long: a part of make nightly"]
fn pages_are_zeroed_in_the_way_that_was_asked_for() {
    let desk = Desk::new();
    let levels = ["yield=1", "yield=0", "pages=0", "pages=4097"];
    let settings = levels.map(|level| format!("\"preemptlab_pgzero.{level}\"")).join(", ");
    // Beside a load of dozens of tasks the idle class may not run for seconds.
    let text = HOLD
        .replace("[replicates]", &format!("settings = [{settings}]\n\n[replicates]"))
        .replace("[machine]", "[machine]\nmemory_mib = 1024")
        .replace("preemptlab_hold", "preemptlab_pgzero")
        .replace("\"cyclictest-hackbench\"\nwindow = \"1s\"", "\"build\"\nunits = 8");
    desk.write("pgzero.toml", &text);
    let command = &["run", "pgzero.toml", "--out", "a", "--no-cache"];
    let said = Finished::new(desk.lasting_command(command).output().unwrap());
    said.fails(3, &["pages=4097", "EINVAL"]);
    let cells = tree(&desk.path("a/cells"));
    let cell = |level: &str| {
        let mut texts = cells.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes));
        texts.find(|text| text.contains(&format!("preemptlab_pgzero.{level}\""))).unwrap()
    };
    for (level, is_there) in [("yield=1", true), ("yield=0", true), ("pages=0", false)] {
        assert_eq!(cell(level).contains("\"pgzero\":"), is_there, "{level}");
    }
}

#[test]
fn an_unknown_module_is_named_with_those_that_there_are() {
    let desk = Desk::new();
    desk.write("bad.toml", &HOLD.replace("preemptlab_hold", "preemptlab_hole"));
    run(&desk, "store", &["run", "-n", "bad.toml"])
        .fails(4, &["`preemptlab_hole`", "preemptlab_hold"]);
}

const HOSTILE: &str = r#"format = 1
packages = ["libc6"]
limit = "20s"

[[probe]]
name = "hostile"
argv = ["/workload/hostile"]

[[metric]]
name = "refused"
unit = "calls"
better = "higher"
from = "hostile.stdout"
pattern = '^refused (\d+)$'
"#;

/// Whatever reaches the module of scenarios from user space is checked there, with and without
/// PREEMPT_RT.
#[test]
fn what_no_scenario_says_is_refused_by_the_module_itself() {
    let desk = Desk::new();
    let text = HOLD
        .replace("[\"debian:6.12\"]", "[\"debian:6.12\", \"debian:6.12-rt\"]")
        .replace("preemptlab_hold", "preemptlab_scenario")
        .replace("\"cyclictest-hackbench\"\nwindow = \"1s\"", "\"folder\"\npath = \"hostile\"");
    desk.write("hostile.toml", &text);
    let folder = desk.path("hostile");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("workload.toml"), HOSTILE).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let built = Command::new("gcc")
        .args(["-std=gnu11", "-Wall", "-Werror", "-O1", "-static", "-I"])
        .arg(root.join("kmod/scenario"))
        .arg("-o")
        .arg(folder.join("hostile"))
        .arg(root.join("crates/cli/tests/hostile/scenario.c"))
        .status();
    assert!(built.unwrap().success());
    let command = &["run", "hostile.toml", "--out", "a", "--no-cache"];
    Finished::new(desk.lasting_command(command).output().unwrap()).succeeds();
    let json = desk.run(&["compare", "a", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.succeeds().stdout).unwrap();
    let configurations = json["groups"][0]["configurations"].as_array().unwrap();
    assert_eq!(configurations.len(), 2);
    for configuration in configurations {
        let metric = &configuration["metrics"][0];
        assert_eq!(metric["name"], "refused");
        assert!(metric["median"].as_f64().unwrap() > 1000.0, "{metric}");
    }
}
