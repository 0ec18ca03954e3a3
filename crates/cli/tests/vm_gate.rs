//! `gate` on kernels, where it executes nothing: one kernel named twice, and a budget that is too small.
//!
//! Packages and kernels are kept in the user's own store, or in `PREEMPTLAB_STORE`.

use std::fs;

use crate::common::{Desk, Finished};

fn gate(desk: &Desk, arguments: &[&str]) -> Finished {
    let arguments = [&["gate"], arguments].concat();
    Finished::new(desk.lasting_command(&arguments).output().unwrap())
}

#[test]
fn a_kernel_that_is_named_twice_is_no_worse_than_itself() {
    let desk = Desk::new();
    let forms = ["--format", "junit=gate.xml", "--format", "table"];
    let kernels = ["before=debian:6.12", "after=debian:6.12"];
    let said = gate(&desk, &[&kernels[..], &forms].concat());
    let headline = "after (debian:6.12) is no worse than before (debian:6.12)";
    assert!(said.succeeds().stdout.contains(headline), "{}", said.stdout);
    let junit = fs::read_to_string(desk.path("gate.xml")).unwrap();
    assert!(junit.contains("tests=\"1\" failures=\"0\"") && junit.contains(headline), "{junit}");
    assert!(!desk.path("runs").exists(), "it has executed something");
}

#[test]
fn a_budget_below_the_first_look_executes_nothing() {
    let desk = Desk::new();
    let workload = "kind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";
    desk.write(
        "two.toml",
        &format!(
            "format = 1\nname = \"two\"\n[factors]\nkernel = [\"debian:6.12\"]\npreempt = [\"full\"]\n\
             [replicates]\ncount = 3\n[machine]\ncost = \"instructions\"\n[workload.a]\n{workload}[workload.b]\n{workload}groups = 2\n"
        ),
    );
    let kernels = ["debian:6.12", "debian:7.2", "two.toml", "--out", "run", "--budget", "6"];
    let said = gate(&desk, &kernels);
    said.fails(3, &["the first look has 12 cells", "and --budget allows 6", "12 or more"]);
    let cells = fs::read_dir(desk.path("run/cells")).map_or(0, Iterator::count);
    assert_eq!(cells, 0, "{}", said.stderr);
    let stopped = gate(&desk, &[&kernels[..], &["--bisect"]].concat());
    assert_eq!(stopped.code, 3 | 128, "{}", stopped.stderr);
}
