//! The functions that keep preemption or interrupts off, or serve softirqs, ranked by their longest
//! time.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::{
    cpu::{Ended, SectionKind},
    kernel::Kernel,
    timeline::{blame, callers},
};

/// The sections of one kind that a function is to blame for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ranked {
    /// Kind of the sections.
    pub kind: SectionKind,
    /// The function. Short sections of functions that take locks for others stay with these.
    pub function: String,
    /// Callers of the function at its longest section, the nearest first.
    pub callers: Vec<String>,
    /// Number of sections.
    pub count: u64,
    /// All of them together, in nanoseconds.
    pub total_ns: u64,
    /// Length of the longest section, in nanoseconds.
    pub max_ns: u64,
    /// Start of the longest section, in virtual nanoseconds.
    pub max_start_ns: u64,
}

/// Collector of sections.
#[derive(Debug, Default)]
pub(crate) struct Ranking {
    ranked: HashMap<(SectionKind, String), Ranked>,
    /// The section that the last event has ended, until it is known whether its stack follows.
    ended: Option<Ended>,
    /// Sections since the probe's last wakeup. They count when there is another wakeup, so that
    /// programs before and after the measurement do not.
    pending: Vec<(Ended, Vec<String>)>,
    has_begun: bool,
    /// Softirqs that were served one after the other, by CPU.
    bursts: BTreeMap<u32, Burst>,
}

/// A burst of softirqs counts for the one that took most of it.
#[derive(Debug)]
struct Burst {
    whole: Ended,
    longest_ns: u64,
}

impl Ranking {
    /// Takes note of a wakeup of the probe.
    pub fn probed(&mut self, kernel: &Kernel) {
        let bursts = std::mem::take(&mut self.bursts).into_values();
        self.pending.extend(bursts.map(|burst| (burst.whole, Vec::new())));
        let pending = std::mem::take(&mut self.pending);
        if std::mem::replace(&mut self.has_begun, true) {
            for (ended, callers) in pending {
                self.count(kernel, ended, callers);
            }
        }
    }

    /// Takes note of the section that an event of a CPU has ended, if it has ended one.
    pub fn ended(&mut self, cpu: u32, ended: Option<Ended>) {
        let ended = match ended {
            Some(softirq) if softirq.kind == SectionKind::Softirq => {
                self.softirq(cpu, softirq);
                None
            }
            ended => ended,
        };
        if let Some(before) = std::mem::replace(&mut self.ended, ended) {
            self.pending.push((before, Vec::new()));
        }
    }

    fn softirq(&mut self, cpu: u32, softirq: Ended) {
        let ns = softirq.end_ns.saturating_sub(softirq.since.ns);
        match self.bursts.get_mut(&cpu) {
            Some(burst) if burst.whole.end_ns == softirq.since.ns => {
                burst.whole.end_ns = softirq.end_ns;
                if ns > burst.longest_ns {
                    burst.longest_ns = ns;
                    burst.whole.softirq = softirq.softirq;
                }
            }
            _ => {
                let before = self.bursts.insert(cpu, Burst { whole: softirq, longest_ns: ns });
                self.pending.extend(before.map(|burst| (burst.whole, Vec::new())));
            }
        }
    }

    pub fn stack(&mut self, kernel: &Kernel, words: &[u64]) {
        if let Some(ended) = self.ended.take() {
            self.pending.push((ended, callers(kernel, words)));
        }
    }

    /// Returns the ranking, the longest maximum first.
    pub fn finish(self) -> Vec<Ranked> {
        let mut ranked: Vec<Ranked> = self.ranked.into_values().collect();
        ranked
            .sort_by(|a, b| (b.max_ns, a.kind, &a.function).cmp(&(a.max_ns, b.kind, &b.function)));
        ranked
    }

    fn count(&mut self, kernel: &Kernel, ended: Ended, callers: Vec<String>) {
        let Ended { kind, since, end_ns, softirq } = ended;
        let (function, callers) = match softirq {
            Some(probe) => (Some(kernel.tracepoint(probe).name.clone()), Vec::new()),
            None => blame(kernel.function(since.address), callers),
        };
        let function = function.unwrap_or_else(|| format!("{:#x}", since.address));
        let ns = end_ns.saturating_sub(since.ns);
        let ranked = self.ranked.entry((kind, function)).or_insert_with_key(|(_, function)| {
            let function = function.clone();
            let (count, total_ns, max_ns, max_start_ns) = (0, 0, 0, since.ns);
            Ranked { kind, function, callers: Vec::new(), count, total_ns, max_ns, max_start_ns }
        });
        ranked.count += 1;
        ranked.total_ns = ranked.total_ns.saturating_add(ns);
        if ns > ranked.max_ns {
            ranked.max_ns = ns;
            ranked.max_start_ns = since.ns;
            ranked.callers = callers;
        }
    }
}
