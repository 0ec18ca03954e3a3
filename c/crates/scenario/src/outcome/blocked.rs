//! The time for which threads waited for locks and futexes that others held.

use preemptlab_protocol::script::{LockKind, Operation, Played, Span, Step};

use crate::{LockClass, Scenario};

use super::{
    BlockedOn,
    hold::{Hold, Key},
};

/// Returns the futexes and locks that blocked a thread, each once.
pub(super) fn blocked_on(
    scenario: &Scenario,
    played: &Played,
    holds: &[Hold],
    thread: usize,
) -> Vec<BlockedOn> {
    let mut blocked: Vec<BlockedOn> = Vec::new();
    for (key, is_shared, attempt) in attempts(scenario, played, thread) {
        let Some(blocked_ns) = blocked_ns(holds, thread, (key, is_shared), attempt, played.end_ns)
        else {
            continue;
        };
        let resource = key.resource(scenario);
        match blocked.iter_mut().find(|on| on.resource == resource) {
            Some(on) => {
                on.count += 1;
                on.blocked_ns = on.blocked_ns.saturating_add(blocked_ns);
            }
            None => blocked.push(BlockedOn { resource, count: 1, blocked_ns }),
        }
    }
    blocked
}

/// Returns a thread's attempts to take something, in order, each with whether others may have it at
/// the same time.
fn attempts(scenario: &Scenario, played: &Played, thread: usize) -> Vec<(Key, bool, Span)> {
    let steps = scenario.script().threads[thread].steps.iter();
    let mut attempts = Vec::new();
    for (step, played) in steps.zip(&played.threads[thread].steps) {
        match step {
            Step::FutexLock(futex) => {
                let span = Span { begin_ns: played.begin_ns, end_ns: played.end_ns };
                attempts.push((Key::Futex(*futex), false, span));
            }
            Step::Call(operations) => {
                for (operation, span) in operations.iter().zip(&played.operations) {
                    if let Operation::Lock(kind, number) = operation {
                        let key = Key::Lock(LockClass::from(*kind), *number);
                        attempts.push((key, *kind == LockKind::Read, *span));
                    }
                }
            }
            _ => {}
        }
    }
    attempts
}

/// Returns for how long others held something after a thread began to take it; `None` where it was
/// free. A thread that had to wait, and whose last holder is not known, is blocked for no time.
fn blocked_ns(
    holds: &[Hold],
    thread: usize,
    (key, is_shared): (Key, bool),
    attempt: Span,
    end_ns: u64,
) -> Option<u64> {
    let is_in_the_way =
        |hold: &&Hold| hold.thread != thread && hold.key == key && !(is_shared && hold.is_shared);
    // A thread that never got it was blocked by the holders at the end.
    let is_over = attempt.end_ns.is_some();
    let last_ns = attempt.end_ns.unwrap_or(end_ns);
    let until_ns = holds
        .iter()
        .filter(is_in_the_way)
        .filter_map(|hold| match hold.until_ns {
            None if is_over => None,
            until_ns => Some(until_ns.unwrap_or(last_ns)),
        })
        .filter(|until_ns| (attempt.begin_ns..=last_ns).contains(until_ns))
        .max()?;
    let blocked_ns = until_ns - attempt.begin_ns;
    (blocked_ns > 0).then_some(blocked_ns)
}
