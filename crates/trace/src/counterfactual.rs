//! The latencies of a kernel in which functions are changed, computed from the trace of the one in which
//! they are not.
//!
//! Nothing is executed: a section protects data, and a switch in the middle of it would make another
//! kernel, or a broken one. The computation leaves the course of the trace as it is, lets the scheduler
//! switch at more instants, and takes away time. Where the trace does not say whose an instant is, it stays
//! closed, so that more may be gone in truth, and not less.

use std::{collections::BTreeMap, io::Read};

use crate::{
    attribution::Attribution,
    bound::{Bound, Closures},
    changed::ChangedCpu,
    cpu::Machine,
    decode::{Decoder, Event, Item, TraceError},
    explain::Window,
    kernel::Kernel,
    opportunity::{Opportunities, Seen},
    virtual_window::VirtualWindow,
    waiting::{ChangedWakeup, Waits},
    wakeup::{Target, Wakeup, Wakeups},
};

/// The latencies of a kernel before and after a change of its functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterfactual {
    /// Latencies at every instant, by the trace.
    pub before: Bound,
    /// Latencies at every instant of the changed kernel.
    pub after: Bound,
    /// The wakeups of the trace, the worst first.
    pub wakeups: Vec<ChangedWakeup>,
    /// Number of wakeups in the window.
    pub wakeups_count: usize,
    /// Closed stretches of the trace that the change splits or shortens.
    pub affected: Affected,
    /// Time for which the CPUs are no longer closed, in nanoseconds.
    pub opened_ns: u64,
}

/// Closed stretches that a change affects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Affected {
    /// Number of stretches.
    pub count: u64,
    /// All of them together, in nanoseconds.
    pub total_ns: u64,
    /// Instants in code of preemptible functions, beside their sections, at which only the changed kernel
    /// may switch.
    pub instants: u64,
}

impl Affected {
    fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.instants = self.instants.saturating_add(other.instants);
    }
}

/// Computes the latencies of a changed kernel; `None` where the trace has no wakeup of the target. `window`
/// is on `CLOCK_MONOTONIC`.
///
/// # Errors
///
/// [`TraceError`]
pub fn counterfactual(
    trace: impl Read,
    kernel: &Kernel,
    target: Target<'_>,
    opportunities: Opportunities,
    window: Window,
    attribution: &Attribution,
) -> Result<Option<Counterfactual>, TraceError> {
    let mut decoder = Decoder::new(trace, kernel.program())?;
    let mut machine = Machine::default();
    let mut wakeups = Wakeups::new(target);
    let mut window_virtual = VirtualWindow::new(window);
    let mut cpus: BTreeMap<u32, ChangedCpu> = BTreeMap::new();
    let (mut traced, mut changed) = (Closures::default(), Closures::default());
    let mut touched = Touched::default();
    let all = &attribution.wakeups;
    let Some(least_ns) = all.iter().map(Wakeup::latency_ns).min() else { return Ok(None) };
    let mut waits = Waits::new(all.clone());
    while let Some(item) = decoder.next_item()? {
        match item {
            Item::Task(task) => machine.describe(task)?,
            Item::Stack(_) => {}
            Item::Event(event) => {
                window_virtual.look(kernel, &event);
                machine.follow(kernel, &event);
                if let Some(wakeup) = wakeups.look(kernel, &mut machine, &event)
                    && window.contains(wakeup.due_monotonic_ns)
                {
                    traced.probed(&wakeup);
                    changed.probed(&wakeup);
                    touched.probed();
                }
                let seen = Seen::of(opportunities, kernel, &mut machine, &event);
                let cpu = machine.cpu(event.cpu);
                let changed_cpu = cpus.entry(event.cpu).or_default();
                let otherwise =
                    changed_cpu.look(kernel, attribution, opportunities, cpu, &event, seen);
                waits.look(&event, cpu.need_resched, seen, otherwise)?;
                if window_virtual.contains(event.ns) {
                    traced.look(kernel, &event, seen);
                    changed.look(kernel, &event, otherwise);
                    touched.look(&event, seen, otherwise);
                }
            }
        }
    }
    let wakeups = waits.finish();
    let observed_ns = all.iter().map(Wakeup::latency_ns).max().unwrap_or(0);
    let left_ns = wakeups.iter().map(|wakeup| wakeup.changed_ns).max().unwrap_or(0);
    let opened_ns = traced.closed_ns().saturating_sub(changed.closed_ns());
    let before = traced.finish(least_ns, observed_ns);
    let after = changed.finish_like(&before, left_ns);
    Ok(Some(Counterfactual {
        before,
        after,
        wakeups,
        wakeups_count: all.len(),
        affected: touched.affected,
        opened_ns,
    }))
}

/// Collector of the closed stretches that a change affects.
#[derive(Debug, Default)]
struct Touched {
    /// Starts of the closed stretches at work, and whether the change affects them, by CPU.
    open: BTreeMap<u32, (u64, bool)>,
    has_begun: bool,
    /// Since the probe's last wakeup: they count when there is another one.
    pending: Affected,
    affected: Affected,
}

impl Touched {
    fn probed(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        if std::mem::replace(&mut self.has_begun, true) {
            self.affected.add(pending);
        }
    }

    fn look(&mut self, event: &Event, traced: Seen, changed: Seen) {
        let is_over = traced.is_opportunity();
        if let Some((_, is_touched)) = self.open.get_mut(&event.cpu) {
            *is_touched |= changed.removed_ns > 0 || changed.is_opportunity() && !is_over;
        }
        if is_over && let Some((start_ns, true)) = self.open.remove(&event.cpu) {
            let total_ns = event.ns.saturating_sub(start_ns);
            self.pending.add(Affected { count: 1, total_ns, instants: 0 });
        }
        if traced.is_closed {
            let (_, is_touched) = self.open.entry(event.cpu).or_insert((event.ns, false));
            *is_touched |= !changed.is_closed;
        }
        self.pending.instants += u64::from(changed.is_instant && !traced.is_instant);
    }
}

#[cfg(test)]
mod tests {
    use preemptlab_protocol::trace::stream::SiteKind;

    use super::*;
    use crate::{
        change::Changes,
        testing::{PROBE, Stream, address, busy, kernel, task},
    };

    const TARGET: Target<'static> = Target { comm: PROBE, is_realtime: true, first_waits: true };
    const WINDOW: Window = Window { start_ns: 0, end_ns: u64::MAX };

    fn computed(trace: &[u8], opportunities: Opportunities, changes: Changes) -> Counterfactual {
        let kernel = kernel();
        let attribution = Attribution::read(trace, &kernel, TARGET, WINDOW, changes).unwrap();
        counterfactual(trace, &kernel, TARGET, opportunities, WINDOW, &attribution)
            .unwrap()
            .unwrap()
    }

    fn preemptible(functions: &[&str]) -> Changes {
        let mut changes = Changes::default();
        functions.iter().for_each(|function| changes.make_preemptible(function));
        changes
    }

    fn cut(function: &str, longest_ns: u64) -> Changes {
        let mut changes = Changes::default();
        changes.cut(function, longest_ns);
        changes
    }

    fn longest_ns(bound: &Bound) -> u64 {
        bound.longest.first().map_or(0, |closed| closed.len_ns())
    }

    #[test]
    fn without_a_change_it_is_the_bound() {
        let (trace, kernel) = (busy(5), kernel());
        for opportunities in [Opportunities::Voluntary, Opportunities::Everywhere] {
            let found =
                crate::findings(trace.as_slice(), &kernel, TARGET, opportunities, WINDOW).unwrap();
            let computed = computed(&trace, opportunities, Changes::default());
            assert_eq!(Some(&computed.before), found.bound.as_ref());
            assert_eq!(computed.after, computed.before);
            assert_eq!((computed.affected, computed.opened_ns), (Affected::default(), 0));
            assert!(computed.wakeups.iter().all(|wakeup| wakeup.changed_ns == 21_050));
            assert_eq!((computed.wakeups.len(), computed.wakeups_count), (5, 5));
        }
    }

    /// The lock is taken for a function that only the stack at the section's end names.
    #[test]
    fn a_preemptible_section_splits_the_stretch() {
        let changes = || preemptible(&["do_nanosleep"]);
        let full = computed(&busy(5), Opportunities::Everywhere, changes());
        assert_eq!(longest_ns(&full.before), 60_000);
        // A system call with interrupts off is left; the interrupt in the section takes 90 ns.
        assert_eq!(longest_ns(&full.after), 4_000);
        assert_eq!(full.before.max_ns() - full.after.max_ns(), 56_000);
        assert_eq!(full.affected, Affected { count: 4, total_ns: 240_000, instants: 0 });
        assert_eq!(full.opened_ns, 4 * (60_000 - 90));
        // The scheduler switches where the interrupt returns to the section, at 100 ns.
        assert!(full.wakeups.iter().all(|wakeup| wakeup.changed_ns == 21_050 - 19_900));
        let none = computed(&busy(5), Opportunities::Voluntary, changes());
        assert_eq!((longest_ns(&none.before), longest_ns(&none.after)), (71_010, 10_000));
        assert!(none.wakeups.iter().all(|wakeup| wakeup.changed_ns == 21_050 - 20_910));
    }

    #[test]
    fn code_without_a_section_splits_where_it_is_known_to_run() {
        let changes = || preemptible(&["do_syscall_64"]);
        let none = computed(&busy(5), Opportunities::Voluntary, changes());
        // It turns interrupts on at -49 us, and is on the stack at 20 us.
        assert_eq!((longest_ns(&none.before), longest_ns(&none.after)), (71_010, 69_000));
        assert_eq!(none.affected.instants, 8);
        // Elsewhere this model switches already.
        let full = computed(&busy(5), Opportunities::Everywhere, changes());
        assert_eq!((full.after == full.before, full.affected), (true, Affected::default()));
    }

    #[test]
    fn a_cut_leaves_so_much_of_a_section_and_the_interrupt_in_it() {
        let full = computed(&busy(5), Opportunities::Everywhere, cut("do_nanosleep", 10_000));
        assert_eq!(longest_ns(&full.after), 10_090);
        let closed = full.after.longest[0];
        assert_eq!((closed.end_ns - closed.start_ns, closed.removed_ns), (60_000, 49_910));
        assert_eq!(full.opened_ns, 4 * 49_910);
        assert!(full.wakeups.iter().all(|wakeup| wakeup.changed_ns == 21_050 - 19_910));
        let long = computed(&busy(5), Opportunities::Everywhere, cut("do_nanosleep", 60_000));
        assert_eq!((long.after == long.before, long.affected.count), (true, 0));
    }

    #[test]
    fn changes_apply_together() {
        let mut changes = preemptible(&["do_nanosleep"]);
        changes.cut("entry_SYSCALL_64", 300);
        changes.cut("entry_SYSCALL_64", 500);
        changes.cut("asm_exc_page_fault", 700);
        let full = computed(&busy(5), Opportunities::Everywhere, changes);
        assert_eq!(longest_ns(&full.after), 700);
    }

    #[test]
    fn a_function_that_the_trace_lacks_is_not_known() {
        let (trace, kernel) = (busy(5), kernel());
        let changes = preemptible(&["do_nanosleep", "exit_mmap", "irq_exit_rcu"]);
        let attribution =
            Attribution::read(trace.as_slice(), &kernel, TARGET, WINDOW, changes).unwrap();
        assert!(attribution.knows("do_nanosleep"));
        assert!(!attribution.knows("exit_mmap") && !attribution.knows("irq_exit_rcu"));
        assert!(attribution.ranked().iter().any(|ranked| ranked.function == "do_nanosleep"));
    }

    const WORKER: u64 = 0xa1;

    /// Returns the start of a trace in which a program runs.
    fn worker() -> Stream {
        let mut stream = Stream::new();
        stream.task(&task(WORKER, 70, 70, 120, "worker")).probe(500, "__switch_to", &[0, WORKER]);
        stream.event(600, SiteKind::Sysret, "asm_exit", &[]);
        stream
    }

    /// Returns the opportunities at each event behind those of [`worker`], in the trace and with
    /// changes.
    fn seen(mut stream: Stream, changes: Changes) -> Vec<(Seen, Seen)> {
        let (trace, kernel) = (stream.finish(), kernel());
        let all = Opportunities::Everywhere;
        let attribution =
            Attribution::read(trace.as_slice(), &kernel, TARGET, WINDOW, changes).unwrap();
        let mut decoder = Decoder::new(trace.as_slice(), kernel.program()).unwrap();
        let (mut machine, mut changed) = (Machine::default(), ChangedCpu::default());
        let mut found = Vec::new();
        while let Some(item) = decoder.next_item().unwrap() {
            match item {
                Item::Task(task) => machine.describe(task).unwrap(),
                Item::Stack(_) => {}
                Item::Event(event) => {
                    machine.follow(&kernel, &event);
                    let seen = Seen::of(all, &kernel, &mut machine, &event);
                    let cpu = machine.cpu(event.cpu);
                    let otherwise = changed.look(&kernel, &attribution, all, cpu, &event, seen);
                    found.push((seen, otherwise));
                }
            }
        }
        found.split_off(2)
    }

    /// Interrupts off in the section and an inner section keep the CPU closed.
    #[test]
    fn what_else_closes_a_preemptible_section_stays() {
        let mut stream = worker();
        let events: [(u64, SiteKind, &str); 8] = [
            (1_000, SiteKind::PreemptAdd(1), "irq_enter_rcu"),
            (2_000, SiteKind::IrqsOff, "default_idle"),
            (5_000, SiteKind::IrqsOn, "default_idle"),
            (6_000, SiteKind::PreemptAdd(1), "handle_softirqs"),
            (8_000, SiteKind::PreemptAdd(-1), "handle_softirqs"),
            (9_000, SiteKind::PreemptAdd(-1), "irq_enter_rcu"),
            (10_000, SiteKind::PreemptAdd(1), "handle_softirqs"),
            (10_500, SiteKind::PreemptAdd(-1), "handle_softirqs"),
        ];
        for (ns, kind, function) in events {
            stream.event(ns, kind, function, &[]);
        }
        let seen = seen(stream, preemptible(&["irq_enter_rcu"]));
        let closed = seen.iter().map(|(traced, changed)| (traced.is_closed, changed.is_closed));
        let (stays, opens, open) = ((true, true), (true, false), (false, false));
        let wanted = [opens, stays, opens, stays, opens, open, stays, open];
        assert_eq!(closed.collect::<Vec<_>>(), wanted);
    }

    /// Each round of a softirq is cut for itself, without the interrupts in it.
    #[test]
    fn softirqs_are_cut_by_their_names() {
        let mut stream = worker();
        stream
            .event(1_000, SiteKind::PreemptAdd(0x100), "handle_softirqs", &[])
            .probe(1_100, "run_timer_softirq", &[])
            .probe(3_100, "rcu_core_si", &[])
            .probe(3_600, "asm_sysvec_apic_timer_interrupt", &[address("rcu_core_si"), 0x10])
            .event(8_600, SiteKind::ExceptionReturn, "asm_exit", &[0])
            .event(9_600, SiteKind::PreemptAdd(-0x100), "handle_softirqs", &[])
            .event(9_900, SiteKind::PreemptAdd(1), "irq_enter_rcu", &[])
            .event(19_900, SiteKind::PreemptAdd(-1), "irq_enter_rcu", &[]);
        let removed_ns = |changes| {
            let seen = seen(stream.clone(), changes);
            seen.iter().map(|(_, changed)| changed.removed_ns).collect::<Vec<_>>()
        };
        assert_eq!(removed_ns(cut("rcu_core_si", 600)), [0, 0, 0, 0, 0, 900, 0, 0]);
        assert_eq!(removed_ns(cut("run_timer_softirq", 600)), [0, 0, 1_400, 0, 0, 0, 0, 0]);
        assert_eq!(removed_ns(cut("rcu_core_si", u64::MAX)), [0; 8]);
        assert_eq!(removed_ns(preemptible(&["rcu_core_si"])), [0; 8]);
    }
}
