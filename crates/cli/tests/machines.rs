//! Machines that `run` cannot compare, and `compare` on two machines.

use std::{collections::BTreeSet, fs};

use crate::common::Desk;
use preemptlab_testkit::recorded::{Cell, record};

const TEXT: &str = "preempt = [\"none\", \"full\"]\n[replicates]\ncount = 5\n\
    [workload.load]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";

/// Nothing listens there: a command that gets that far says so.
const NO_MIRROR: [&str; 2] = ["--set", "mirror=http://127.0.0.1:9/debian"];

/// Returns a desk with `plain.toml` and with `priced.toml`, whose cost is `amd-epyc`.
fn desk() -> Desk {
    let desk = Desk::new();
    let head = "format = 1\nname = \"made\"\n[factors]\nkernel = [\"debian:6.12\"]\n";
    desk.write("plain.toml", &format!("{head}{TEXT}"));
    desk.write("priced.toml", &format!("{head}{TEXT}[machine]\ncost = \"amd-epyc\"\n"));
    desk
}

#[test]
fn machines_that_cannot_be_compared_are_refused_before_anything_is_brought_here() {
    let desk = desk();
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/amd-epyc.toml");
    let shipped = fs::read_to_string(shipped).unwrap();
    desk.write("bad.toml", &shipped.replace("halt = 768000", "halt = 0"));
    desk.write("lacks.toml", &shipped.replace("halt = 768000\n", ""));
    desk.write("twin.toml", &shipped.replace("halt = 768000", "halt = 1"));
    for (arguments, said) in [
        (
            &["--machine", "amd-epyc", "--machine", "twin.toml"][..],
            "two machines have the name `amd-epyc`",
        ),
        (&["--machine", "bad.toml"], "a price must be 1 to 16777215"),
        (&["--machine", "lacks.toml"], "halt"),
        (
            &["--machine", "desktop"],
            "preemptlab has amd-epyc, desktop-x86, server-x86, raspberry-pi-4, server-arm64, and",
        ),
        (&["--machine", "server-x68"], "did you mean `server-x86`?"),
        (&["--machine", "instruction"], "did you mean `instructions`?"),
        (&["--machine", "desktop-x86", "--backend", "host"], "only virtual time has the prices"),
        (&["--machine", "desktop-x86", "--backend", "kvm"], "only virtual time has the prices"),
    ] {
        let finished = desk.run(&[&["run", "plain.toml"], arguments, &NO_MIRROR].concat());
        assert_eq!(finished.code, 2, "{arguments:?}: {}", finished.stderr);
        let told = finished.stderr.replace('│', "");
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(said), "{arguments:?}: {told}");
        assert!(!told.contains("127.0.0.1"), "{arguments:?}: {told}");
        assert!(!desk.path("runs").exists(), "{arguments:?}");
    }
    // Machines that can be compared get as far as the mirror.
    let machines = ["--machine", "instructions", "--machine", "server-x86"];
    let finished = desk.run(&[&["run", "priced.toml"], &machines[..], &NO_MIRROR].concat());
    finished.fails(4, &["127.0.0.1:9"]);
}

#[test]
fn machines_of_a_file_that_cannot_be_compared_are_refused() {
    let desk = Desk::new();
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/amd-epyc.toml");
    let shipped = fs::read_to_string(shipped).unwrap();
    desk.write("lacks.toml", &shipped.replace("halt = 768000\n", ""));
    desk.write("twin.toml", &shipped.replace("halt = 768000", "halt = 1"));
    let named = |machines: &str, further: &str| {
        let head = "format = 1\nname = \"made\"\n[factors]\nkernel = [\"debian:6.12\"]\n";
        format!("{head}machine = [{machines}]\n{TEXT}{further}")
    };
    let caches = "[machine]\ncaches = true\n";
    for (machines, further, arguments, said) in [
        ("\"server-x68\"", "", &[][..], "did you mean `server-x86`?"),
        ("\"amd-epyc\", \"amd-epyc\"", "", &[], "two machines have the name `amd-epyc`"),
        ("\"amd-epyc\", \"twin.toml\"", "", &[], "two machines have the name `amd-epyc`"),
        ("\"amd-epyc\", \"lacks.toml\"", "", &[], "there is no price for `halt`"),
        ("\"server-x86\"", "[machine]\ncost = \"amd-epyc\"\n", &[], "the machine is a factor"),
        ("\"server-x86\", \"instructions\"", caches, &[], "caches"),
        ("\"server-x86\", \"desktop-x86\"", caches, &[], "desktop-x86 has no caches"),
        ("\"server-x86\", \"amd-epyc\"", "", &["--backend", "kvm"], "only virtual time has"),
    ] {
        desk.write("made.toml", &named(machines, further));
        let finished = desk.run(&[&["run", "made.toml"], arguments, &NO_MIRROR].concat());
        assert_eq!(finished.code, 2, "{machines}: {}", finished.stderr);
        let told = finished.stderr.replace('│', "");
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(said), "{machines}: {told}");
        assert!(!desk.path("runs").exists(), "{machines}");
    }
    // A machine without prices is one like any other.
    desk.write("made.toml", &named("\"instructions\", \"server-x86\"", ""));
    let finished = desk.run(&[&["run", "made.toml"], &NO_MIRROR[..]].concat());
    finished.fails(4, &["127.0.0.1:9"]);
}

/// With one cost `full` is better, with the other it is worse.
#[test]
fn a_verdict_of_one_cost_alone_depends_on_the_cost_model() {
    let desk = Desk::new();
    let late = |none_us: u64, full_us: u64| {
        move |mode: &str, replicate: u32| {
            let own_us = if mode == "full" { full_us } else { none_us };
            Cell::Later(own_us + u64::from(replicate % 2))
        }
    };
    let under = |cost: &str| format!("{TEXT}[machine]\ncost = \"{cost}\"\n");
    record(&desk.path("a"), &under("amd-epyc"), late(12, 6));
    record(&desk.path("b"), &under("desktop-x86"), late(6, 12));
    let finished = desk.run(&["compare", "a", "b"]);
    finished.says(&[
        "load on 1 CPU: what amd-epyc and desktop-x86 say",
        "What disagrees depends on the cost model",
    ]);
    assert!(finished.stderr.contains("cost is \"amd-epyc\" and \"desktop-x86\""));
    let csv = desk.run(&["compare", "a", "b", "--format", "csv"]).succeeds().stdout.clone();
    let ends: BTreeSet<&str> = csv.lines().filter_map(|line| line.rsplit(',').next()).collect();
    assert_eq!(ends, BTreeSet::from(["\"amd-epyc\"", "\"desktop-x86\"", "\"profile\""]), "{csv}");
    let csv = desk.run(&["compare", "a", "--format", "csv"]).succeeds().stdout.clone();
    assert!(!csv.contains("profile"), "{csv}");
    record(&desk.path("c"), &under("desktop-x86"), late(14, 6));
    let finished = desk.run(&["compare", "a", "c"]);
    finished.says(&["what amd-epyc and desktop-x86 say", "0 disagree"]);
    assert!(!finished.stdout.contains("depends on the cost model"), "{}", finished.stdout);
}
