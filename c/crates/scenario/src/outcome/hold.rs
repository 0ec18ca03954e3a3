//! The holders of each futex and lock, with the times.

use preemptlab_protocol::script::{LockKind, Operation, Played, PlayedStep, Script, Step};

use crate::{LockClass, Scenario};

use super::Resource;

/// A futex or lock, by its number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Futex(u8),
    Lock(LockClass, u8),
}

impl Key {
    pub fn resource(self, scenario: &Scenario) -> Resource {
        match self {
            Self::Futex(number) => {
                Resource::Futex { name: scenario.names.futex(number).to_owned() }
            }
            Self::Lock(class, number) => {
                Resource::Lock { class, name: scenario.names.lock(class, number).to_owned() }
            }
        }
    }
}

/// A stretch of time in which a thread had a futex or lock.
pub(super) struct Hold {
    pub thread: usize,
    pub key: Key,
    /// Whether other readers may hold the lock at the same time.
    pub is_shared: bool,
    /// Time at which the thread began to release it. A waiting thread may have it from then on,
    /// even if it preempts the releasing thread.
    pub until_ns: Option<u64>,
}

/// Returns all holds, by thread and then in the order in which they began.
pub(super) fn holds(script: &Script, played: &Played) -> Vec<Hold> {
    let mut holds = Vec::new();
    for (number, (thread, played)) in script.threads.iter().zip(&played.threads).enumerate() {
        for (step, played) in thread.steps.iter().zip(&played.steps) {
            match step {
                Step::FutexLock(futex) if played.end_ns.is_some() => {
                    holds.push(taken(number, Key::Futex(*futex), false));
                }
                Step::FutexUnlock(futex) => {
                    give_back(&mut holds, number, Key::Futex(*futex), played.begin_ns);
                }
                Step::Call(operations) => call(&mut holds, number, operations, played),
                _ => {}
            }
        }
    }
    holds
}

fn call(holds: &mut Vec<Hold>, thread: usize, operations: &[Operation], played: &PlayedStep) {
    for (operation, span) in operations.iter().zip(&played.operations) {
        match operation {
            Operation::Lock(kind, number) if span.end_ns.is_some() => {
                let key = Key::Lock(LockClass::from(*kind), *number);
                holds.push(taken(thread, key, *kind == LockKind::Read));
            }
            Operation::Unlock(kind, number) => {
                let key = Key::Lock(LockClass::from(*kind), *number);
                give_back(holds, thread, key, span.begin_ns);
            }
            _ => {}
        }
    }
}

fn taken(thread: usize, key: Key, is_shared: bool) -> Hold {
    Hold { thread, key, is_shared, until_ns: None }
}

fn give_back(holds: &mut [Hold], thread: usize, key: Key, ns: u64) {
    let held = holds
        .iter_mut()
        .rev()
        .find(|hold| hold.thread == thread && hold.key == key && hold.until_ns.is_none());
    if let Some(hold) = held {
        hold.until_ns = Some(ns);
    }
}
