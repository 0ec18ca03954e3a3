//! The findings of a whole trace, in one pass.

use std::io::Read;

use preemptlab_protocol::trace::stream::SiteKind;
use serde::{Deserialize, Serialize};

use crate::{
    bound::{Bound, Closures},
    calls::Calls,
    cpu::Machine,
    decode::{Decoder, Item, TraceError},
    delay::{Delays, Waits},
    explain::Window,
    kernel::Kernel,
    long_section::LongSection,
    opportunity::{Opportunities, Seen},
    ranking::{Ranked, Ranking},
    split::{Parts, Splits},
    virtual_window::{Edge, Edges, VirtualWindow},
    wakeup::{Target, Wakeups},
    worst_instant::WorstInstant,
};

/// Findings in the window in which the probes ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Findings {
    /// The version of this form.
    pub format: u32,
    /// Events in the whole trace.
    pub events: u64,
    /// Number of returns to user space at which `preempt_count` was not zero. A number above 0
    /// means that the plugin has missed a change of it, and that sections with preemption off are
    /// in doubt.
    pub miscounts: u64,
    /// The first event, in virtual nanoseconds.
    pub start_ns: u64,
    /// Time of the last event, in nanoseconds.
    pub end_ns: u64,
    /// Number that is added to `CLOCK_MONOTONIC` to get virtual time, in nanoseconds.
    pub clock_offset_ns: i64,
    /// Latencies of the real-time wakeups that did not happen; `None` where the trace has no wakeup
    /// of a real-time probe.
    pub bound: Option<Bound>,
    /// Cause and function of the worst instant; findings of older traces have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<WorstInstant>,
    /// Scheduling delays of the fair tasks; findings of older traces have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delays: Option<Delays>,
    /// Parts of the latencies of the real-time probe's wakeups; `None` where there are none, and in findings of
    /// older traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub splits: Option<Splits>,
    /// The sections between the due time of the probe's first wakeup and the end of its last, by function:
    /// the longest maximum first. Every section that delayed one of these wakeups is among them. Where no
    /// wakeup of a probe was due in the window, those that ended in the window.
    pub sections: Vec<Ranked>,
    /// The longest sections in detail, where no wakeup of a probe was due in the window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub longest: Vec<LongSection>,
}

impl Findings {
    /// Returns the worst instant. Where one section is most of the stretch that makes it, that section is the cause, and
    /// not what the kernel did in it for most of the time, such as short holds of locks.
    pub fn worst_instant(&self) -> Option<WorstInstant> {
        let worst = self.worst.clone()?;
        let bound = self.bound.as_ref().filter(|bound| bound.is_sound());
        Some(match bound.and_then(|bound| bound.longest.first()) {
            Some(closed) => worst.among(closed, &self.sections),
            None => worst,
        })
    }
}

/// The version of [`Findings`]. The first one held the 200 functions with the longest sections, and none of
/// those that delayed the probe's first wakeup; the second one neither 99.999 % of all instants nor the function
/// of the worst; the third one no scheduling delays; the fourth one no stretches of calls that are not preempted,
/// and no sections where no probe was due; the fifth one no parts of latencies.
pub const FINDINGS_FORMAT: u32 = 6;

/// The oldest version that can be read.
pub const FINDINGS_FORMAT_MIN: u32 = 1;

/// Events of a trace from which on its kernel must have changed `preempt_count`. An interrupt has ten events or so
/// and does; a trace of a few wakeups may be of other things.
const COUNTED_EVENTS_MIN: u64 = 10_000;

/// Reads a trace once. `window` is on `CLOCK_MONOTONIC`.
///
/// # Errors
///
/// [`TraceError`]
pub fn findings(
    trace: impl Read,
    kernel: &Kernel,
    target: Target<'_>,
    opportunities: Opportunities,
    window: Window,
) -> Result<Findings, TraceError> {
    let mut decoder = Decoder::new(trace, kernel.program())?;
    let mut machine = Machine::default();
    let mut wakeups = Wakeups::new(target);
    let mut ranking = Ranking::new();
    let mut closures = Closures::default();
    let mut parts = Parts::default();
    let mut waits = Waits::new(target.comm);
    let is_voluntary = opportunities == Opportunities::Voluntary;
    let mut calls = Calls::default();
    let mut edges = Edges::default();
    let mut window_virtual = VirtualWindow::new(window);
    let (mut first_ns, mut last_ns) = (None, 0);
    let (mut events, mut changes) = (0, 0_u64);
    let mut observed: Option<(u64, u64)> = None;
    while let Some(item) = decoder.next_item()? {
        match item {
            Item::Task(task) => machine.describe(task)?,
            Item::Stack(words) => ranking.stack(kernel, words),
            Item::Event(event) => {
                events += 1;
                changes += u64::from(changes_count(event.site.kind));
                first_ns.get_or_insert(event.ns);
                last_ns = last_ns.max(event.ns);
                window_virtual.look(kernel, &event);
                let ended = machine.follow(kernel, &event);
                if let Some(wakeup) = wakeups.look(kernel, &mut machine, &event)
                    && window.contains(wakeup.due_monotonic_ns)
                {
                    let latency_ns = wakeup.latency_ns();
                    let (min_ns, max_ns) = observed.unwrap_or((latency_ns, latency_ns));
                    observed = Some((min_ns.min(latency_ns), max_ns.max(latency_ns)));
                    parts.add(wakeup.split());
                    closures.probed(&wakeup);
                    ranking.probed(kernel, &wakeup);
                }
                let is_inside = window_virtual.contains(event.ns);
                match edges.pass(&window_virtual, event.ns) {
                    Some(Edge::Begin) => ranking.begins(kernel),
                    Some(Edge::End) => ranking.ends(kernel),
                    None => {}
                }
                ranking.ended(kernel, event.cpu, ended);
                let seen = (is_inside || is_voluntary)
                    .then(|| Seen::of(opportunities, kernel, &mut machine, &event));
                if is_voluntary
                    && let Some(seen) = seen
                    && let Some(stretch) = calls.look(&mut machine, &event, seen)
                {
                    let call = Calls::name(kernel, &machine, stretch.call);
                    ranking.not_preemptible(&call, event.cpu, stretch.since, event.ns);
                }
                waits.look(kernel, &mut machine, &event, is_inside);
                if is_inside && let Some(seen) = seen {
                    closures.look(kernel, &event, seen);
                }
            }
        }
    }
    if events >= COUNTED_EVENTS_MIN && changes == 0 {
        return Err(TraceError::NoCount { events });
    }
    let sections = ranking.finish(kernel);
    Ok(Findings {
        format: FINDINGS_FORMAT,
        events,
        miscounts: machine.miscounts,
        start_ns: first_ns.unwrap_or(0),
        end_ns: last_ns,
        clock_offset_ns: window_virtual.offset_ns.unwrap_or(0),
        bound: observed.map(|(min_ns, max_ns)| closures.finish(min_ns, max_ns)),
        worst: None,
        delays: Some(waits.finish()),
        splits: parts.finish(),
        sections,
        longest: Vec::new(),
    })
}

fn changes_count(kind: SiteKind) -> bool {
    matches!(
        kind,
        SiteKind::PreemptAdd(_)
            | SiteKind::PreemptAddValue
            | SiteKind::PreemptSubValue
            | SiteKind::PreemptSet(_)
            | SiteKind::PreemptSetValue
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Stream, kernel};

    /// A kernel whose count is not found has sections with interrupts off alone, and looks better than it is.
    #[test]
    fn a_trace_in_which_nothing_counts_is_refused() {
        let read = |kind: SiteKind| {
            let mut stream = Stream::new();
            for round in 0..COUNTED_EVENTS_MIN {
                stream.event(round * 10, SiteKind::IrqsOff, "default_idle", &[]);
                stream.event(round * 10 + 5, SiteKind::IrqsOn, "default_idle", &[]);
            }
            stream.event(COUNTED_EVENTS_MIN * 10, kind, "irq_enter_rcu", &[]);
            let target = Target { comm: "nobody", is_realtime: true, first_waits: false };
            let window = Window { start_ns: 0, end_ns: u64::MAX };
            let all = Opportunities::Everywhere;
            findings(stream.finish().as_slice(), &kernel(), target, all, window)
        };
        read(SiteKind::PreemptAdd(0x10000)).unwrap();
        let refused = read(SiteKind::IrqsOff).unwrap_err();
        assert!(refused.to_string().contains("no change of preempt_count"), "{refused}");
    }
}
