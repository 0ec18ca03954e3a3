//! No price is fitted to a workload that prices have to predict.

use std::{collections::BTreeSet, fs, path::Path};

use preemptlab_calibrate::HELD_OUT;
use preemptlab_micro::benchmarks;
use preemptlab_workload::Workload;

/// Programs that workloads and examples execute.
const PROGRAMS: [&str; 7] =
    ["cyclictest", "hackbench", "memtier", "pgbench", "redis", "sockperf", "stress-ng"];

/// Returns the kinds of workloads, which the reader of another kind lists.
fn kinds() -> BTreeSet<String> {
    let error = serde_json::from_str::<Workload>(r#"{"kind":"?"}"#).unwrap_err().to_string();
    let kinds: BTreeSet<String> = error.split('`').skip(3).step_by(2).map(str::to_owned).collect();
    assert!(kinds.contains("pgbench") && kinds.contains("stress-ng"), "{error}");
    kinds
}

#[test]
fn no_benchmark_is_a_workload() {
    let kinds = kinds();
    for benchmark in benchmarks() {
        for workload in kinds.iter().map(String::as_str).chain(PROGRAMS) {
            let name = benchmark.name;
            assert!(!name.contains(workload), "the benchmark {name} is the workload {workload}");
        }
    }
}

#[test]
fn no_source_of_the_fit_names_a_program_of_a_workload() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in [here.join("src"), here.join("src/arch"), here.join("../../guest/micro/src")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for program in PROGRAMS {
                assert!(!text.contains(program), "{} names {program}", path.display());
            }
        }
    }
}

#[test]
fn fitted_and_held_out_are_apart() {
    let held_out: BTreeSet<&str> = HELD_OUT.into();
    assert_eq!(held_out.len(), HELD_OUT.len());
    let fitted = benchmarks().filter(|benchmark| !held_out.contains(benchmark.name)).count();
    assert_eq!(fitted + held_out.len(), benchmarks().count());
}
