//! The functions that keep preemption or interrupts off, or serve softirqs, ranked by their longest
//! time.

use std::collections::{BTreeMap, HashMap, VecDeque, hash_map::Entry};

use serde::{Deserialize, Serialize};

use crate::{
    cpu::{Ended, SectionKind},
    kernel::Kernel,
    timeline::{blame, callers},
    wakeup::Wakeup,
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

/// Largest number of sections before the probe's first wakeup that are kept one by one.
const BEFORE_MAX: usize = 1 << 16;

/// Collector of sections. Its memory is bounded by the number of functions that a kernel has.
#[derive(Debug, Default)]
pub(crate) struct Ranking {
    ranked: Sums,
    /// The section that the last event has ended, until it is known whether its stack follows.
    ended: Option<Ended>,
    /// Sections since the probe's last wakeup. They count when there is another wakeup, so that
    /// programs after the measurement do not.
    pending: Sums,
    /// Sections before the probe's first wakeup; nothing once it has come.
    before: Option<Before>,
    /// Softirqs that were served one after the other, by CPU.
    bursts: BTreeMap<u32, Burst>,
}

/// Sections by kind and function.
type Sums = HashMap<(SectionKind, String), Ranked>;

/// Sections before the end of the probe's first wakeup. Only those that end after it was due delayed it:
/// what programs do before the measurement does not count.
#[derive(Debug, Default)]
struct Before {
    /// The last ones, in the order in which they ended.
    last: VecDeque<(u64, Ranked)>,
    /// The earlier ones, and when the last of these ended, in nanoseconds.
    earlier: Sums,
    earlier_end_ns: u64,
}

impl Before {
    fn push(&mut self, end_ns: u64, section: Ranked) {
        if self.last.len() == BEFORE_MAX
            && let Some((end_ns, section)) = self.last.pop_front()
        {
            self.earlier_end_ns = self.earlier_end_ns.max(end_ns);
            add(&mut self.earlier, section);
        }
        self.last.push_back((end_ns, section));
    }

    /// Returns the sections that ended after an instant. Where these are more than are kept one by one, so
    /// that some of them are among the earlier ones, all of those count.
    fn since(self, ns: u64) -> Sums {
        let mut sums = if self.earlier_end_ns > ns { self.earlier } else { Sums::new() };
        for (_, section) in self.last.into_iter().filter(|(end_ns, _)| *end_ns > ns) {
            add(&mut sums, section);
        }
        sums
    }
}

/// Adds sections to the sums of their function.
fn add(sums: &mut Sums, section: Ranked) {
    match sums.entry((section.kind, section.function.clone())) {
        Entry::Vacant(entry) => {
            entry.insert(section);
        }
        Entry::Occupied(mut entry) => {
            let known = entry.get_mut();
            let count = known.count.saturating_add(section.count);
            let total_ns = known.total_ns.saturating_add(section.total_ns);
            if section.max_ns > known.max_ns {
                *known = section;
            }
            (known.count, known.total_ns) = (count, total_ns);
        }
    }
}

/// A burst of softirqs counts for the one that took most of it.
#[derive(Debug)]
struct Burst {
    whole: Ended,
    longest_ns: u64,
}

impl Ranking {
    pub fn new() -> Self {
        Self { before: Some(Before::default()), ..Self::default() }
    }

    /// Takes note of a wakeup of the probe.
    pub fn probed(&mut self, kernel: &Kernel, wakeup: &Wakeup) {
        // No stack follows the event before this one.
        if let Some(ended) = self.ended.take() {
            self.count(kernel, ended, Vec::new());
        }
        for burst in std::mem::take(&mut self.bursts).into_values() {
            self.count(kernel, burst.whole, Vec::new());
        }
        let counted = match self.before.take() {
            Some(before) => before.since(wakeup.due_ns),
            None => std::mem::take(&mut self.pending),
        };
        for section in counted.into_values() {
            add(&mut self.ranked, section);
        }
    }

    /// Takes note of the section that an event of a CPU has ended, if it has ended one.
    pub fn ended(&mut self, kernel: &Kernel, cpu: u32, ended: Option<Ended>) {
        let ended = match ended {
            Some(softirq) if softirq.kind == SectionKind::Softirq => {
                self.softirq(kernel, cpu, softirq);
                None
            }
            ended => ended,
        };
        if let Some(before) = std::mem::replace(&mut self.ended, ended) {
            self.count(kernel, before, Vec::new());
        }
    }

    fn softirq(&mut self, kernel: &Kernel, cpu: u32, softirq: Ended) {
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
                if let Some(burst) = before {
                    self.count(kernel, burst.whole, Vec::new());
                }
            }
        }
    }

    pub fn stack(&mut self, kernel: &Kernel, words: &[u64]) {
        if let Some(ended) = self.ended.take() {
            self.count(kernel, ended, callers(kernel, words));
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
        let (count, total_ns, max_ns, max_start_ns) = (1, ns, ns, since.ns);
        let section = Ranked { kind, function, callers, count, total_ns, max_ns, max_start_ns };
        match &mut self.before {
            Some(before) => before.push(end_ns, section),
            None => add(&mut self.pending, section),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Opportunities, Target, Window, findings,
        testing::{PROBE, busy, kernel},
    };

    fn ranked(wakeups: u64, window: Window) -> Vec<Ranked> {
        let target = Target { comm: PROBE, is_realtime: true };
        let all = Opportunities::Everywhere;
        findings(busy(wakeups).as_slice(), &kernel(), target, all, window).unwrap().sections
    }

    /// What delayed the first wakeup counts, and what ended before it was due does not; of the last wakeup what
    /// ended behind the window counts as well.
    #[test]
    fn each_section_that_delayed_a_wakeup_counts() {
        let is_section = |it: &&Ranked| {
            (it.kind, it.function.as_str()) == (SectionKind::PreemptOff, "do_nanosleep")
        };
        for (wakeups, end_ns) in [(1, u64::MAX), (3, u64::MAX), (3, 3_000_010)] {
            let ranked = ranked(wakeups, Window { start_ns: 0, end_ns });
            let section = ranked.iter().find(is_section).unwrap();
            assert_eq!((section.count, section.max_ns), (wakeups, 60_000), "{ranked:?}");
        }
        let first = ranked(1, Window { start_ns: 0, end_ns: u64::MAX });
        assert!(first.iter().all(|it| it.max_start_ns + it.max_ns > 1_000_000), "{first:?}");
        assert!(ranked(1, Window { start_ns: 2_000_000, end_ns: u64::MAX }).is_empty());
    }

    fn section(number: u64) -> Ranked {
        let function = format!("f{}", number % 3);
        let (kind, callers) = (SectionKind::IrqsOff, Vec::new());
        let (count, total_ns, max_ns, max_start_ns) = (1, number, number, number);
        Ranked { kind, function, callers, count, total_ns, max_ns, max_start_ns }
    }

    #[test]
    fn a_first_wakeup_behind_many_sections_lacks_none() {
        let (many, due_ns) = (3 * BEFORE_MAX as u64, 1_000);
        let since = |due_ns: u64| {
            let mut before = Before::default();
            (0..many).for_each(|number| before.push(number, section(number)));
            assert_eq!(before.last.len(), BEFORE_MAX);
            let sums = before.since(due_ns);
            let count: u64 = sums.values().map(|it| it.count).sum();
            let max_ns = sums.values().map(|it| it.max_ns).max();
            (count, max_ns)
        };
        assert_eq!(since(many - 10), (9, Some(many - 1)));
        // Some of those that are not kept one by one ended later.
        let (count, max_ns) = since(due_ns);
        assert!(count >= many - due_ns && max_ns == Some(many - 1));
    }
}
