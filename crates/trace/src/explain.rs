//! The worst wakeups of a trace, each with its timeline.

use std::io::Read;

use crate::{
    bound::Closed,
    cpu::Machine,
    decode::{Decoder, Item, Task, TraceError},
    kernel::Kernel,
    timeline::{Painter, Timeline},
    wakeup::{Target, Wakeup, Wakeups},
};

/// Largest number of wakeups that are kept: half an hour of virtual time at a thousand wakeups a second.
const WAKEUPS_MAX: usize = 1 << 21;

/// Events of one CPU may follow later ones of another, by less than this many nanoseconds: far more than the
/// lookahead of any machine.
const LAG_NS: u64 = 100_000_000;

/// Adds a wakeup to those of a trace.
///
/// # Errors
///
/// When there are more than are kept.
pub(crate) fn keep(found: &mut Vec<Wakeup>, wakeup: Wakeup) -> Result<(), TraceError> {
    if found.len() == WAKEUPS_MAX {
        return Err(TraceError::TooMany { max: WAKEUPS_MAX, what: "wakeups of the probe" });
    }
    found.push(wakeup);
    Ok(())
}

/// A stretch of the guest's `CLOCK_MONOTONIC`, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First instant, in nanoseconds.
    pub start_ns: u64,
    /// Last instant, in nanoseconds.
    pub end_ns: u64,
}

impl Window {
    /// Returns whether the window holds an instant.
    pub fn contains(&self, ns: u64) -> bool {
        (self.start_ns..=self.end_ns).contains(&ns)
    }
}

/// Returns every wakeup of a target that was due in a window.
///
/// # Errors
///
/// [`TraceError`]
pub fn wakeups(
    trace: impl Read,
    kernel: &Kernel,
    target: Target<'_>,
    window: Window,
) -> Result<Vec<Wakeup>, TraceError> {
    let mut decoder = Decoder::new(trace, kernel.program())?;
    let mut machine = Machine::default();
    let mut wakeups = Wakeups::new(target);
    let mut found = Vec::new();
    while let Some(item) = decoder.next_item()? {
        match item {
            Item::Task(task) => machine.describe(task)?,
            Item::Event(event) => {
                machine.follow(kernel, &event);
                if let Some(wakeup) = wakeups.look(kernel, &mut machine, &event)
                    && window.contains(wakeup.due_monotonic_ns)
                {
                    keep(&mut found, wakeup)?;
                }
            }
            Item::Stack(_) => {}
        }
    }
    Ok(found)
}

/// Returns the `count` wakeups with the largest latency, the worst first.
pub fn worst(mut wakeups: Vec<Wakeup>, count: usize) -> Vec<Wakeup> {
    wakeups.sort_by_key(|wakeup| (std::cmp::Reverse(wakeup.latency_ns()), wakeup.due_ns));
    wakeups.truncate(count);
    wakeups
}

/// Returns the timeline of a task that is woken at the first instant of a closed stretch: a wakeup
/// that did not happen, of the most urgent task.
///
/// # Errors
///
/// [`TraceError`]
pub fn closed_timeline(
    trace: impl Read,
    kernel: &Kernel,
    closed: Closed,
) -> Result<Option<Timeline>, TraceError> {
    Ok(closed_timelines(trace, kernel, vec![closed])?.pop())
}

/// Returns such timelines of several stretches, in their order.
///
/// # Errors
///
/// [`TraceError`]
pub(crate) fn closed_timelines(
    trace: impl Read,
    kernel: &Kernel,
    stretches: Vec<Closed>,
) -> Result<Vec<Timeline>, TraceError> {
    let last_ns = stretches.iter().map(|closed| closed.end_ns).max().unwrap_or(0);
    let task =
        Task { address: 0, pid: 0, tgid: 0, prio: -1, comm: "the most urgent task".to_owned() };
    let wakeup = |closed: Closed| Wakeup {
        task: task.clone(),
        ordinal: 0,
        cpu: closed.cpu,
        due_ns: closed.start_ns,
        due_monotonic_ns: closed.start_ns,
        timer_cpu: closed.cpu,
        expire_ns: closed.start_ns,
        switch_ns: closed.end_ns,
        user_ns: closed.end_ns,
    };
    let wakeups = stretches.into_iter().map(wakeup).collect();
    timelines_until(trace, kernel, wakeups, last_ns.saturating_add(LAG_NS))
}

/// Returns the timelines of wakeups of this trace, in the order of the wakeups.
///
/// # Errors
///
/// [`TraceError`]
pub fn timelines(
    trace: impl Read,
    kernel: &Kernel,
    wakeups: Vec<Wakeup>,
) -> Result<Vec<Timeline>, TraceError> {
    timelines_until(trace, kernel, wakeups, u64::MAX)
}

/// Returns the timelines of wakeups as [`timelines`] does, and reads no further than to the first event after
/// an instant.
pub(crate) fn timelines_until(
    trace: impl Read,
    kernel: &Kernel,
    wakeups: Vec<Wakeup>,
    end_ns: u64,
) -> Result<Vec<Timeline>, TraceError> {
    let mut decoder = Decoder::new(trace, kernel.program())?;
    let mut machine = Machine::default();
    let mut painters: Vec<Painter> = wakeups.into_iter().map(Painter::new).collect();
    while let Some(item) = decoder.next_item()? {
        match item {
            Item::Task(task) => machine.describe(task)?,
            Item::Event(event) if event.ns > end_ns => break,
            Item::Event(event) => {
                let is_in = |painter: &&mut Painter| {
                    let wakeup = painter.wakeup();
                    event.ns > wakeup.due_ns && event.ns <= wakeup.user_ns
                };
                for painter in &mut painters {
                    match is_in(&painter) {
                        true => painter.before(kernel, &mut machine, &event),
                        false => painter.no_stack(),
                    }
                }
                let ended = machine.follow(kernel, &event);
                for painter in painters.iter_mut().filter(is_in) {
                    painter.after(kernel, &mut machine, &event, ended);
                }
            }
            Item::Stack(words) => {
                for painter in &mut painters {
                    painter.stack(kernel, words);
                }
            }
        }
    }
    Ok(painters.into_iter().map(Painter::finish).collect())
}
