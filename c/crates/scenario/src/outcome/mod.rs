//! Reads the outcome of playing a scenario: the waits of every thread, and the reason why threads
//! never finished. All times count from the scenario's start, in nanoseconds.

mod blocked;
mod cycle;
mod hold;
mod stuck;
mod types;
mod valid;
mod wait;

use preemptlab_protocol::script::Played;

use crate::Scenario;

pub use types::{
    BlockedOn, Cause, Cycle, Link, Outcome, Resource, Stuck, StuckOn, ThreadOutcome, Wait, WaitKind,
};
pub use valid::PlayedError;

/// Reads the outcome of playing a scenario.
///
/// # Errors
///
/// [`PlayedError`] where the report cannot be that of this scenario: the player's words come from a
/// guest and are not trusted.
pub fn outcome(scenario: &Scenario, played: &Played) -> Result<Outcome, PlayedError> {
    valid::check(scenario, played)?;
    let script = scenario.script();
    let holds = hold::holds(script, played);
    let blocked = stuck::blocked(scenario, played);
    let threads = script
        .threads
        .iter()
        .zip(&played.threads)
        .enumerate()
        .map(|(number, (thread, played_thread))| {
            let last = played_thread
                .steps
                .last()
                .filter(|_| played_thread.steps.len() == thread.steps.len());
            let finished = last.and_then(|step| step.end_ns);
            ThreadOutcome {
                name: thread.name.clone(),
                waits: wait::waits(scenario, played, &holds, number),
                blocked: blocked::blocked_on(scenario, played, &holds, number),
                finished_ns: finished.map(|ns| ns.saturating_sub(played.start_ns)),
                stuck: stuck::stuck(scenario, played, &holds, &blocked, number),
            }
        })
        .collect();
    Ok(Outcome {
        end_ns: played.end_ns.saturating_sub(played.start_ns),
        threads,
        cycles: cycle::cycles(scenario, &holds, &blocked),
    })
}
