//! Cause and function of the worst instant of a window.

use std::{collections::BTreeMap, fmt, io::Read};

use serde::{Deserialize, Serialize};

use crate::{
    Cause, Timeline,
    bound::{Bound, Closed},
    calls,
    cpu::SectionKind,
    decode::TraceError,
    explain::{Window, closed_timeline, timelines, wakeups, worst},
    kernel::Kernel,
    ranking::Ranked,
    timeline::{THREAD, is_wrapper},
    wakeup::Target,
};

/// The instant at which a real-time task would have been latest, and its main cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorstInstant {
    /// The instant, in virtual nanoseconds.
    pub ns: u64,
    /// Largest part of the latency.
    pub cause: Cause,
    /// The function to blame for most of this part, or the call that it is in; empty where the trace
    /// does not tell.
    pub function: String,
}

impl fmt::Display for WorstInstant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.function.is_empty() {
            true => f.write_str(self.cause.as_str()),
            false => write!(f, "{} in {}", self.cause.as_str(), self.function),
        }
    }
}

/// Finds the cause of the worst instant of a trace with this bound and these sections. Where a wakeup was later than
/// the stretches allow, that is the worst instant. `window` is on `CLOCK_MONOTONIC`.
///
/// # Errors
///
/// [`TraceError`]
pub fn worst_instant<R: Read>(
    mut trace: impl FnMut() -> std::io::Result<R>,
    kernel: &Kernel,
    target: Target<'_>,
    window: Window,
    bound: &Bound,
    sections: &[Ranked],
) -> Result<Option<WorstInstant>, TraceError> {
    let Some(closed) = bound.longest.first().filter(|_| bound.is_sound()) else {
        let found = worst(wakeups(trace()?, kernel, target, window)?, 1);
        let timeline = timelines(trace()?, kernel, found)?.pop();
        return Ok(timeline.as_ref().and_then(WorstInstant::of));
    };
    let Some(timeline) = closed_timeline(trace()?, kernel, *closed)? else { return Ok(None) };
    let worst = WorstInstant::of(&timeline);
    Ok(match around(closed, sections) {
        // Many short holds of locks in one long section: it is to blame, and not the locks.
        Some(section) if worst.as_ref().is_some_and(|worst| is_wrapper(&worst.function)) => {
            Some(WorstInstant::in_section(&timeline, section))
        }
        _ => worst,
    })
}

/// Returns the section that is most of a stretch.
fn around<'a>(closed: &Closed, sections: &'a [Ranked]) -> Option<&'a Ranked> {
    let shared_ns = |it: &&Ranked| {
        let end_ns = it.max_end_ns.filter(|_| it.max_cpu == Some(closed.cpu)).unwrap_or(0);
        closed.end_ns.min(end_ns).saturating_sub(closed.start_ns.max(it.max_start_ns))
    };
    let len_ns = closed.end_ns - closed.start_ns;
    sections.iter().filter(|it| 2 * shared_ns(it) > len_ns).max_by_key(shared_ns)
}

impl WorstInstant {
    /// Returns the cause of most of a latency; `None` where there is none.
    fn of(timeline: &Timeline) -> Option<Self> {
        let (cause, _) = timeline.causes().first().copied()?;
        Some(Self::of_cause(timeline, cause))
    }

    /// Returns the function with most of what a cause has of a latency.
    fn of_cause(timeline: &Timeline, cause: Cause) -> Self {
        let mut functions: BTreeMap<String, u64> = BTreeMap::new();
        for segment in timeline.segments.iter().filter(|segment| segment.cause == cause) {
            let call = || match segment.context.rsplit(" > ").next().unwrap_or_default() {
                THREAD => calls::thread(&segment.comm),
                call => call.to_owned(),
            };
            // Of a kernel that does not give way, the call matters and not where it was met.
            let function = match cause {
                Cause::NotPreemptible => call(),
                // Nothing in the guest is to blame.
                Cause::Stolen => String::new(),
                _ => segment.function.clone().unwrap_or_else(call),
            };
            *functions.entry(function).or_default() += segment.len_ns();
        }
        let most = functions.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a });
        let function = most.map(|(function, _)| function).unwrap_or_default();
        Self { ns: timeline.wakeup.due_ns, cause, function }
    }

    /// Returns the cause of a latency that one section makes.
    fn in_section(timeline: &Timeline, section: &Ranked) -> Self {
        let cause = match section.kind {
            SectionKind::PreemptOff => Cause::PreemptOff,
            SectionKind::IrqsOff => Cause::IrqsOff,
            SectionKind::Softirq => Cause::Softirq,
            SectionKind::NotPreemptible => {
                return Self::of_cause(timeline, Cause::NotPreemptible);
            }
        };
        Self { ns: timeline.wakeup.due_ns, cause, function: section.function.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Opportunities, findings,
        testing::{PROBE, busy, kernel, segment},
    };

    #[test]
    fn the_function_of_the_longest_stretch_is_named() {
        let (trace, kernel) = (busy(3), kernel());
        let target = Target { comm: PROBE, is_realtime: true, first_waits: true };
        let window = Window { start_ns: 0, end_ns: u64::MAX };
        let all = Opportunities::Everywhere;
        let found = findings(trace.as_slice(), &kernel, target, all, window).unwrap();
        assert!(found.worst.is_none());
        let bound = found.bound.unwrap();
        let worst = worst_instant(
            || Ok(trace.as_slice()),
            &kernel,
            target,
            window,
            &bound,
            &found.sections,
        );
        let worst = worst.unwrap().unwrap();
        assert_eq!(worst.ns, bound.longest[0].start_ns);
        assert_eq!(worst.to_string(), "preemption off in do_nanosleep");
    }

    /// A stretch of 100 us in which a lock is taken often, and a section that is nearly all of it.
    #[test]
    fn a_section_of_many_short_holds_of_locks_is_named_and_not_the_locks() {
        let closed = Closed {
            cpu: 0,
            start_ns: 1_000,
            start_address: 0,
            end_ns: 101_000,
            has_softirq: false,
            removed_ns: 0,
        };
        let section = |function: &str, kind, cpu, (start_ns, end_ns): (u64, u64)| Ranked {
            kind,
            function: function.to_owned(),
            callers: Vec::new(),
            count: 1,
            total_ns: end_ns - start_ns,
            max_ns: end_ns - start_ns,
            max_start_ns: start_ns,
            max_end_ns: Some(end_ns),
            max_cpu: Some(cpu),
        };
        let off = SectionKind::PreemptOff;
        let sections = [
            section("_raw_spin_lock_irqsave", SectionKind::IrqsOff, 0, (2_000, 3_000)),
            section("elsewhere", off, 1, (1_000, 101_000)),
            section("earlier", off, 0, (0, 40_000)),
            section("holder", off, 0, (1_500, 100_000)),
        ];
        assert_eq!(around(&closed, &sections).unwrap().function, "holder");
        assert!(around(&closed, &sections[..3]).is_none());

        let lock = "_raw_spin_lock_irqsave";
        let mut segments = vec![segment(1_000, 51_000, Cause::IrqsOff, Some(lock))];
        segments.push(segment(51_000, 101_000, Cause::NotPreemptible, None));
        segments[1].context = "close()".to_owned();
        let (trace, kernel) = (busy(3), kernel());
        let target = Target { comm: PROBE, is_realtime: true, first_waits: true };
        let window = Window { start_ns: 0, end_ns: u64::MAX };
        let all = wakeups(trace.as_slice(), &kernel, target, window).unwrap();
        let timeline = timelines(trace.as_slice(), &kernel, worst(all, 1)).unwrap().remove(0);
        let timeline = Timeline { segments, ..timeline };
        let named = |section| WorstInstant::in_section(&timeline, section).to_string();
        assert_eq!(named(&sections[3]), "preemption off in holder");
        let call = Ranked { kind: SectionKind::NotPreemptible, ..sections[3].clone() };
        assert_eq!(named(&call), "not preemptible in close()");
    }
}
