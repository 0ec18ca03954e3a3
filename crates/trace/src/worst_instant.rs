//! Cause and function of the worst instant of a window.

use std::{collections::BTreeMap, fmt, io::Read};

use serde::{Deserialize, Serialize};

use crate::{
    Cause, Timeline,
    bound::{Bound, Closed},
    cpu::SectionKind,
    decode::TraceError,
    explain::{Window, closed_timeline, timelines, wakeups, worst},
    kernel::Kernel,
    ranking::Ranked,
    timeline::is_wrapper,
    wakeup::Target,
};

/// The instant at which a real-time task would have been latest, and its main cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorstInstant {
    /// The instant, in virtual nanoseconds.
    pub ns: u64,
    /// Cause of the largest part of the latency, or of the section that is most of it.
    pub cause: Cause,
    /// The function to blame for most of it, or the call; empty where the trace does not tell.
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

/// Finds the cause of the worst instant of a trace with this bound. Where a wakeup was later than the
/// stretches allow, that is the worst instant. `window` is on `CLOCK_MONOTONIC`.
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
) -> Result<Option<WorstInstant>, TraceError> {
    let timeline = match bound.longest.first().filter(|_| bound.is_sound()) {
        Some(closed) => closed_timeline(trace()?, kernel, *closed)?,
        None => {
            let found = worst(wakeups(trace()?, kernel, target, window)?, 1);
            timelines(trace()?, kernel, found)?.pop()
        }
    };
    Ok(timeline.as_ref().and_then(WorstInstant::of))
}

impl WorstInstant {
    /// Returns the same instant with the section as its cause that is most of the stretch which makes it, where there
    /// is one.
    pub(crate) fn among(self, closed: &Closed, sections: &[Ranked]) -> Self {
        let Some(section) = around(closed, sections) else { return self };
        let (cause, function) = (cause(section.kind), &section.function);
        // The trace knows which calls are system calls, and has `munmap()` for `munmap`.
        match self.function.strip_suffix("()") == Some(function.as_str()) {
            true => Self { cause, ..self },
            false => Self { cause, function: function.clone(), ..self },
        }
    }

    /// Returns the cause of most of a latency; `None` where there is none.
    fn of(timeline: &Timeline) -> Option<Self> {
        let (cause, _) = timeline.causes().first().copied()?;
        let mut functions: BTreeMap<String, u64> = BTreeMap::new();
        for segment in timeline.segments.iter().filter(|segment| segment.cause == cause) {
            let call = || segment.context.rsplit(" > ").next().unwrap_or_default().to_owned();
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
        Some(Self { ns: timeline.wakeup.due_ns, cause, function })
    }
}

fn cause(kind: SectionKind) -> Cause {
    match kind {
        SectionKind::PreemptOff => Cause::PreemptOff,
        SectionKind::IrqsOff => Cause::IrqsOff,
        SectionKind::Softirq => Cause::Softirq,
        SectionKind::NotPreemptible => Cause::NotPreemptible,
    }
}

/// Returns the section that is most of a stretch, the first of equal ones.
fn around<'a>(closed: &Closed, sections: &'a [Ranked]) -> Option<&'a Ranked> {
    let shared_ns = |it: &Ranked| {
        let end_ns = it.max_end_ns.filter(|_| it.max_cpu == Some(closed.cpu)).unwrap_or(0);
        let shared_ns =
            closed.end_ns.min(end_ns).saturating_sub(closed.start_ns.max(it.max_start_ns));
        // Without interrupts and softirqs in it, which are not its own.
        shared_ns.min(it.max_ns)
    };
    sections
        .iter()
        .filter(|it| shared_ns(it) > closed.len_ns() / 2 && !is_wrapper(&it.function))
        .reduce(|a, b| if shared_ns(b) > shared_ns(a) { b } else { a })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Findings, Opportunities, findings,
        testing::{PROBE, busy, kernel},
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
        let worst = worst_instant(|| Ok(trace.as_slice()), &kernel, target, window, &bound);
        let worst = worst.unwrap().unwrap();
        assert_eq!(worst.ns, bound.longest[0].start_ns);
        assert_eq!(worst.to_string(), "preemption off in do_nanosleep");
    }

    fn section(function: &str, kind: SectionKind, (start_ns, end_ns): (u64, u64)) -> Ranked {
        Ranked {
            kind,
            function: function.to_owned(),
            callers: Vec::new(),
            count: 1,
            total_ns: end_ns - start_ns,
            max_ns: end_ns - start_ns,
            max_start_ns: start_ns,
            max_end_ns: Some(end_ns),
            max_cpu: Some(0),
        }
    }

    /// Of a stretch of 100 us, from 1 us on.
    #[test]
    fn the_section_that_is_most_of_a_stretch_is_the_cause() {
        let (trace, kernel) = (busy(3), kernel());
        let target = Target { comm: PROBE, is_realtime: true, first_waits: true };
        let window = Window { start_ns: 0, end_ns: u64::MAX };
        let all = Opportunities::Everywhere;
        let mut found = findings(trace.as_slice(), &kernel, target, all, window).unwrap();
        let bound = found.bound.as_mut().unwrap();
        let (start_ns, end_ns) = (1_000, 101_000);
        bound.longest = vec![Closed { start_ns, end_ns, ..bound.longest[0] }];
        let of_lock = |function: &str| {
            Some(WorstInstant { ns: 1_000, cause: Cause::IrqsOff, function: function.to_owned() })
        };
        found.worst = of_lock("_raw_spin_lock_irqsave");
        let named = |found: &Findings| found.worst_instant().unwrap().to_string();

        let (off, irqs, softirq, call) = (
            SectionKind::PreemptOff,
            SectionKind::IrqsOff,
            SectionKind::Softirq,
            SectionKind::NotPreemptible,
        );
        // No section is half of it, or it is one that takes a lock for others, or on another CPU.
        let elsewhere =
            Ranked { max_cpu: Some(1), ..section("elsewhere", off, (start_ns, end_ns)) };
        found.sections = vec![
            elsewhere,
            section("_raw_spin_lock_irqsave", irqs, (start_ns, end_ns)),
            section("earlier", off, (0, 40_000)),
        ];
        assert_eq!(named(&found), "interrupts off in _raw_spin_lock_irqsave");
        // Of equal ones the first; interrupts and softirqs in a section are not its own.
        let around_softirq = Ranked { max_ns: 5_000, ..section("short", off, (start_ns, end_ns)) };
        found.sections.push(around_softirq);
        found.sections.push(section("rcu_core_si", softirq, (2_000, 99_000)));
        found.sections.push(section("equal", off, (2_000, 99_000)));
        assert_eq!(named(&found), "softirq in rcu_core_si");
        found.sections.push(section("holder", off, (1_500, 100_000)));
        assert_eq!(named(&found), "preemption off in holder");
        found.sections.push(section("close", call, (1_000, 101_000)));
        assert_eq!(named(&found), "not preemptible in close");
        found.worst = of_lock("close()");
        assert_eq!(named(&found), "not preemptible in close()");
    }
}
