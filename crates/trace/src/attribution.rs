//! The parts of a trace that belong to functions: sections that begin in them, and instants at which they
//! ran.
//!
//! Only the stack at the end of a section says for whom a lock was taken, so that a section is known to be
//! a function's when it is over. A first pass finds them for a second one.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    io::Read,
};

use preemptlab_protocol::trace::stream::SiteKind;

use crate::{
    change::{Change, Changes},
    cpu::{Ended, Machine, SectionKind, Since},
    decode::{Decoder, Event, Item, TraceError},
    explain::{Window, keep},
    kernel::Kernel,
    point::Point,
    ranking::{Ranked, Ranking},
    timeline::{blame, callers, interrupted_callers},
    virtual_window::VirtualWindow,
    wakeup::{Target, Wakeup, Wakeups},
};

/// Largest number of sections and of instants of changed functions that are kept. A busy CPU has some
/// hundred thousand a second of virtual time; a trace with more is refused.
const STACKS_MAX: usize = 1 << 23;

/// Sections and instants of changed functions.
#[derive(Debug)]
pub struct Attribution {
    /// The changes.
    pub(crate) changes: Changes,
    /// Wakeups of the target in the window.
    pub(crate) wakeups: Vec<Wakeup>,
    ranked: Vec<Ranked>,
    /// Changes by the address of a site in a function.
    sites: HashMap<u64, Change>,
    /// The function of sections that begin where a lock is taken for another one, by CPU and start.
    sections: HashMap<(SectionKind, u32, u64), Option<Change>>,
    /// Events at which the stack tells that a preemptible function runs, by CPU and time.
    met: HashSet<(u32, u64)>,
    /// Changed functions that the trace knows.
    known: BTreeSet<String>,
}

impl Attribution {
    /// Finds the parts that belong to the changed functions. `window` is on `CLOCK_MONOTONIC`.
    ///
    /// # Errors
    ///
    /// [`TraceError`]
    pub fn read(
        trace: impl Read,
        kernel: &Kernel,
        target: Target<'_>,
        window: Window,
        changes: Changes,
    ) -> Result<Self, TraceError> {
        let mut decoder = Decoder::new(trace, kernel.program())?;
        let mut machine = Machine::default();
        let mut wakeups = Wakeups::new(target);
        let mut ranking = Ranking::new();
        let mut window_virtual = VirtualWindow::new(window);
        let mut found = Self {
            changes,
            wakeups: Vec::new(),
            ranked: Vec::new(),
            sites: HashMap::new(),
            sections: HashMap::new(),
            met: HashSet::new(),
            known: BTreeSet::new(),
        };
        let mut last: Option<(Event, Option<Ended>)> = None;
        while let Some(item) = decoder.next_item()? {
            match item {
                Item::Task(task) => machine.describe(task)?,
                Item::Stack(words) => {
                    ranking.stack(kernel, words);
                    if let Some((event, ended)) = last.take() {
                        found.stack(kernel, &event, ended, words);
                        found.check()?;
                    }
                }
                Item::Event(event) => {
                    window_virtual.look(kernel, &event);
                    let ended = machine.follow(kernel, &event);
                    if let Some(wakeup) = wakeups.look(kernel, &mut machine, &event)
                        && window.contains(wakeup.due_monotonic_ns)
                    {
                        ranking.probed(kernel, &wakeup);
                        keep(&mut found.wakeups, wakeup)?;
                    }
                    ranking.ended(kernel, event.cpu, ended);
                    found.entry(kernel, &event);
                    found.check()?;
                    last = Some((event, ended));
                }
            }
        }
        for site in decoder.sites() {
            let function = kernel.function(site.address);
            if let Some((function, change)) = function.and_then(|name| found.change(name)) {
                found.sites.insert(site.address, change);
                found.known.insert(function);
            }
        }
        found.ranked = ranking.finish(kernel);
        for ranked in &found.ranked {
            if found.changes.of(&ranked.function).is_some() {
                found.known.insert(ranked.function.clone());
            }
        }
        Ok(found)
    }

    /// Returns whether the trace knows a changed function.
    pub fn knows(&self, function: &str) -> bool {
        self.known.contains(function)
    }

    /// Returns the sections of all functions in the window, the longest maximum first.
    pub fn ranked(&self) -> &[Ranked] {
        &self.ranked
    }

    /// Returns the change of the function in which a section begins.
    pub(crate) fn section(&self, kind: SectionKind, cpu: u32, since: Since) -> Option<Change> {
        let named = self.sections.get(&(kind, cpu, since.ns)).copied();
        named.unwrap_or_else(|| self.sites.get(&since.address).copied())
    }

    /// Returns whether an event is in a preemptible function.
    pub(crate) fn is_in_preemptible(&self, event: &Event) -> bool {
        self.sites.get(&event.site.address).is_some_and(|change| change.is_preemptible)
    }

    /// Returns whether the stack at an event tells that a preemptible function runs.
    pub(crate) fn meets_preemptible(&self, event: &Event) -> bool {
        self.met.contains(&(event.cpu, event.ns))
    }

    fn change(&self, function: &str) -> Option<(String, Change)> {
        self.changes.of(function).map(|change| (function.to_owned(), change))
    }

    fn check(&self) -> Result<(), TraceError> {
        match self.sections.len().max(self.met.len()) > STACKS_MAX {
            true => {
                let what = "sections or instants of the functions to change";
                Err(TraceError::TooMany { max: STACKS_MAX, what })
            }
            false => Ok(()),
        }
    }

    /// Takes note of an interrupt or exception that meets kernel code.
    fn entry(&mut self, kernel: &Kernel, event: &Event) {
        let SiteKind::Probe(probe) = event.site.kind else { return };
        let is_entry =
            matches!(kernel.tracepoint(probe).point, Point::Interrupt | Point::Exception);
        if is_entry
            && let &[address, segment] = event.values()
            && !(kernel.arch().is_user)(segment)
            && let Some(function) = kernel.function(address)
        {
            self.meet(event, function);
        }
    }

    fn stack(&mut self, kernel: &Kernel, event: &Event, ended: Option<Ended>, words: &[u64]) {
        let on_stack = match ended {
            Some(Ended { kind, since, .. }) if kind != SectionKind::Softirq => {
                let on_stack = callers(kernel, words);
                let begins_in = kernel.function(since.address);
                let (blamed, _) = blame(begins_in, on_stack.clone());
                let change = blamed.as_deref().and_then(|name| self.change(name));
                let is_moved = begins_in != blamed.as_deref();
                let is_wanted =
                    change.is_some() || begins_in.is_some_and(|name| self.change(name).is_some());
                if is_moved && is_wanted {
                    let place = (kind, event.cpu, since.ns);
                    self.sections.insert(place, change.as_ref().map(|(_, change)| *change));
                }
                on_stack
            }
            _ => interrupted_callers(kernel, words),
        };
        for function in on_stack {
            self.meet(event, &function);
        }
    }

    fn meet(&mut self, event: &Event, function: &str) {
        let Some((function, change)) = self.change(function) else { return };
        if change.is_preemptible {
            self.met.insert((event.cpu, event.ns));
        }
        self.known.insert(function);
    }
}
