//! How late wakeups would be in a kernel with a patch, computed from the trace of the one without it.

use std::collections::BTreeSet;

use preemptlab_experiment::Recording;
use preemptlab_model::{counted, nearest};
use preemptlab_trace::{
    Attribution, Bound, Cause, Changes, Closed, Counterfactual, Opportunities, Ranked, SectionKind,
    Segment, Timeline, closed_timeline, counterfactual, opportunities, window,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    choice::Chosen,
    traced::{Traced, probe, target},
};
use crate::{Error, Result, WhatIf, moment::in_us, wakeup::cause_in_words};

/// Number of functions with a similar name that are named.
const NEAREST: usize = 3;

/// Latencies of a cell before and after changes of its kernel.
pub struct Patched<'a> {
    /// The cell.
    pub cell: &'a Chosen,
    /// The changes.
    pub what_if: &'a [WhatIf],
    /// Latencies without and with the changes.
    pub computed: Counterfactual,
    /// The longest stretch that is left, as its changed kernel would execute it.
    pub longest: Option<(Closed, Timeline)>,
    /// Reasons why a change removes less than its name promises.
    pub remarks: Vec<String>,
    /// Number of the worst wakeups that are shown.
    pub worst: usize,
}

/// Latencies before and after changes, as a document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PatchedDocument {
    /// Version of the document.
    pub format: u32,
    /// Name of the cell.
    pub cell: String,
    /// Identity of the cell.
    pub id: String,
    /// The changes, as they were asked for.
    pub what_if: Vec<String>,
    /// The effect of the changes on the worst instant, in a sentence.
    pub sentence: String,
    /// Latencies at every instant without the changes.
    pub before: Latencies,
    /// Latencies at every instant with the changes.
    pub after: Latencies,
    /// Number of wakeups in the trace.
    pub wakeups: usize,
    /// The worst wakeups, the worst first.
    pub worst: Vec<PatchedWakeup>,
    /// Number of closed stretches that the changes split or shorten.
    pub affected: u64,
    /// Total length of these stretches, in nanoseconds.
    pub affected_ns: u64,
    /// Time for which the CPUs are no longer closed, in nanoseconds.
    pub opened_ns: u64,
    /// Instants in code of preemptible functions, beside sections, at which only the changed kernel may
    /// switch.
    pub instants: u64,
    /// The longest stretch that is left; absent where none is.
    pub longest: Option<LongestLeft>,
    /// Reasons why a change removes less than its name promises.
    pub remarks: Vec<String>,
    /// Whether a kernel with the changes was executed: it never is.
    pub executed: bool,
}

/// Latencies at every instant of a window.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Latencies {
    /// Latency at the worst instant, in nanoseconds.
    pub max_ns: u64,
    /// Latency that 99.9 % of all instants do not exceed, in nanoseconds.
    pub p99_9_ns: u64,
    /// Latency that 99 % of all instants do not exceed, in nanoseconds.
    pub p99_ns: u64,
    /// Largest latency that a wakeup had, in nanoseconds.
    pub observed_ns: u64,
    /// Whether no wakeup was later than the computed bound.
    pub sound: bool,
    /// Latency at an instant at which nothing is closed, in nanoseconds.
    pub floor_ns: u64,
}

/// A wakeup without and with changes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PatchedWakeup {
    /// Number of the wakeup in its thread.
    pub ordinal: u64,
    /// When it was due, in virtual nanoseconds.
    pub due_ns: u64,
    /// Its latency, in nanoseconds.
    pub latency_ns: u64,
    /// Its latency with the changes, in nanoseconds.
    pub latency_ns_after: u64,
}

/// The longest stretch that changes leave.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LongestLeft {
    /// Start of the stretch, in virtual nanoseconds.
    pub at_ns: u64,
    /// Length that is left, in nanoseconds.
    pub length_ns: u64,
    /// Length that the changes remove, in nanoseconds.
    pub removed_ns: u64,
    /// Cause of most of it, in words.
    pub cause: String,
    /// Number of segments, of which those that are alike may be drawn as one.
    pub segments_count: u64,
    /// Segments, in order.
    pub segments: Vec<Segment>,
}

impl<'a> Patched<'a> {
    /// Computes the latencies of a traced cell with changes of its kernel.
    ///
    /// # Errors
    ///
    /// When the cell has no trace or its trace has no wakeup, or does not know a function.
    pub fn new(
        recording: &Recording,
        cell: &'a Chosen,
        what_if: &'a [WhatIf],
        worst: usize,
    ) -> Result<Self> {
        let traced = Traced::new(recording, cell)?;
        let probe = probe(cell)?;
        let target = target(&probe, false);
        let window = window(&cell.inputs.job, &cell.report);
        let opportunities = opportunities(&cell.inputs.job, &cell.report);
        let mut changes = Changes::default();
        what_if.iter().for_each(|change| change.add_to(&mut changes));
        let stream = || Traced::stream(recording, cell);
        let unreadable = |error| traced.unreadable(error);
        let attribution = Attribution::read(stream()?, &traced.kernel, target, window, changes)
            .map_err(unreadable)?;
        if let Some(unknown) = what_if.iter().find(|change| !attribution.knows(change.function())) {
            return Err(unknown_function(recording, cell, unknown, attribution.ranked()));
        }
        let kernel = &traced.kernel;
        let computed =
            counterfactual(stream()?, kernel, target, opportunities, window, &attribution)
                .map_err(unreadable)?
                .ok_or_else(|| Error::unusable("the cell's trace has no wakeup of the probe"))?;
        let longest = match computed.after.longest.first() {
            Some(closed) => closed_timeline(stream()?, kernel, *closed)
                .map_err(unreadable)?
                .map(|timeline| (*closed, shortened(timeline, what_if))),
            None => None,
        };
        let remark = |change| remark(change, opportunities, attribution.ranked());
        let mut remarks: Vec<String> = what_if.iter().filter_map(remark).collect();
        if opportunities == Opportunities::Voluntary
            && what_if.iter().any(|change| change.cut_ns().is_none())
        {
            remarks.push(format!(
                "This model switches only where the kernel asks for it, and a trace of it knows which \
                 function runs at some instants only, besides sections. It lets the scheduler switch at \
                 {} more. What lies between them stays closed, so that a patch may remove more.",
                counted(computed.affected.instants, "instant")
            ));
        }
        Ok(Self { cell, what_if, computed, longest, remarks, worst })
    }

    /// Describes in a sentence the effect of the changes on the worst instant.
    pub fn sentence(&self) -> String {
        let changes: Vec<String> = self.what_if.iter().map(WhatIf::words).collect();
        let changes = changes.join(" and ");
        let (before, after) = (self.computed.before.max_ns(), self.computed.after.max_ns());
        if after == before {
            return format!(
                "With {changes} a task due at the worst instant would still be {} us late.",
                in_us(before)
            );
        }
        format!(
            "With {changes} a task due at the worst instant would be {} us late instead of {} us ({}).",
            in_us(after),
            in_us(before),
            change_in_percent(before, after)
        )
    }

    /// Returns the latencies before and after as a document.
    pub fn document(&self) -> PatchedDocument {
        let computed = &self.computed;
        let latencies = |bound: &Bound| Latencies {
            max_ns: bound.max_ns(),
            p99_9_ns: bound.p99_9_ns,
            p99_ns: bound.p99_ns,
            observed_ns: bound.observed_ns(),
            sound: bound.is_sound(),
            floor_ns: bound.floor_ns,
        };
        let worst = computed.wakeups.iter().take(self.worst).map(|found| PatchedWakeup {
            ordinal: found.wakeup.ordinal,
            due_ns: found.wakeup.due_ns,
            latency_ns: found.wakeup.latency_ns(),
            latency_ns_after: found.changed_ns,
        });
        let longest = self.longest.as_ref().map(|(closed, timeline)| LongestLeft {
            at_ns: closed.start_ns,
            length_ns: closed.len_ns(),
            removed_ns: closed.removed_ns,
            cause: cause_in_words(timeline),
            segments_count: timeline.segments_count(),
            segments: timeline.segments.clone(),
        });
        PatchedDocument {
            format: 1,
            cell: self.cell.factors.to_string(),
            id: self.cell.id.to_string(),
            what_if: self.what_if.iter().map(WhatIf::to_string).collect(),
            sentence: self.sentence(),
            before: latencies(&computed.before),
            after: latencies(&computed.after),
            wakeups: computed.wakeups_count,
            worst: worst.collect(),
            affected: computed.affected.count,
            affected_ns: computed.affected.total_ns,
            opened_ns: computed.opened_ns,
            instants: computed.affected.instants,
            longest,
            remarks: self.remarks.clone(),
            executed: false,
        }
    }
}

/// Returns a change in percent: `-24 %`.
pub fn change_in_percent(before: u64, after: u64) -> String {
    let percent = (after as f64 - before as f64) / before.max(1) as f64 * 100.0;
    if percent.abs() < 0.5 { "0 %".to_owned() } else { format!("{percent:+.0} %") }
}

/// Names the functions of the ranking that are called nearly so.
fn unknown_function(
    recording: &Recording,
    cell: &Chosen,
    unknown: &WhatIf,
    ranked: &[Ranked],
) -> Error {
    let mut names: BTreeSet<&str> = ranked.iter().map(|it| it.function.as_str()).collect();
    let mut alike = Vec::new();
    while alike.len() < NEAREST
        && let Some(name) = nearest(unknown.function(), names.iter().copied())
    {
        names.remove(name);
        alike.push(format!("`{name}`"));
    }
    let alike = match alike.as_slice() {
        [] => String::new(),
        alike => format!("; nearest by name: {}", alike.join(", ")),
    };
    Error::Unusable(format!(
        "the trace of {} never meets `{}`{alike}; the functions with the longest sections: preemptlab \
         explain {} ranking",
        cell.name(),
        unknown.function(),
        recording.path().display()
    ))
}

/// Says why a change removes less than its name promises.
fn remark(change: &WhatIf, opportunities: Opportunities, ranked: &[Ranked]) -> Option<String> {
    let function = change.function();
    let max_ns = |kind: SectionKind| {
        let of_kind = ranked.iter().find(|it| it.kind == kind && it.function == function);
        of_kind.map(|ranked| ranked.max_ns)
    };
    let [preempt, irqs, softirq] =
        [SectionKind::PreemptOff, SectionKind::IrqsOff, SectionKind::Softirq].map(max_ns);
    if let Some(cut_ns) = change.cut_ns() {
        return match [preempt, irqs, softirq].into_iter().flatten().max() {
            None => Some(format!(
                "No section begins in `{function}` in this window: there is nothing to cut."
            )),
            Some(max_ns) if max_ns <= cut_ns => Some(format!(
                "The longest section of `{function}` lasts {} us: there is nothing to cut.",
                in_us(max_ns)
            )),
            Some(_) => None,
        };
    }
    if let Some(max_ns) = irqs {
        return Some(format!(
            "`{function}` turns interrupts off, for at most {} us: where it does so, `preemptible` \
             changes nothing, because no interrupt can wake a task there. Try \
             `what-if cut={function}:TIME`.",
            in_us(max_ns)
        ));
    }
    if let Some(max_ns) = softirq {
        return Some(format!(
            "`{function}` is a softirq, for at most {} us: `preemptible` changes nothing, because tasks \
             are switched only behind softirqs. Try `what-if cut={function}:TIME`.",
            in_us(max_ns)
        ));
    }
    (preempt.is_none() && opportunities == Opportunities::Everywhere).then(|| {
        format!(
            "No section with preemption off begins in `{function}` in this window: this model switches \
             in its other code already."
        )
    })
}

/// Shortens the sections of a timeline that are cut, so that the later ones follow earlier.
fn shortened(mut timeline: Timeline, what_if: &[WhatIf]) -> Timeline {
    let mut removed_ns: u64 = 0;
    for segment in &mut timeline.segments {
        let is_section =
            matches!(segment.cause, Cause::PreemptOff | Cause::IrqsOff | Cause::Softirq);
        let cuts =
            what_if.iter().filter(|change| Some(change.function()) == segment.function.as_deref());
        let cut_ns = cuts.filter_map(WhatIf::cut_ns).min().filter(|_| is_section);
        let length_ns = segment.len_ns();
        let folded = segment.folded();
        // Of sections that are drawn as one, the shortest and the longest are known: this is the least cut.
        let cut_ns = cut_ns.map(|cut_ns| cut_ns.saturating_mul(folded.count));
        let kept_ns = cut_ns.map_or(length_ns, |cut_ns| cut_ns.min(length_ns));
        segment.start_ns = segment.start_ns.saturating_sub(removed_ns);
        segment.end_ns = segment.start_ns.saturating_add(kept_ns);
        removed_ns = removed_ns.saturating_add(length_ns - kept_ns);
    }
    timeline.wakeup.user_ns = timeline.wakeup.user_ns.saturating_sub(removed_ns);
    timeline
}

#[cfg(test)]
mod tests {
    use preemptlab_trace::{Task, Wakeup, testing::segment};

    use super::*;

    #[test]
    fn a_timeline_is_shorter_by_what_is_cut() {
        let task = Task { address: 0, pid: 0, tgid: 0, prio: -1, comm: String::new() };
        let wakeup = Wakeup {
            task,
            ordinal: 0,
            cpu: 0,
            due_ns: 100,
            due_monotonic_ns: 100,
            timer_cpu: 0,
            expire_ns: 100,
            switch_ns: 450,
            user_ns: 450,
        };
        let segments = vec![
            segment(100, 200, Cause::IrqsOff, Some("a")),
            segment(200, 250, Cause::HardIrq, Some("a")),
            segment(250, 400, Cause::PreemptOff, Some("a")),
            segment(400, 450, Cause::PreemptOff, Some("b")),
        ];
        let what_if: Vec<WhatIf> = ["cut=a:30ns", "cut=b:60ns", "preemptible=b"]
            .map(|change| change.parse().unwrap())
            .into();
        let timeline = shortened(Timeline { wakeup, segments, other_timers_ns: 0 }, &what_if);
        let lengths: Vec<_> = timeline.segments.iter().map(|it| (it.start_ns, it.end_ns)).collect();
        assert_eq!(lengths, [(100, 130), (130, 180), (180, 210), (210, 260)]);
        assert_eq!(timeline.wakeup.latency_ns(), 160);
    }

    #[test]
    fn changes_are_in_percent() {
        assert_eq!(change_in_percent(63_100, 48_100), "-24 %");
        assert_eq!(change_in_percent(1_000_000, 999_999), "0 %");
        assert_eq!(change_in_percent(0, 0), "0 %");
        assert_eq!(change_in_percent(100, 0), "-100 %");
    }
}
