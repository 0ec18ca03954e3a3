//! The longest sections of a trace in detail: who was in them, and what they are made of.

use std::{collections::BTreeMap, io::Read};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    bound::Closed,
    cause::Cause,
    cpu::SectionKind,
    decode::TraceError,
    explain::closed_timelines,
    kernel::Kernel,
    ranking::Ranked,
    timeline::{Segment, Timeline, is_wrapper},
};

/// Most sections of preemptible code that are looked at, and most others.
const SECTIONS_MAX: usize = 12;

/// Sections that are shorter are looked at only if they are the longest of all, in nanoseconds.
const LEN_NS_MIN: u64 = 5_000;

/// Most parts of a section.
const PARTS_MAX: usize = 24;

/// The longest section of a function, in detail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LongSection {
    /// Kind of the section.
    pub kind: SectionKind,
    /// The function to blame, or the call that is not preempted.
    pub function: String,
    /// The function with more of the time than any other, lock functions aside, where the trace tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// Name of the task that the CPU had.
    pub comm: String,
    /// Levels of the kernel that were at work, the outermost first: `munmap`, `page_fault > softirq`.
    pub context: String,
    /// Time that the CPU spun in it until another CPU released a lock or answered, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_ns: u64,
    /// Its parts, in order. One of many short parts is a part of the longer one beside it.
    pub parts: Vec<Part>,
}

/// A part of a section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Length of the part, in nanoseconds.
    pub ns: u64,
    /// Mechanism that kept a task from the CPU.
    pub cause: Cause,
    /// The function, where the trace tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

/// Looks at the longest of a trace's sections: of those of preemptible code and of the others the first, and more
/// that are long. `ranked` has the longest first.
///
/// # Errors
///
/// [`TraceError`]
pub fn long_sections(
    trace: impl Read,
    kernel: &Kernel,
    ranked: &[Ranked],
) -> Result<Vec<LongSection>, TraceError> {
    let is_preemptible = |it: &&Ranked| it.kind == SectionKind::NotPreemptible;
    let longest = |of_preemptible: bool| {
        let of_it = ranked.iter().filter(move |it| is_preemptible(it) == of_preemptible);
        let is_long = |(place, it): &(usize, &Ranked)| *place == 0 || it.max_ns >= LEN_NS_MIN;
        of_it.take(SECTIONS_MAX).enumerate().filter(is_long).map(|(_, it)| it)
    };
    let chosen: Vec<(&Ranked, Closed)> = longest(true)
        .chain(longest(false))
        .filter_map(|ranked| Some((ranked, closed(ranked)?)))
        .collect();
    let stretches = chosen.iter().map(|(_, closed)| *closed).collect();
    let timelines = closed_timelines(trace, kernel, stretches)?;
    let both = chosen.into_iter().zip(&timelines);
    Ok(both.filter_map(|((ranked, _), timeline)| LongSection::of(ranked, timeline)).collect())
}

/// Returns a function's longest section as a stretch of its CPU.
fn closed(ranked: &Ranked) -> Option<Closed> {
    Some(Closed {
        cpu: ranked.max_cpu?,
        start_ns: ranked.max_start_ns,
        start_address: 0,
        end_ns: ranked.max_end_ns?,
        has_softirq: false,
        removed_ns: 0,
    })
}

impl LongSection {
    /// Lists the names that it holds: of functions, the task and the levels of the kernel.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        let Self { function, inside, comm, context, parts, .. } = self;
        let of_parts = parts.iter().filter_map(|part| part.function.as_ref());
        [function, comm, context].into_iter().chain(inside).chain(of_parts)
    }

    fn of(ranked: &Ranked, timeline: &Timeline) -> Option<Self> {
        let segments = &timeline.segments;
        let longest = segments.iter().max_by_key(|segment| segment.len_ns())?;
        let is_wait = |it: &&Segment| matches!(it.cause, Cause::SpinWait | Cause::IpiWait);
        let waited_ns = segments.iter().filter(is_wait).map(Segment::len_ns).sum();
        Some(Self {
            kind: ranked.kind,
            function: ranked.function.clone(),
            inside: inside(segments).filter(|inside| *inside != ranked.function),
            comm: longest.comm.clone(),
            context: longest.context.clone(),
            waited_ns,
            parts: parts(segments),
        })
    }
}

/// Returns the function with most of the time.
fn inside(segments: &[Segment]) -> Option<String> {
    let mut functions: BTreeMap<&str, u64> = BTreeMap::new();
    for segment in segments {
        let callers = segment.callers.iter();
        let named = segment.function.iter().chain(callers).find(|function| !is_wrapper(function));
        if let Some(function) = named {
            *functions.entry(function).or_default() += segment.len_ns();
        }
    }
    let most = functions.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a });
    most.map(|(function, _)| function.to_owned())
}

/// Returns the parts of segments: those that are alike and adjacent are one, and the shortest are joined to the
/// longer one beside them while there are too many.
fn parts(segments: &[Segment]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for segment in segments {
        let (ns, cause) = (segment.len_ns(), segment.cause);
        match parts.last_mut() {
            Some(last) if last.cause == cause && last.function == segment.function => last.ns += ns,
            _ => parts.push(Part { ns, cause, function: segment.function.clone() }),
        }
    }
    while parts.len() > PARTS_MAX {
        let Some(shortest) = (0..parts.len()).min_by_key(|place| parts[*place].ns) else { break };
        let ns = parts.remove(shortest).ns;
        let before = shortest.checked_sub(1);
        let is_longer =
            |place: &usize| parts.get(shortest).is_none_or(|it| parts[*place].ns > it.ns);
        let beside = before.filter(is_longer).unwrap_or(shortest);
        parts[beside].ns += ns;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Opportunities, Target, Window, findings,
        testing::{busy, kernel, segment},
    };

    /// No task of the trace is the probe, so that all of its window counts.
    #[test]
    fn a_trace_without_a_probe_has_its_longest_sections() {
        let (trace, kernel) = (busy(3), kernel());
        let target = Target { comm: "nobody", is_realtime: true, first_waits: false };
        let window = Window { start_ns: 0, end_ns: u64::MAX };
        for opportunities in [Opportunities::Everywhere, Opportunities::Voluntary] {
            let found = findings(trace.as_slice(), &kernel, target, opportunities, window).unwrap();
            assert!(found.bound.is_none());
            let of = |kind| found.sections.iter().find(move |it| it.kind == kind);
            let off = of(SectionKind::PreemptOff).unwrap();
            assert_eq!((off.function.as_str(), off.count), ("do_nanosleep", 3));
            // Preemption is off in most of its system call, so that full would not cut it either.
            assert!(of(SectionKind::NotPreemptible).is_none());
            let long = long_sections(trace.as_slice(), &kernel, &found.sections).unwrap();
            let section = long.iter().find(|it| it.kind == SectionKind::PreemptOff).unwrap();
            let parts_ns: u64 = section.parts.iter().map(|part| part.ns).sum();
            assert_eq!(parts_ns, off.max_end_ns.unwrap() - off.max_start_ns);
        }
    }

    #[test]
    fn many_parts_become_few_and_lose_no_time() {
        let alternating = |place: u64| match place % 2 {
            0 => segment(0, 10, Cause::IrqsOff, None),
            _ => segment(0, 1_000 + place, Cause::PreemptOff, None),
        };
        let segments: Vec<Segment> = (0..400).map(alternating).collect();
        let all: u64 = segments.iter().map(Segment::len_ns).sum();
        let parts = parts(&segments);
        assert_eq!(parts.len(), PARTS_MAX);
        assert_eq!(parts.iter().map(|part| part.ns).sum::<u64>(), all);
    }
}
