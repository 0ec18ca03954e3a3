//! Test that inputs in the store are not asked for again.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use crate::common::{Desk, Finished, tree};

/// One cell of one virtual second.
const ONE: &str = r#"format = 1
name = "one"

[factors]
kernel = ["debian:6.12"]
preempt = ["full"]

[replicates]
count = 1

[machine]
cost = "instructions"

[workload.processes]
kind = "cyclictest-hackbench"
window = "1s"
"#;

/// The programs that resolve, fetch and unpack packages.
const PROGRAMS: [&str; 5] = ["apt-cache", "apt-config", "apt-get", "dpkg", "dpkg-deb"];

/// Puts programs before the machine's that note each call, and then are the machine's.
fn note_calls(folder: &Path, log: &Path) {
    fs::create_dir(folder).unwrap();
    for program in PROGRAMS {
        let path = folder.join(program);
        let log = log.display();
        let text =
            format!("#!/bin/sh\necho {program} \"$@\" >> {log}\nexec /usr/bin/{program} \"$@\"\n");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn what_was_resolved_is_not_resolved_again() {
    let desk = Desk::new();
    desk.write("one.toml", ONE);
    let (programs, log) = (desk.path("programs"), desk.path("calls"));
    note_calls(&programs, &log);
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let run = |arguments: &[&str]| {
        let output = desk.lasting_command(arguments).env("PATH", &path).output().unwrap();
        let finished = Finished::new(output);
        finished.succeeds();
        finished.stdout
    };
    let calls = || fs::read_to_string(&log).unwrap_or_default();

    // Those about one architecture leave the answers about the other alone.
    let asked = [
        "run -n one.toml",
        "run -n one.toml --format json",
        "kernels",
        "kernels --all",
        "kernels --arch arm64",
    ];
    let ask = |what: &str| run(&what.split(' ').collect::<Vec<_>>());
    run(&["run", "one.toml", "--out", "before"]);
    let before = asked.map(ask);
    // The programs that note calls do so when an input is missing.
    let _ = fs::remove_file(&log);
    let mirror = ["run", "-n", "one.toml", "--set", "mirror=copy:/nonexistent/debian"];
    let refused = desk.command(&mirror).env("PATH", &path).output().unwrap();
    Finished::new(refused).fails(4, &["/nonexistent/debian"]);
    assert!(calls().contains("apt-get update"), "{}", calls());
    fs::remove_file(&log).unwrap();

    assert_eq!(asked.map(ask), before);
    run(&["run", "one.toml", "--out", "after"]);
    run(&["run", "one.toml", "--out", "before"]);
    run(&["verify", "after"]);
    assert_eq!(calls(), "");
    assert!(tree(&desk.path("before")) == tree(&desk.path("after")), "the recordings differ");
}

/// A kernel that no mirror has gives its place to another one, and the recording continues.
#[test]
fn vm_a_missing_kernel_is_replaced_by_one_that_answers_the_same_question() {
    let desk = Desk::new();
    let or = |kernels: &str| ONE.replace(r#"["debian:6.12"]"#, kernels);
    let run = |arguments: &[&str]| Finished::new(desk.lasting_command(arguments).output().unwrap());
    let missing = r#"[{ kernel = "debian:6.99", or = ["debian:6.98", "debian:6.12"] }]"#;
    desk.write("missing.toml", &or(missing));
    for arguments in [&["run", "-n", "missing.toml"][..], &["run", "missing.toml", "--out", "run"]]
    {
        let finished = run(arguments);
        let said = "no mirror has debian:6.99 any more: debian:6.12 takes its place";
        assert!(finished.succeeds().stderr.contains(said), "{}", finished.stderr);
    }
    run(&["run", "missing.toml", "--out", "run"]).succeeds();
    run(&["verify", "run"]).succeeds();
    // The file without the choice means the same.
    desk.write("chosen.toml", ONE);
    run(&["run", "chosen.toml", "--out", "run"]).succeeds();
    desk.write("none.toml", &or(r#"[{ kernel = "debian:6.99", or = ["debian:6.98"] }]"#));
    // Where the mirror lags behind, that is the reason (4).
    let none = run(&["run", "-n", "none.toml"]);
    let is_named = none.stderr.contains("no kernel `debian:6.99` is on offer");
    assert!([2, 4].contains(&none.code) && is_named, "{} {}", none.code, none.stderr);
    desk.write("tree.toml", &or(r#"[{ kernel = "tree:/t", or = ["debian:6.12"] }]"#));
    run(&["run", "-n", "tree.toml"]).fails(2, &["`or` is for kernels that a mirror may drop"]);
}
