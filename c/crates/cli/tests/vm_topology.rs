//! Sockets, cores, threads, caches and NUMA nodes, as the guest's kernel finds them.

mod common;

use std::fs;

use common::{Desk, Finished};

const SCRIPT: &str = include_str!("topology/topology.sh");

/// Writes an experiment with this machine, whose cell completes if the kernel reports the expected
/// topology.
fn write(desk: &Desk, name: &str, cpus: u32, topology: &str, expected: &str) {
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
preempt = ["full"]
cpus = [{cpus}]

[replicates]
count = 1

[machine]
cost = "instructions"

[machine.topology]
{topology}

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
    let threads = "core 0-1, socket 0-7, L1-Data 0-1, L1-Instruction 0-1, L2-Unified 0-1, \
                   L3-Unified 0-7, node0 0-7, domain0 SMT, domain1 MC";
    write(&desk, "threads", 8, "cores = 4\nthreads = 2", threads);
    // A cluster (CLS) is the cores that share a second-level cache.
    let nodes = "core 1, socket 0-1, L1-Data 1, L1-Instruction 1, L2-Unified 0-1, \
                 L3-Unified 0-1, node0 0-1, node1 2-3, domain0 CLS, domain1 NUMA";
    let keys = "sockets = 2\ncores = 2\nnuma_nodes = 2\ncaches = { l2 = \"socket\" }";
    write(&desk, "nodes", 4, keys, nodes);
    for name in ["threads", "nodes"] {
        let plan = desk.lasting_command(&["run", "-n", &format!("{name}.toml")]).output().unwrap();
        Finished::new(plan).succeeds().says(&["Machine: sockets"]);
        let (file, out) = (format!("{name}.toml"), format!("runs/{name}"));
        let run = desk.lasting_command(&["run", &file, "--out", &out]).output().unwrap();
        Finished::new(run).succeeds();
    }
}
