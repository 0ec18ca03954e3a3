//! QEMU's arguments of sockets, cores, threads, caches and NUMA nodes.

use preemptlab_model::{Caches, Machine, Topology};

/// Returns what `-machine` says about the caches.
pub(crate) fn caches(topology: Option<Topology>) -> String {
    let Some(topology) = topology else { return String::new() };
    let Caches { l1, l2, l3 } = topology.caches();
    let caches = [("l1d", l1), ("l1i", l1), ("l2", l2), ("l3", l3)];
    let word = |(at, (name, sharing)): (usize, (&str, preemptlab_model::Sharing))| {
        let sharing = sharing.as_str();
        format!(",smp-cache.{at}.cache={name},smp-cache.{at}.topology={sharing}")
    };
    caches.into_iter().enumerate().map(word).collect()
}

/// Returns the value of `-smp`.
pub(crate) fn cpus(machine: &Machine) -> String {
    let cpus = machine.cpus;
    machine.topology.map_or_else(
        || cpus.to_string(),
        |it| {
            let (sockets, cores, threads) = (it.sockets(), it.cores(), it.threads());
            format!("{cpus},sockets={sockets},cores={cores},threads={threads}")
        },
    )
}

/// Returns the options of the NUMA nodes, with equal parts of the CPUs and of the memory; none where there
/// is one node.
pub(crate) fn nodes(machine: &Machine) -> Vec<(&'static str, String)> {
    let count = machine.topology.map_or(1, Topology::numa_nodes);
    if count == 1 {
        return Vec::new();
    }
    let (cpus, memory_mib) = (machine.cpus / count, machine.memory_mib / count);
    let of_node = |node: u32| {
        let (first, last) = (node * cpus, (node + 1) * cpus - 1);
        [
            ("-object", format!("memory-backend-ram,id=node{node},size={memory_mib}M")),
            ("-numa", format!("node,nodeid={node},cpus={first}-{last},memdev=node{node}")),
        ]
    };
    (0..count).flat_map(of_node).collect()
}
