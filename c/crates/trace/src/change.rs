//! Assumed changes of a kernel's functions.

use std::collections::BTreeMap;

/// How a function would differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Whether the scheduler may switch in it: its sections with preemption off no longer keep it from that.
    pub is_preemptible: bool,
    /// Longest time that a section of the function lasts without the interrupts in it, in nanoseconds;
    /// `None` where it lasts as long as it does.
    pub cut_ns: Option<u64>,
}

/// Changes of functions, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes(BTreeMap<String, Change>);

impl Changes {
    /// Makes a function preemptible.
    pub fn make_preemptible(&mut self, function: &str) {
        self.0.entry(function.to_owned()).or_default().is_preemptible = true;
    }

    /// Cuts the sections of a function; of several cuts the shortest counts.
    pub fn cut(&mut self, function: &str, longest_ns: u64) {
        let change = self.0.entry(function.to_owned()).or_default();
        change.cut_ns = Some(change.cut_ns.map_or(longest_ns, |known| known.min(longest_ns)));
    }

    /// Returns the change of a function, if it has one.
    pub fn of(&self, function: &str) -> Option<Change> {
        self.0.get(function).copied()
    }

    /// Returns the functions with their changes.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Change)> {
        self.0.iter().map(|(function, change)| (function.as_str(), *change))
    }
}
