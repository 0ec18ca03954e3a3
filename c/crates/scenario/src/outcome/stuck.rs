//! The places of the threads that had not finished, and the reasons of their waits.

use preemptlab_protocol::script::{LockKind, Operation, Played, PlayedStep, Step, Thread};

use crate::{LockClass, Scenario};

use super::{
    Stuck, StuckOn,
    hold::{Hold, Key},
};

/// Resource that a thread had begun to take and never got.
#[derive(Clone, Copy)]
pub(super) struct Blocked {
    pub key: Key,
    is_shared: bool,
}

/// Returns the resource that each thread is blocked on at the end.
pub(super) fn blocked(scenario: &Scenario, played: &Played) -> Vec<Option<Blocked>> {
    let threads = scenario.script().threads.iter().zip(&played.threads);
    threads
        .map(|(thread, played)| match current(thread, &played.steps)? {
            (Step::FutexLock(number), _) => {
                Some(Blocked { key: Key::Futex(*number), is_shared: false })
            }
            (Step::Call(operations), step) => match operation(operations, step)? {
                Operation::Lock(kind, number) => {
                    let key = Key::Lock(LockClass::from(*kind), *number);
                    Some(Blocked { key, is_shared: *kind == LockKind::Read })
                }
                _ => None,
            },
            _ => None,
        })
        .collect()
}

/// Returns the step that was begun and never ended.
fn current<'a>(thread: &'a Thread, steps: &'a [PlayedStep]) -> Option<(&'a Step, &'a PlayedStep)> {
    let last = steps.last().filter(|step| step.end_ns.is_none())?;
    Some((thread.steps.get(steps.len() - 1)?, last))
}

/// Returns the operation that was begun and never ended.
fn operation<'a>(operations: &'a [Operation], step: &PlayedStep) -> Option<&'a Operation> {
    step.operations.last().filter(|span| span.end_ns.is_none())?;
    operations.get(step.operations.len() - 1)
}

/// Returns the holders of the resource that a thread waits for. A reader that waits behind a
/// waiting writer, as `rwlock_t` has it without `PREEMPT_RT`, may have no holder.
pub(super) fn holders(holds: &[Hold], blocked: &[Option<Blocked>], thread: usize) -> Vec<usize> {
    let Some(Blocked { key, is_shared }) = blocked[thread] else { return Vec::new() };
    let mut holders: Vec<usize> = holds
        .iter()
        .filter(|hold| hold.until_ns.is_none() && hold.key == key && hold.thread != thread)
        .filter(|hold| !(is_shared && hold.is_shared))
        .map(|hold| hold.thread)
        .collect();
    holders.sort_unstable();
    holders.dedup();
    holders
}

/// Returns the place of a thread at the end; `None` for one that had finished.
pub(super) fn stuck(
    scenario: &Scenario,
    played: &Played,
    holds: &[Hold],
    blocked: &[Option<Blocked>],
    number: usize,
) -> Option<Stuck> {
    let thread = &scenario.script().threads[number];
    let steps = &played.threads[number].steps;
    let Some((step, played_step)) = current(thread, steps) else {
        let next = steps.len();
        let on = StuckOn::Cpu;
        return (next < thread.steps.len()).then_some(Stuck {
            step: next + 1,
            begun: false,
            on,
            holders: Vec::new(),
        });
    };
    let slept = |due_ns: u64| if due_ns > played.end_ns { StuckOn::Time } else { StuckOn::Cpu };
    let on = match (blocked[number], step) {
        (Some(blocked), _) => StuckOn::Resource(blocked.key.resource(scenario)),
        (None, Step::SleepUntil(ns)) => slept(played.start_ns.saturating_add(*ns)),
        (None, Step::SleepFor(ns)) => slept(played_step.begin_ns.saturating_add(*ns)),
        (None, Step::Call(operations)) => match operation(operations, played_step) {
            Some(Operation::SleepFor(ns)) => {
                let begin_ns = played_step.operations.last().map_or(0, |span| span.begin_ns);
                slept(begin_ns.saturating_add(*ns))
            }
            Some(Operation::WaitInterrupt(line)) => {
                let lines = &scenario.script().interrupts;
                let name = lines.get(usize::from(*line)).map_or("?", |line| &line.name);
                StuckOn::Interrupt { name: name.to_owned() }
            }
            _ => StuckOn::Cpu,
        },
        (None, _) => StuckOn::Cpu,
    };
    let names = &scenario.script().threads;
    let holders = holders(holds, blocked, number);
    let holders = holders.into_iter().map(|holder| names[holder].name.clone()).collect();
    Some(Stuck { step: steps.len(), begun: true, on, holders })
}
