//! The functions that keep preemption or interrupts off, or serve softirqs, and the calls that the kernel
//! does not leave, ranked by their longest time.

use std::collections::{BTreeMap, HashMap, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    cpu::{Ended, SectionKind, Since},
    kernel::Kernel,
    timeline::{blame, callers, is_wrapper},
    wakeup::Wakeup,
};

/// The sections of one kind that a function is to blame for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ranked {
    /// Kind of the sections.
    pub kind: SectionKind,
    /// The function. Short sections of functions that take locks for others stay with these. Where the kernel
    /// does not give way, it is the call that it works for, such as `munmap`.
    pub function: String,
    /// Callers of the function at its longest section, the nearest first.
    pub callers: Vec<String>,
    /// Number of sections.
    pub count: u64,
    /// All of them together, in nanoseconds. Interrupts and softirqs that come while preemption is off count for
    /// themselves alone.
    pub total_ns: u64,
    /// Length of the longest section, in nanoseconds, without such interrupts and softirqs.
    pub max_ns: u64,
    /// Start of the longest section, in virtual nanoseconds.
    pub max_start_ns: u64,
    /// End of the longest section, in virtual nanoseconds; findings of older traces have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_end_ns: Option<u64>,
    /// Index of the CPU of the longest section; findings of older traces have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cpu: Option<u32>,
}

/// Largest number of sections before the probe's first wakeup that are kept one by one.
const BEFORE_MAX: usize = 1 << 16;

/// Collector of sections. Its memory is bounded by the number of functions that a kernel has.
#[derive(Debug, Default)]
pub(crate) struct Ranking {
    names: Names,
    ranked: Sums,
    /// The section that the last event of a CPU has ended, until it is known whether its stack follows.
    ended: Option<(u32, Ended)>,
    /// Sections since the probe's last wakeup. They count when there is another wakeup, so that
    /// programs after the measurement do not.
    pending: Sums,
    /// Sections before the probe's first wakeup; nothing once it has come.
    before: Option<Before>,
    /// Softirqs that were served one after the other, by CPU.
    bursts: BTreeMap<u32, Burst>,
    /// Whether the trace has come to the window.
    has_begun: bool,
    /// Sections of the window, once it is over and no wakeup has come.
    whole: Option<Sums>,
}

/// Sections by the place of their kind and function, see [`place`].
#[derive(Clone, Debug, Default)]
struct Sums {
    by_place: Vec<Option<Sum>>,
    /// The places that have a sum.
    places: Vec<u32>,
}

impl Sums {
    fn get(&self, place: u32) -> Option<&Sum> {
        self.by_place.get(place as usize)?.as_ref()
    }

    /// Adds sections to those of their function.
    fn add(&mut self, place: u32, section: Sum) {
        if place as usize >= self.by_place.len() {
            self.by_place.resize(place as usize + 1, None);
        }
        match &mut self.by_place[place as usize] {
            Some(known) => {
                let count = known.count.saturating_add(section.count);
                let total_ns = known.total_ns.saturating_add(section.total_ns);
                if section.max_ns > known.max_ns {
                    *known = section;
                }
                (known.count, known.total_ns) = (count, total_ns);
            }
            none => {
                *none = Some(section);
                self.places.push(place);
            }
        }
    }

    /// Takes in the later sums, which are then gone there.
    fn take_in(&mut self, later: &mut Self) {
        let Self { by_place, places } = later;
        for place in places.drain(..) {
            if let Some(sum) = by_place[place as usize].take() {
                self.add(place, sum);
            }
        }
    }
}

/// Kinds of sections, in the order of their places.
const KINDS: [SectionKind; 4] = SectionKind::ALL;

/// Returns the place of the sections of a kind of the function whose name has this number.
fn place(kind: SectionKind, name: u32) -> u32 {
    name * KINDS.len() as u32 + kind as u32
}

/// Sections of a function.
#[derive(Clone, Debug)]
struct Sum {
    count: u64,
    total_ns: u64,
    max_ns: u64,
    max_start_ns: u64,
    max_end_ns: u64,
    max_cpu: u32,
    /// Callers at the longest section.
    callers: Vec<String>,
}

impl Sum {
    /// Returns one section of a CPU, whose callers are not known; `ns` is its own length, in nanoseconds.
    fn one(cpu: u32, (start_ns, end_ns): (u64, u64), ns: u64) -> Self {
        Self {
            count: 1,
            total_ns: ns,
            max_ns: ns,
            max_start_ns: start_ns,
            max_end_ns: end_ns,
            max_cpu: cpu,
            callers: Vec::new(),
        }
    }
}

/// Sections before the end of the probe's first wakeup. Only those that end after it was due delayed it:
/// the work of programs before the measurement does not count.
#[derive(Debug, Default)]
struct Before {
    /// The last ones, in the order in which they ended.
    last: VecDeque<(u64, Section)>,
    /// The earlier ones, and when the last of these ended, in nanoseconds.
    earlier: Sums,
    earlier_end_ns: u64,
}

/// The place of a section, and the section.
type Section = (u32, Sum);

impl Before {
    /// Forgets the sections so far, which ended before the window.
    fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns all sections that are not forgotten.
    fn all(&self) -> Sums {
        let mut sums = self.earlier.clone();
        for (_, (place, sum)) in &self.last {
            sums.add(*place, sum.clone());
        }
        sums
    }

    fn push(&mut self, end_ns: u64, section: Section) {
        if self.last.len() == BEFORE_MAX
            && let Some((end_ns, section)) = self.last.pop_front()
        {
            self.earlier_end_ns = self.earlier_end_ns.max(end_ns);
            self.earlier.add(section.0, section.1);
        }
        self.last.push_back((end_ns, section));
    }

    /// Returns the sections that ended after an instant. Where these are more than are kept one by one, so
    /// that some of them are among the earlier ones, all of those count.
    fn since(self, ns: u64) -> Sums {
        let mut sums = if self.earlier_end_ns > ns { self.earlier } else { Sums::default() };
        for (_, (place, sum)) in self.last.into_iter().filter(|(end_ns, _)| *end_ns > ns) {
            sums.add(place, sum);
        }
        sums
    }
}

/// Names of functions by numbers, and the numbers of those to blame by where sections begin.
#[derive(Debug, Default)]
struct Names {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    /// Functions of sections whose stack says nothing about the function to blame.
    sites: HashMap<u64, u32>,
    softirqs: HashMap<u32, u32>,
}

impl Names {
    fn number(&mut self, name: String) -> u32 {
        let Self { names, numbers, .. } = self;
        *numbers.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            (names.len() - 1) as u32
        })
    }

    /// Returns the number of a name.
    fn named(&mut self, name: &str) -> u32 {
        match self.numbers.get(name) {
            Some(number) => *number,
            None => self.number(name.to_owned()),
        }
    }

    /// Returns the number of the function to blame for a section, and its callers. `is_known` says of a
    /// function whether its callers are of no interest.
    fn blamed(
        &mut self,
        kernel: &Kernel,
        ended: Ended,
        words: &[u64],
        is_known: impl FnOnce(u32) -> bool,
    ) -> (u32, Vec<String>) {
        let address = ended.since.address;
        if let Some(probe) = ended.softirq {
            let known = self.softirqs.get(&probe).copied();
            let number = known.unwrap_or_else(|| {
                let number = self.number(kernel.tracepoint(probe).name.clone());
                self.softirqs.insert(probe, number);
                number
            });
            return (number, Vec::new());
        }
        if let Some(number) = self.sites.get(&address)
            && is_known(*number)
        {
            return (*number, Vec::new());
        }
        let function = kernel.function(address);
        let is_own = function.is_some_and(|function| !is_wrapper(function));
        let (blamed, callers) = blame(function, callers(kernel, words));
        let number = self.number(blamed.unwrap_or_else(|| format!("{address:#x}")));
        // Events name the addresses, and a trace has a bounded number of sites.
        if is_own {
            self.sites.insert(address, number);
        }
        (number, callers)
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

    /// Takes note of the window's begin: no section that ended before it counts.
    pub fn begins(&mut self, kernel: &Kernel) {
        self.settle(kernel);
        self.has_begun = true;
        if let Some(before) = &mut self.before {
            before.clear();
        }
    }

    /// Takes note of the window's end. Of a window without a wakeup of a probe all sections count.
    pub fn ends(&mut self, kernel: &Kernel) {
        if self.before.is_none() {
            return;
        }
        self.settle(kernel);
        self.whole = self.before.as_ref().filter(|_| self.has_begun).map(Before::all);
    }

    /// Takes note of a wakeup of the probe.
    pub fn probed(&mut self, kernel: &Kernel, wakeup: &Wakeup) {
        self.settle(kernel);
        match self.before.take() {
            Some(before) => self.ranked.take_in(&mut before.since(wakeup.due_ns)),
            None => self.ranked.take_in(&mut self.pending),
        }
    }

    /// Counts the sections that have ended.
    fn settle(&mut self, kernel: &Kernel) {
        // No stack follows the last event any more.
        if let Some((cpu, ended)) = self.ended.take() {
            self.count(kernel, cpu, ended, &[]);
        }
        for (cpu, burst) in std::mem::take(&mut self.bursts) {
            self.count(kernel, cpu, burst.whole, &[]);
        }
    }

    /// Takes note of a stretch in which the kernel worked for a call and did not give way.
    pub fn not_preemptible(&mut self, call: &str, cpu: u32, since: Since, end_ns: u64) {
        let name = self.names.named(call);
        let ns = end_ns.saturating_sub(since.ns);
        self.add(
            place(SectionKind::NotPreemptible, name),
            end_ns,
            Sum::one(cpu, (since.ns, end_ns), ns),
        );
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
        let before = std::mem::replace(&mut self.ended, ended.map(|ended| (cpu, ended)));
        if let Some((cpu, before)) = before {
            self.count(kernel, cpu, before, &[]);
        }
    }

    fn softirq(&mut self, kernel: &Kernel, cpu: u32, softirq: Ended) {
        let ns = softirq.own_ns();
        match self.bursts.get_mut(&cpu) {
            Some(burst) if burst.whole.end_ns == softirq.since.ns => {
                burst.whole.end_ns = softirq.end_ns;
                burst.whole.stolen_ns = burst.whole.stolen_ns.saturating_add(softirq.stolen_ns);
                if ns > burst.longest_ns {
                    burst.longest_ns = ns;
                    burst.whole.softirq = softirq.softirq;
                }
            }
            _ => {
                let before = self.bursts.insert(cpu, Burst { whole: softirq, longest_ns: ns });
                if let Some(burst) = before {
                    self.count(kernel, cpu, burst.whole, &[]);
                }
            }
        }
    }

    pub fn stack(&mut self, kernel: &Kernel, words: &[u64]) {
        if let Some((cpu, ended)) = self.ended.take() {
            self.count(kernel, cpu, ended, words);
        }
    }

    /// Returns the ranking, the longest maximum first.
    pub fn finish(mut self, kernel: &Kernel) -> Vec<Ranked> {
        if self.before.is_some() && self.whole.is_none() {
            self.ends(kernel);
        }
        let sums = match &self.before {
            Some(_) => self.whole.unwrap_or_default(),
            None => self.ranked,
        };
        let names = self.names.names;
        let sums = sums.by_place.into_iter().enumerate();
        let ranked = sums.filter_map(|(place, sum)| {
            let Sum { count, total_ns, max_ns, max_start_ns, max_end_ns, max_cpu, callers } = sum?;
            let (name, kind) = (place / KINDS.len(), KINDS[place % KINDS.len()]);
            let function = names[name].clone();
            let (max_end_ns, max_cpu) = (Some(max_end_ns), Some(max_cpu));
            Some(Ranked {
                kind,
                function,
                callers,
                count,
                total_ns,
                max_ns,
                max_start_ns,
                max_end_ns,
                max_cpu,
            })
        });
        let mut ranked: Vec<Ranked> = ranked.collect();
        ranked
            .sort_by(|a, b| (b.max_ns, a.kind, &a.function).cmp(&(a.max_ns, b.kind, &b.function)));
        ranked
    }

    fn count(&mut self, kernel: &Kernel, cpu: u32, ended: Ended, words: &[u64]) {
        let Ended { kind, since, end_ns, .. } = ended;
        let ns = ended.own_ns();
        let Self { names, ranked, pending, before, .. } = self;
        // Callers are those at the longest section.
        let is_shorter = |sums: &Sums, function| {
            sums.get(place(kind, function)).is_some_and(|known| known.max_ns >= ns)
        };
        let is_known = |function| {
            before.is_none() && (is_shorter(pending, function) || is_shorter(ranked, function))
        };
        let (function, callers) = names.blamed(kernel, ended, words, is_known);
        self.add(
            place(kind, function),
            end_ns,
            Sum { callers, ..Sum::one(cpu, (since.ns, end_ns), ns) },
        );
    }

    fn add(&mut self, place: u32, end_ns: u64, section: Sum) {
        match &mut self.before {
            Some(before) => before.push(end_ns, (place, section)),
            None => self.pending.add(place, section),
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
        ranked_of(PROBE, wakeups, window)
    }

    fn is_section(ranked: &&Ranked) -> bool {
        (ranked.kind, ranked.function.as_str()) == (SectionKind::PreemptOff, "do_nanosleep")
    }

    fn ranked_of(comm: &str, wakeups: u64, window: Window) -> Vec<Ranked> {
        let target = Target { comm, is_realtime: true, first_waits: true };
        let all = Opportunities::Everywhere;
        findings(busy(wakeups).as_slice(), &kernel(), target, all, window).unwrap().sections
    }

    /// A section that delayed the first wakeup counts, and one that ended before it was due does not; of the
    /// last wakeup those that ended behind the window count as well.
    #[test]
    fn each_section_that_delayed_a_wakeup_counts() {
        for (wakeups, end_ns) in [(1, u64::MAX), (3, u64::MAX), (3, 3_000_010)] {
            let ranked = ranked(wakeups, Window { start_ns: 0, end_ns });
            let section = ranked.iter().find(is_section).unwrap();
            // The timer's interrupt in it takes 90 ns.
            assert_eq!((section.count, section.max_ns), (wakeups, 59_910), "{ranked:?}");
        }
        let first = ranked(1, Window { start_ns: 0, end_ns: u64::MAX });
        assert!(first.iter().all(|it| it.max_start_ns + it.max_ns > 1_000_000), "{first:?}");
    }

    /// Where no wakeup was due in the window, the sections that ended in it count, and no other.
    #[test]
    fn a_window_without_a_wakeup_has_its_own_sections() {
        let count = |start_ns, end_ns| -> u64 {
            let window = Window { start_ns, end_ns };
            let ranked = ranked_of("nobody", 3, window);
            ranked.iter().filter(is_section).map(|it| it.count).sum()
        };
        assert_eq!(count(0, u64::MAX), 3);
        assert_eq!(count(1_500_000, u64::MAX), 2);
        assert_eq!(count(1_500_000, 2_500_000), 1);
        let of_probe = ranked(1, Window { start_ns: 2_000_000, end_ns: u64::MAX });
        assert!(of_probe.iter().all(|it| it.max_start_ns + it.max_ns >= 2_000_000));
    }

    fn section(number: u64) -> Section {
        let sum = Sum { max_start_ns: number, ..Sum::one(0, (number, number), number) };
        (place(SectionKind::IrqsOff, (number % 3) as u32), sum)
    }

    #[test]
    fn a_first_wakeup_behind_many_sections_lacks_none() {
        let (many, due_ns) = (3 * BEFORE_MAX as u64, 1_000);
        let since = |due_ns: u64| {
            let mut before = Before::default();
            (0..many).for_each(|number| before.push(number, section(number)));
            assert_eq!(before.last.len(), BEFORE_MAX);
            let sums = before.since(due_ns);
            let all = || sums.by_place.iter().flatten();
            let count: u64 = all().map(|it| it.count).sum();
            let max_ns = all().map(|it| it.max_ns).max();
            (count, max_ns)
        };
        assert_eq!(since(many - 10), (9, Some(many - 1)));
        // Some of those that are not kept one by one ended later.
        let (count, max_ns) = since(due_ns);
        assert!(count >= many - due_ns && max_ns == Some(many - 1));
    }
}
