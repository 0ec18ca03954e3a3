//! The calls of `cond_resched()`: which stretch each call site ends, and how long that stretch would be
//! without the site.
//!
//! Under none and voluntary the kernel gives the CPU away where it returns to user space, where it sleeps,
//! and at `cond_resched()`; under voluntary also at `might_sleep()`, which then calls the same function.
//! A stretch between two such places is closed (see `bound`). Were a site removed, the two stretches
//! around each of its calls would be one. The computation leaves the course of the trace as it is: a
//! call that switched would only have continued.

use std::{collections::BTreeMap, io::Read};

use preemptlab_protocol::trace::stream::SiteKind;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    cpu::Machine,
    decode::{Decoder, Event, Item, TraceError},
    explain::Window,
    kernel::Kernel,
    opportunity::{Opportunities, Seen},
    point::Point,
    virtual_window::VirtualWindow,
    wakeup::{Target, Wakeups},
};

/// More call sites than any kernel has: Debian's have some thousand with all of their modules. Further ones of
/// a trace that is none are counted as unknown.
const SITES_MAX: usize = 1 << 16;

/// The calls of `cond_resched()` in a window of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// By the address to which the call returns.
    pub sites: BTreeMap<u64, CallSite>,
    /// The longest closed stretch, in nanoseconds.
    pub longest_ns: u64,
    /// The longest closed stretch of a kernel without any of the sites, in nanoseconds.
    pub longest_ns_without_all: u64,
    /// Calls in a trace that does not say from where.
    pub unknown: u64,
}

/// Effects of one call site of `cond_resched()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CallSite {
    /// Number of calls at which the scheduler might have switched.
    pub calls: u64,
    /// Number of these at which it had been asked to.
    pub switches: u64,
    /// The longest closed stretch that a call ended, in nanoseconds.
    pub ended_ns_max: u64,
    /// The longest closed stretch that would be there without the site, of those that it splits, in
    /// nanoseconds.
    pub without_ns_max: u64,
}

impl Census {
    /// Adds the calls in another trace of the same boot.
    pub fn add(&mut self, other: Self) {
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.longest_ns_without_all = self.longest_ns_without_all.max(other.longest_ns_without_all);
        self.unknown = self.unknown.saturating_add(other.unknown);
        for (address, did) in other.sites {
            let site = self.sites.entry(address).or_default();
            site.calls = site.calls.saturating_add(did.calls);
            site.switches = site.switches.saturating_add(did.switches);
            site.ended_ns_max = site.ended_ns_max.max(did.ended_ns_max);
            site.without_ns_max = site.without_ns_max.max(did.without_ns_max);
        }
    }
}

/// Takes the census of the calls between a probe's first wakeup and its last in a window, which is on
/// `CLOCK_MONOTONIC`; without a probe, of all in the window. The own work of programs with the
/// probe's name, such as `mlockall()` before they measure, is not a part of the load.
///
/// # Errors
///
/// [`TraceError`]
pub fn census(
    trace: impl Read,
    kernel: &Kernel,
    probe: Option<Target<'_>>,
    opportunities: Opportunities,
    window: Window,
) -> Result<Census, TraceError> {
    let mut decoder = Decoder::new(trace, kernel.program())?;
    let mut machine = Machine::default();
    let mut wakeups = probe.map(Wakeups::new);
    let mut virtual_window = VirtualWindow::new(window);
    let mut counting = Counting::default();
    let mut until_last_wakeup: Option<Census> = None;
    while let Some(item) = decoder.next_item()? {
        match item {
            Item::Task(task) => machine.describe(task)?,
            Item::Stack(_) => {}
            Item::Event(event) => {
                virtual_window.look(kernel, &event);
                machine.follow(kernel, &event);
                if let Some(wakeups) = &mut wakeups
                    && let Some(wakeup) = wakeups.look(kernel, &mut machine, &event)
                    && window.contains(wakeup.due_monotonic_ns)
                {
                    if until_last_wakeup.is_none() {
                        counting.census = Census::default();
                    }
                    until_last_wakeup = Some(counting.census.clone());
                }
                if until_last_wakeup.is_some() && is_of(&mut machine, event.cpu, probe) {
                    counting.cpus.remove(&event.cpu);
                } else if virtual_window.contains(event.ns) {
                    let seen = Seen::of(opportunities, kernel, &mut machine, &event);
                    let is_asked = machine.cpu(event.cpu).need_resched;
                    counting.look(kernel, &event, seen, is_asked);
                }
            }
        }
    }
    Ok(until_last_wakeup.unwrap_or(counting.census))
}

/// Returns whether a CPU executes a program of the probe's name.
fn is_of(machine: &mut Machine, cpu: u32, probe: Option<Target<'_>>) -> bool {
    let Some(probe) = probe else { return false };
    let task = machine.cpu(cpu).task;
    machine.task(task).is_some_and(|task| task.comm == probe.comm)
}

#[derive(Debug, Default)]
struct Counting {
    census: Census,
    cpus: BTreeMap<u32, Course>,
}

/// Course of a CPU since it last could switch.
#[derive(Clone, Copy, Debug, Default)]
struct Course {
    /// Start of the closed stretch that it is in, in nanoseconds.
    start_ns: Option<u64>,
    /// Start of the stretch that it would be in without any site, in nanoseconds.
    start_ns_without_all: Option<u64>,
    /// The site of the last call, and the start of the stretch without that site, in nanoseconds.
    last: Option<(u64, u64)>,
}

impl Counting {
    fn look(&mut self, kernel: &Kernel, event: &Event, seen: Seen, is_asked: bool) {
        let is_call = match event.site.kind {
            SiteKind::Probe(probe) => kernel.tracepoint(probe).point == Point::CondResched,
            _ => false,
        };
        let census = &mut self.census;
        let course = self.cpus.entry(event.cpu).or_default();
        if is_call && seen.is_instant {
            match event.values() {
                [site] if census.sites.len() < SITES_MAX || census.sites.contains_key(site) => {
                    census.call(course, *site, event.ns, is_asked);
                }
                _ => census.unknown = census.unknown.saturating_add(1),
            }
        } else if seen.is_opportunity() {
            census.end(course, event.ns);
        }
        if seen.is_closed {
            course.start_ns.get_or_insert(event.ns);
            course.start_ns_without_all.get_or_insert(event.ns);
        }
    }
}

impl Census {
    /// Ends a stretch at a call.
    fn call(&mut self, course: &mut Course, address: u64, ns: u64, is_asked: bool) {
        let site = self.sites.entry(address).or_default();
        site.calls = site.calls.saturating_add(1);
        site.switches = site.switches.saturating_add(u64::from(is_asked));
        let Some(start_ns) = course.start_ns.take() else { return };
        site.ended_ns_max = site.ended_ns_max.max(ns.saturating_sub(start_ns));
        self.longest_ns = self.longest_ns.max(ns.saturating_sub(start_ns));
        let since_ns = match course.last.take() {
            Some((last, since_ns)) if last == address => since_ns,
            other => {
                self.end_without(other, ns);
                start_ns
            }
        };
        course.last = Some((address, since_ns));
    }

    /// Ends a stretch where the scheduler may switch anyway.
    fn end(&mut self, course: &mut Course, ns: u64) {
        if let Some(start_ns) = course.start_ns.take() {
            self.longest_ns = self.longest_ns.max(ns.saturating_sub(start_ns));
        }
        if let Some(start_ns) = course.start_ns_without_all.take() {
            self.longest_ns_without_all =
                self.longest_ns_without_all.max(ns.saturating_sub(start_ns));
        }
        self.end_without(course.last.take(), ns);
    }

    /// Ends the stretch that would be there without the site of the last call.
    fn end_without(&mut self, last: Option<(u64, u64)>, ns: u64) {
        let Some((address, since_ns)) = last else { return };
        if let Some(site) = self.sites.get_mut(&address) {
            site.without_ns_max = site.without_ns_max.max(ns.saturating_sub(since_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PROBE, Stream, address, busy_from, kernel, task};

    const WINDOW: Window = Window { start_ns: 0, end_ns: u64::MAX };

    /// Returns a trace whose clocks are the same.
    fn stream() -> Stream {
        let mut stream = Stream::new();
        stream
            .task(&task(0xa1, 70, 70, 120, "worker"))
            .probe(400, "__switch_to", &[0xa2, 0xa1])
            .probe(500, "hrtimer_wakeup", &[0xb0, 500, 0xa2, 0, 0, 1, 0, 0]);
        stream
    }

    /// Enters the kernel by a system call.
    fn enter(stream: &mut Stream, ns: u64) {
        stream.probe(ns, "entry_SYSCALL_64", &[0]);
        stream.event(ns, SiteKind::IrqsOn, "do_syscall_64", &[]);
    }

    fn leave(stream: &mut Stream, ns: u64) {
        stream.event(ns, SiteKind::Sysret, "syscall_exit_to_user_mode", &[]);
    }

    fn call(stream: &mut Stream, ns: u64, from: &str) {
        stream.probe(ns, "__cond_resched", &[address(from) + 8]);
    }

    fn taken(stream: &mut Stream) -> Census {
        let trace = stream.finish();
        census(&trace[..], &kernel(), None, Opportunities::Voluntary, WINDOW).unwrap()
    }

    fn site(census: &Census, from: &str) -> CallSite {
        census.sites[&(address(from) + 8)]
    }

    #[test]
    fn a_site_is_worth_the_stretches_that_it_splits() {
        let mut stream = stream();
        leave(&mut stream, 1_000);
        enter(&mut stream, 2_000);
        call(&mut stream, 12_000, "do_nanosleep");
        call(&mut stream, 15_000, "do_nanosleep");
        call(&mut stream, 20_000, "default_idle");
        leave(&mut stream, 27_000);
        enter(&mut stream, 30_000);
        call(&mut stream, 31_000, "do_nanosleep");
        leave(&mut stream, 33_000);
        let census = taken(&mut stream);
        // 2 to 12; without all 2 to 27.
        assert_eq!((census.longest_ns, census.longest_ns_without_all), (10_000, 25_000));
        let CallSite { calls, switches, ended_ns_max, without_ns_max } =
            site(&census, "do_nanosleep");
        // Without it 2 to 20, where the other site ends it.
        assert_eq!((calls, switches, ended_ns_max, without_ns_max), (3, 0, 10_000, 18_000));
        let other = site(&census, "default_idle");
        assert_eq!((other.calls, other.ended_ns_max, other.without_ns_max), (1, 5_000, 12_000));
    }

    #[test]
    fn a_call_under_a_lock_is_none_and_one_that_is_asked_switches() {
        let mut stream = stream();
        leave(&mut stream, 1_000);
        enter(&mut stream, 2_000);
        stream.event(3_000, SiteKind::PreemptAdd(1), "_raw_spin_lock", &[]);
        call(&mut stream, 4_000, "do_nanosleep");
        stream.event(5_000, SiteKind::PreemptAdd(-1), "_raw_spin_unlock", &[]);
        stream.event(6_000, SiteKind::NeedReschedSet, "do_syscall_64", &[]);
        call(&mut stream, 7_000, "do_nanosleep");
        leave(&mut stream, 9_000);
        let mut census = taken(&mut stream);
        let CallSite { calls, switches, ended_ns_max, .. } = site(&census, "do_nanosleep");
        assert_eq!((calls, switches, ended_ns_max), (1, 1, 5_000));
        let mut more = census.clone();
        more.sites.values_mut().for_each(|site| site.calls = 2);
        census.add(more);
        assert_eq!(site(&census, "do_nanosleep").calls, 3);
    }

    #[test]
    fn stretches_count_between_the_first_wakeup_of_a_probe_and_its_last() {
        let longest_ns = |wakeups, opportunities| {
            let probe = Some(Target { comm: PROBE, is_realtime: true, first_waits: true });
            let trace = busy_from(10, wakeups);
            let census = census(&trace[..], &kernel(), probe, opportunities, WINDOW).unwrap();
            assert!(census.sites.is_empty());
            census.longest_ns
        };
        assert_eq!(longest_ns(1, Opportunities::Voluntary), 0);
        // From the system call to the scheduler; from the lock to the unlock.
        assert_eq!(longest_ns(3, Opportunities::Voluntary), 71_010);
        assert_eq!(longest_ns(3, Opportunities::Everywhere), 60_000);
    }
}
