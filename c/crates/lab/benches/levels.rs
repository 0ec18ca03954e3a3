//! The cost of a cost model: QEMU's CPU time with prices, and with prices and caches, against one price
//! for all instructions.
//!
//! The workloads do the same work under each. `make bench` runs it.

#![allow(missing_docs, clippy::print_stdout, reason = "a benchmark is a program of its own")]

mod common;

use std::time::Duration;

use common::{children_cpu, prepare_text};
use preemptlab_runner::{Backend, Cancel};

/// Executions of each cell; the shortest counts.
const ROUNDS: usize = 2;

const WORKLOADS: &str = r#"
[workload.build]
kind = "build"
units = 24

[workload.fork]
kind = "stress-ng"
stressor = "fork"
ops = 1000

[workload.matrix]
kind = "stress-ng"
stressor = "matrix"
ops = 300

[workload.pipe]
kind = "stress-ng"
stressor = "switch"
ops = 50000
"#;

fn main() {
    let levels = [
        ("one price", "cost = \"instructions\"\n"),
        ("prices", "cost = \"amd-epyc\"\n"),
        ("prices and caches", "cost = \"amd-epyc\"\ncaches = true\n"),
    ];
    let measured = levels.map(|(level, machine)| {
        let times = cpu_times(machine);
        println!("{level}:");
        for (workload, time) in &times {
            println!("  {workload}: {:.2} s of CPU time", time.as_secs_f64());
        }
        times
    });
    let [one_price, others @ ..] = measured;
    for ((level, _), times) in levels[1..].iter().zip(others) {
        let ratios = one_price.iter().zip(times).map(|((workload, before), (_, after))| {
            let ratio = after.as_secs_f64() / before.as_secs_f64();
            format!("{workload} ×{ratio:.2}")
        });
        println!("{level} over one price: {}", ratios.collect::<Vec<_>>().join(", "));
    }
}

/// Executes every workload on such a machine, and returns the least CPU time of each with QEMU's start
/// and end.
fn cpu_times(machine: &str) -> Vec<(String, Duration)> {
    let prepared = prepare_text(&format!(
        "format = 1\nname = \"levels\"\n[factors]\nkernel = [\"debian:6.12\"]\npreempt = [\"full\"]\n\
         [replicates]\ncount = 1\n[machine]\nmemory_mib = 1024\n{machine}{WORKLOADS}"
    ));
    let (vm, cancel) = (prepared.vm(), Cancel::default());
    let mut times = Vec::new();
    for planned in &prepared.manifest.plan.cells {
        let cell = planned.inputs().expect("a cell that can be executed");
        vm.prepare(&cell.snapshot, &cancel).expect("a snapshot");
        let rounds = (0..ROUNDS).map(|_| {
            let before = children_cpu();
            vm.execute(cell, None, &cancel).expect("a cell");
            children_cpu() - before
        });
        times.push((planned.factors.workload.to_string(), rounds.min().expect("a round")));
    }
    times
}
