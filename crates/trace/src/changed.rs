//! A CPU of a kernel that is changed, followed along the trace of the one that is not.

use preemptlab_protocol::trace::stream::SiteKind;

use crate::{
    attribution::Attribution,
    change::Change,
    cpu::{Cpu, Frame, SectionKind, Since},
    decode::Event,
    kernel::Kernel,
    opportunity::{Opportunities, Seen},
    point::Point,
};

/// A section at work, of a changed function.
#[derive(Clone, Copy, Debug)]
struct Held {
    change: Change,
    /// Interruptions of the CPU when it began; with more of them something else is at work.
    interruptions: usize,
    /// `preempt_count` when it began; where it is higher, an inner section keeps preemption off, too.
    preempt_count: u32,
    /// Time that it has held, without the removed part, in nanoseconds.
    own_ns: u64,
}

/// A section that began then, and its changed form, if its function has a change.
type Section = Option<(Since, Option<Held>)>;

/// A CPU of the changed kernel.
#[derive(Debug, Default)]
pub(crate) struct ChangedCpu {
    last_ns: Option<u64>,
    interruptions: usize,
    preempt: Section,
    irqs: Section,
    softirq: Option<(u32, Held)>,
    /// Numbers of levels in the kernel with an interrupt or exception that came in a preemptible function.
    met: Vec<usize>,
}

impl ChangedCpu {
    /// Returns the scheduler's opportunities on the changed CPU, from those on the unchanged one. The
    /// machine has followed the event.
    pub fn look(
        &mut self,
        kernel: &Kernel,
        attribution: &Attribution,
        opportunities: Opportunities,
        cpu: &Cpu,
        event: &Event,
        seen: Seen,
    ) -> Seen {
        let passed_ns = self.last_ns.map_or(0, |last_ns| event.ns.saturating_sub(last_ns));
        self.last_ns = Some(event.ns);
        let removed_ns = self.pass(passed_ns);
        self.interruptions = cpu.interruptions();
        let begin = |change| Held {
            change,
            interruptions: cpu.interruptions(),
            preempt_count: cpu.preempt_count,
            own_ns: 0,
        };
        let held = |kind, since| attribution.section(kind, event.cpu, since).map(begin);
        follow(&mut self.preempt, cpu.preempt_off, |since| held(SectionKind::PreemptOff, since));
        follow(&mut self.irqs, cpu.irqs_off, |since| held(SectionKind::IrqsOff, since));
        self.follow_softirq(kernel, attribution, cpu, event, begin);
        let runs_preemptible = self.runs_preemptible(kernel, attribution, cpu, event);
        let is_closed_otherwise =
            cpu.irqs_off.is_some() || cpu.is_interrupted() || cpu.is_scheduling;
        let is_released = self.preempt.is_some_and(|(_, held)| {
            held.is_some_and(|held| {
                held.change.is_preemptible && held.preempt_count == cpu.preempt_count
            })
        });
        // Elsewhere it is one already.
        let is_new_instant = opportunities == Opportunities::Voluntary
            && runs_preemptible
            && cpu.preempt_count == 0
            && !is_closed_otherwise;
        Seen {
            is_closed: seen.is_closed && (is_closed_otherwise || !is_released),
            is_instant: seen.is_instant || is_new_instant,
            removed_ns,
            ..seen
        }
    }

    /// Passes the time since the last event. Returns how much of it the cuts remove, in nanoseconds.
    fn pass(&mut self, passed_ns: u64) -> u64 {
        let interruptions = self.interruptions;
        let sections = [&mut self.preempt, &mut self.irqs];
        let sections = sections.into_iter().filter_map(|section| section.as_mut()?.1.as_mut());
        let mut at_work: Vec<(&mut u64, u64)> = sections
            .chain(self.softirq.as_mut().map(|(_, held)| held))
            .filter(|held| held.interruptions == interruptions)
            .filter_map(|held| Some((&mut held.own_ns, held.change.cut_ns?)))
            .collect();
        let left = at_work.iter().map(|(own_ns, cut_ns)| cut_ns.saturating_sub(**own_ns)).min();
        let kept_ns = left.map_or(passed_ns, |left_ns| left_ns.min(passed_ns));
        for (own_ns, _) in &mut at_work {
            **own_ns = own_ns.saturating_add(kept_ns);
        }
        passed_ns - kept_ns
    }

    fn follow_softirq(
        &mut self,
        kernel: &Kernel,
        attribution: &Attribution,
        cpu: &Cpu,
        event: &Event,
        begin: impl FnOnce(Change) -> Held,
    ) {
        let served = cpu.frames.iter().rev().find_map(|frame| match frame {
            Frame::Softirq(probe) => Some(*probe),
            _ => None,
        });
        if let SiteKind::Probe(probe) = event.site.kind
            && kernel.tracepoint(probe).point == Point::Softirq
        {
            let change = attribution.changes.of(&kernel.tracepoint(probe).name);
            self.softirq = change.map(|change| (probe, begin(change)));
        } else if self.softirq.is_some_and(|(probe, _)| served != Some(Some(probe))) {
            self.softirq = None;
        }
    }

    /// Returns whether a preemptible function is known to run behind the event.
    fn runs_preemptible(
        &mut self,
        kernel: &Kernel,
        attribution: &Attribution,
        cpu: &Cpu,
        event: &Event,
    ) -> bool {
        let depth = cpu.frames.len();
        match event.site.kind {
            SiteKind::Probe(probe) => match kernel.tracepoint(probe).point {
                Point::Interrupt | Point::Exception => {
                    self.met.retain(|met| *met < depth);
                    if attribution.meets_preemptible(event) {
                        self.met.push(depth);
                    }
                    return false;
                }
                // Another task's levels.
                Point::Switch => self.met.clear(),
                _ => {}
            },
            SiteKind::ExceptionReturn if depth > 0 => {
                let count = self.met.len();
                self.met.retain(|met| *met <= depth);
                return self.met.len() < count;
            }
            _ => {}
        }
        attribution.is_in_preemptible(event) || attribution.meets_preemptible(event)
    }
}

/// Follows the section of one kind that is at work.
fn follow(section: &mut Section, since: Option<Since>, held: impl FnOnce(Since) -> Option<Held>) {
    if section.map(|(since, _)| since) != since {
        *section = since.map(|since| (since, held(since)));
    }
}
