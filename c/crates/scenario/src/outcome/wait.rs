//! The waits of a thread: when each was over, and when the thread was back.

use preemptlab_protocol::script::{
    Interrupt, Operation, Played, PlayedEvent, PlayedStep, Span, Step,
};

use crate::{Scenario, scenario::is_wait};

use super::{
    Cause, Wait, WaitKind,
    hold::{Hold, Key},
};

/// Returns every wait of a thread's script, in order.
pub(super) fn waits(
    scenario: &Scenario,
    played: &Played,
    holds: &[Hold],
    thread: usize,
) -> Vec<Wait> {
    let reader = Reader { scenario, played, holds, thread };
    let steps = &scenario.script().threads[thread].steps;
    let waits = steps.iter().enumerate().filter(|(_, step)| is_wait(step));
    waits.filter_map(|(number, step)| reader.wait(number, step)).collect()
}

struct Reader<'a> {
    scenario: &'a Scenario,
    played: &'a Played,
    holds: &'a [Hold],
    thread: usize,
}

impl Reader<'_> {
    fn wait(&self, number: usize, step: &Step) -> Option<Wait> {
        let played = self.played.threads[self.thread].steps.get(number);
        let (kind, (due_ns, cause)) = match step {
            Step::SleepUntil(ns) => {
                // Also where the time had passed before the thread came: it is late all the same.
                let due_ns = played.map(|_| self.played.start_ns.saturating_add(*ns));
                (WaitKind::SleepUntil, (due_ns, Cause::Time))
            }
            Step::SleepFor(ns) => {
                let due_ns = |played: &PlayedStep| played.begin_ns.saturating_add(*ns);
                (WaitKind::Sleep, (played.map(due_ns), Cause::Time))
            }
            Step::FutexLock(futex) => (WaitKind::Futex, self.futex(*futex, played)),
            Step::Call(operations) => (WaitKind::Call, self.call(operations, played)?),
            _ => return None,
        };
        let back_ns = played.and_then(|played| played.end_ns);
        let relative = |ns: u64| ns.saturating_sub(self.played.start_ns);
        Some(Wait {
            step: number + 1,
            kind,
            begin_ns: played.map(|played| relative(played.begin_ns)),
            due_ns: due_ns.map(relative),
            back_ns: back_ns.map(relative),
            latency_ns: back_ns.zip(due_ns).map(|(back, due)| back.saturating_sub(due)),
            cause,
        })
    }

    /// Returns the time at which a futex was free: when its last holder in between released it, or
    /// at once if there was none.
    fn futex(&self, futex: u8, played: Option<&PlayedStep>) -> (Option<u64>, Cause) {
        let name = self.scenario.names.futex(futex).to_owned();
        let span = played.and_then(|played| Some((played.begin_ns, played.end_ns?)));
        let Some((begin_ns, back_ns)) = span else {
            return (None, Cause::Futex { name, given_back_by: None });
        };
        let last = self
            .holds
            .iter()
            .filter(|hold| hold.thread != self.thread && hold.key == Key::Futex(futex))
            .filter_map(|hold| Some((hold.until_ns?, hold.thread)))
            .filter(|(until_ns, _)| (begin_ns..=back_ns).contains(until_ns))
            .max();
        let given_back_by =
            last.map(|(_, thread)| self.scenario.script().threads[thread].name.clone());
        let due_ns = last.map_or(begin_ns, |(until_ns, _)| until_ns);
        (Some(due_ns), Cause::Futex { name, given_back_by })
    }

    /// Returns the end of a system call's waiting: that of its last waiting operation that was
    /// begun, before the return to user space.
    fn call(
        &self,
        operations: &[Operation],
        played: Option<&PlayedStep>,
    ) -> Option<(Option<u64>, Cause)> {
        let waits = |operation: &Operation| {
            matches!(operation, Operation::SleepFor(_) | Operation::WaitInterrupt(_))
        };
        let spans = played.map_or(&[][..], |played| &played.operations);
        let begun = operations.iter().zip(spans).rfind(|(operation, _)| waits(operation));
        let Some((operation, span)) = begun else {
            let first = operations.iter().find(|operation| waits(operation))?;
            return Some((None, self.cause(first, None)));
        };
        let (due_ns, event) = match operation {
            Operation::SleepFor(ns) => (Some(span.begin_ns.saturating_add(*ns)), None),
            Operation::WaitInterrupt(line) => match self.event(*line, *span) {
                Some((due_ns, event)) => (Some(due_ns), Some(event)),
                None => (None, None),
            },
            _ => return None,
        };
        Some((due_ns, self.cause(operation, event)))
    }

    fn cause(&self, operation: &Operation, event: Option<usize>) -> Cause {
        match operation {
            Operation::WaitInterrupt(line) => {
                let lines = &self.scenario.script().interrupts;
                let name = lines.get(usize::from(*line)).map_or("?", |line| &line.name);
                Cause::Interrupt { name: name.to_owned(), event }
            }
            _ => Cause::Time,
        }
    }

    /// Returns the event that ended a wait: the first that was done while the wait lasted. Its due
    /// time is that of the script, however late the interrupt was taken.
    fn event(&self, line: u8, wait: Span) -> Option<(u64, usize)> {
        let line = usize::from(line);
        let script = self.scenario.script().interrupts.get(line)?;
        let events = self.played.interrupts.get(line)?;
        let last_ns = wait.end_ns?;
        let number = events.iter().position(|event| {
            done_ns(script, event)
                .is_some_and(|done_ns| (wait.begin_ns..=last_ns).contains(&done_ns))
        })?;
        let at_ns = script.at_ns.get(number)?;
        Some((self.played.start_ns.saturating_add(*at_ns), number + 1))
    }
}

/// Returns the end of an event's last part; `None` when the event was not done.
fn done_ns(line: &Interrupt, event: &PlayedEvent) -> Option<u64> {
    let parts = [
        (true, event.hard),
        (line.threaded_ns.is_some(), event.threaded),
        (line.softirq_ns.is_some(), event.softirq),
        (line.work_ns.is_some(), event.work),
    ];
    let expected = parts.into_iter().filter(|(is_expected, _)| *is_expected);
    expected.map(|(_, part)| part?.end_ns).try_fold(0, |last_ns, end_ns| Some(last_ns.max(end_ns?)))
}
