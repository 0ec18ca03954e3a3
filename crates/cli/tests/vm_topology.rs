//! Sockets, cores, threads, caches and NUMA nodes, as the guest's kernel finds them.

use std::fs;

use crate::common::{Desk, Finished};

const SCRIPT: &str = include_str!("topology/topology.sh");

/// Writes an experiment with this machine, whose cell completes if the kernel reports the expected
/// topology.
fn write(desk: &Desk, name: &str, factors: &str, machine: &str, expected: &str) {
    fs::create_dir(desk.path(name)).unwrap();
    desk.write(&format!("{name}/topology.sh"), SCRIPT);
    let workload = format!(
        r#"format = 1
packages = ["busybox-static"]

[[probe]]
name = "topology"
argv = ["/bin/busybox", "sh", "/workload/topology.sh"]

[[metric]]
name = "is_known"
unit = "machines"
better = "higher"
from = "topology.stdout"
pattern = '^(1) {expected}, end$'
"#
    );
    desk.write(&format!("{name}/workload.toml"), &workload);
    let experiment = format!(
        r#"format = 1
name = "topology"

[factors]
kernel = ["debian:6.12"]
{factors}

[replicates]
count = 1

[machine]
cost = "instructions"
{machine}

[workload.topology]
kind = "folder"
path = "{name}"
"#
    );
    desk.write(&format!("{name}.toml"), &experiment);
}

#[test]
fn the_kernel_finds_the_topology() {
    let desk = Desk::new();
    let expected = "core 0-1, socket 0-7, L1-Data 0-1, L1-Instruction 0-1, L2-Unified 0-1, \
                    L3-Unified 0-7, node0 0-7, domain0 SMT, domain1 MC";
    let machine = "[machine.topology]\ncores = 4\nthreads = 2";
    write(&desk, "threads", "preempt = [\"full\"]\ncpus = [8]", machine, expected);
    // A cluster (CLS) is the cores that share a second-level cache.
    let expected = "core 1, socket 0-1, L1-Data 1, L1-Instruction 1, L2-Unified 0-1, \
                    L3-Unified 0-1, node0 0-1, node1 2-3, domain0 CLS, domain1 NUMA";
    let machine = "[machine.topology]\nsockets = 2\ncores = 2\nnuma_nodes = 2\n\
                   caches = { l2 = \"socket\" }";
    write(&desk, "nodes", "preempt = [\"full\"]\ncpus = [4]", machine, expected);
    // The board of arm64 tells of no caches: the kernel reads their levels from the CPU, and schedules by sockets.
    let expected = "core 0-1, socket 0-1, L1-Data 1, L1-Instruction 1, L2-Unified 0-3, \
                    node0 0-1, node1 2-3, domain0 SMT, domain1 NUMA";
    let machine = "arch = \"arm64\"\n\
                   [machine.topology]\nsockets = 2\nthreads = 2\nnuma_nodes = 2";
    write(&desk, "arm64", "preempt = [\"voluntary\"]\ncpus = [4]", machine, expected);
    for name in ["threads", "nodes", "arm64"] {
        let plan = desk.lasting_command(&["run", "-n", &format!("{name}.toml")]).output().unwrap();
        Finished::new(plan).succeeds().says(&["Machine: sockets"]);
        let (file, out) = (format!("{name}.toml"), format!("runs/{name}"));
        let run = desk.lasting_command(&["run", &file, "--out", &out]).output().unwrap();
        Finished::new(run).succeeds();
    }
}
