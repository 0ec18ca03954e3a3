//! Wakeups that happened, in a kernel that is changed.

use crate::{
    decode::{Event, TraceError},
    opportunity::Seen,
    wakeup::Wakeup,
};

/// Largest number of wakeups that are waited for at once. A thread waits for one at a time, and a probe has a
/// thread a CPU; a trace with more is refused, because each of its events would look at all of them.
const WAITING_MAX: usize = 1 << 13;

/// Wakeups to whose tasks a changed kernel would give the CPU earlier.
#[derive(Debug)]
pub(crate) struct Waits {
    /// Those that are not due yet, the latest first.
    ahead: Vec<Wait>,
    waiting: Vec<Wait>,
    over: Vec<Wait>,
}

#[derive(Debug)]
struct Wait {
    wakeup: Wakeup,
    /// Time that cuts remove from it, in nanoseconds.
    cut_ns: u64,
    /// When the changed kernel may switch to the task first.
    changed_ns: Option<u64>,
    /// When the kernel of the trace may.
    traced_ns: Option<u64>,
}

/// A wakeup that happened, with its latency in the changed kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedWakeup {
    /// The wakeup in the trace.
    pub wakeup: Wakeup,
    /// Its latency in the changed kernel, in nanoseconds.
    pub changed_ns: u64,
}

impl Waits {
    pub fn new(mut wakeups: Vec<Wakeup>) -> Self {
        wakeups.sort_by_key(|wakeup| std::cmp::Reverse(wakeup.due_ns));
        let wait = |wakeup| Wait { wakeup, cut_ns: 0, changed_ns: None, traced_ns: None };
        let ahead = wakeups.into_iter().map(wait).collect();
        Self { ahead, waiting: Vec::new(), over: Vec::new() }
    }

    /// Looks at an event: the scheduler's opportunities by the trace and in the changed kernel, and whether
    /// the CPU has been told to switch.
    ///
    /// # Errors
    ///
    /// When more wakeups are waited for than a probe has threads.
    pub fn look(
        &mut self,
        event: &Event,
        needs_resched: bool,
        traced: Seen,
        changed: Seen,
    ) -> Result<(), TraceError> {
        while let Some(wait) = self.ahead.pop_if(|wait| wait.wakeup.due_ns < event.ns) {
            self.waiting.push(wait);
        }
        if self.waiting.len() > WAITING_MAX {
            return Err(TraceError::TooMany { max: WAITING_MAX, what: "wakeups at one time" });
        }
        for wait in &mut self.waiting {
            wait.look(event, needs_resched, traced, changed);
        }
        let is_over =
            |wait: &mut Wait| wait.wakeup.cpu == event.cpu && event.ns >= wait.wakeup.user_ns;
        self.over.extend(self.waiting.extract_if(.., is_over));
        Ok(())
    }

    /// Returns the wakeups, the one that took longest in the trace first.
    pub fn finish(self) -> Vec<ChangedWakeup> {
        let waits = self.over.into_iter().chain(self.waiting).chain(self.ahead);
        let mut wakeups: Vec<ChangedWakeup> = waits.map(Wait::finish).collect();
        wakeups.sort_by_key(|ChangedWakeup { wakeup, .. }| {
            (std::cmp::Reverse(wakeup.latency_ns()), wakeup.due_ns)
        });
        wakeups
    }
}

impl Wait {
    fn look(&mut self, event: &Event, needs_resched: bool, traced: Seen, changed: Seen) {
        let Wakeup { cpu, timer_cpu, due_ns, expire_ns, switch_ns, .. } = self.wakeup;
        let is_expired = event.ns >= expire_ns;
        // Between the two switches everything is gone already.
        let is_gone = self.changed_ns.is_some() && self.traced_ns.is_none();
        if event.cpu == if is_expired { cpu } else { timer_cpu } && !is_gone {
            let removed_ns = changed.removed_ns.min(event.ns.saturating_sub(due_ns));
            self.cut_ns = self.cut_ns.saturating_add(removed_ns);
        }
        if event.cpu == cpu && is_expired && needs_resched && event.ns <= switch_ns {
            if changed.is_opportunity() {
                self.changed_ns.get_or_insert(event.ns);
            }
            if traced.is_opportunity() {
                self.traced_ns.get_or_insert(event.ns);
            }
        }
    }

    fn finish(self) -> ChangedWakeup {
        let traced_ns = self.traced_ns.unwrap_or(self.wakeup.switch_ns);
        let changed_ns = self.changed_ns.unwrap_or(traced_ns);
        let removed_ns = traced_ns.saturating_sub(changed_ns).saturating_add(self.cut_ns);
        let changed_ns = self.wakeup.latency_ns().saturating_sub(removed_ns);
        ChangedWakeup { wakeup: self.wakeup, changed_ns }
    }
}
