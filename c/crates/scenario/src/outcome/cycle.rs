//! Cycles of the wait-for graph.

use std::collections::{BTreeMap, VecDeque};

use crate::Scenario;

use super::{
    Cycle, Link,
    hold::Hold,
    stuck::{Blocked, holders},
};

/// Returns the shortest cycle through each thread that is in one. A thread that a cycle names
/// already gets no cycle of its own.
pub(super) fn cycles(
    scenario: &Scenario,
    holds: &[Hold],
    blocked: &[Option<Blocked>],
) -> Vec<Cycle> {
    let graph: Vec<Vec<usize>> =
        (0..blocked.len()).map(|thread| holders(holds, blocked, thread)).collect();
    let mut is_named = vec![false; graph.len()];
    let mut cycles = Vec::new();
    for start in 0..graph.len() {
        if is_named[start] {
            continue;
        }
        let Some(threads) = shortest(&graph, start) else { continue };
        let next = threads.iter().cycle().skip(1);
        let links = threads
            .iter()
            .zip(next)
            .filter_map(|(thread, holder)| {
                let name = |thread: usize| scenario.script().threads[thread].name.clone();
                let resource = blocked[*thread]?.key.resource(scenario);
                Some(Link { thread: name(*thread), resource, holder: name(*holder) })
            })
            .collect();
        threads.iter().for_each(|thread| is_named[*thread] = true);
        cycles.push(Cycle { links });
    }
    cycles
}

/// Returns the threads of a shortest way from one back to itself.
fn shortest(graph: &[Vec<usize>], start: usize) -> Option<Vec<usize>> {
    let mut from = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(thread) = queue.pop_front() {
        for &next in &graph[thread] {
            if next == start {
                let mut way = vec![thread];
                while let Some(&before) = from.get(&way[way.len() - 1]) {
                    way.push(before);
                }
                way.reverse();
                return Some(way);
            }
            if let std::collections::btree_map::Entry::Vacant(entry) = from.entry(next) {
                entry.insert(thread);
                queue.push_back(next);
            }
        }
    }
    None
}
