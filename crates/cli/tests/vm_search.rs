//! Whether the worst instant that is computed is one that can be executed.

use crate::common::{Desk, Finished};

/// The configurations of studies/quick.toml, and those of 6.12.
const EXPERIMENT: &str = r#"format = 1
name = "agreement"

[factors]
kernel = ["debian:6.12", "debian:6.18", "debian:7.3", "debian:6.12-rt"]
preempt = ["none", "voluntary", "full", "lazy"]

[replicates]
count = 1

[workload.kernel]
kind = "cyclictest-kernel"
"#;

/// Computed and executed latency agree where they differ by less, in nanoseconds.
const APART_NS: f64 = 2_000.0;

/// Computed and executed latency agree where they differ by less, as a share.
const APART: f64 = 0.05;

/// Of ten configurations at least nine have a wakeup as late as the worst instant says.
#[test]
#[ignore = "takes long: a part of make nightly"]
fn vm_worst_instants_can_be_executed() {
    let desk = Desk::new();
    desk.write("agreement.toml", EXPERIMENT);
    let run = |arguments: &[&str]| Finished::new(desk.lasting_command(arguments).output().unwrap());
    run(&["run", "agreement.toml", "--trace", "--out", "agreement"]).succeeds();
    let searched = run(&["explain", "agreement", "search", "--format", "json"]);
    let searched: serde_json::Value = serde_json::from_str(&searched.succeeds().stdout).unwrap();
    let configurations = searched["configurations"].as_array().unwrap();
    assert_eq!(configurations.len(), 11, "{searched}");
    let differ = |it: &&serde_json::Value| {
        let ns = |name: &str| it[name].as_f64().unwrap();
        let (computed_ns, executed_ns) = (ns("bound_ns"), ns("worst_ns"));
        println!("{}: computed {computed_ns} ns, executed {executed_ns} ns", it["configuration"]);
        let apart_ns = (computed_ns - executed_ns).abs();
        apart_ns > APART_NS && apart_ns > APART * computed_ns
    };
    let apart: Vec<_> = configurations.iter().filter(differ).collect();
    assert!(apart.len() * 10 <= configurations.len(), "{apart:#?}");
}
