//! The system calls in a log of strace.

use std::{collections::BTreeMap, fs, path::Path};

/// Returns the number of calls of each kind by the thread that makes most of them: strace counts per thread.
pub fn most(log: &Path) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::<(String, String), u32>::new();
    for line in fs::read_to_string(log).unwrap().lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let Some((name, _)) = call.trim_start().split_once('(') else { continue };
        *counts.entry((name.to_owned(), thread.to_owned())).or_default() += 1;
    }
    let mut most = BTreeMap::new();
    for ((name, _), count) in counts {
        let known: &mut u32 = most.entry(name).or_default();
        *known = count.max(*known);
    }
    most
}
