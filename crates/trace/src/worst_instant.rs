//! Cause and function of the worst instant of a window.

use std::{collections::BTreeMap, fmt, io::Read};

use serde::{Deserialize, Serialize};

use crate::{
    Cause, Timeline,
    bound::Bound,
    decode::TraceError,
    explain::{Window, closed_timeline, timelines, wakeups, worst},
    kernel::Kernel,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Opportunities, findings,
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
}
