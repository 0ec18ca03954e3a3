//! The search for the worst wakeup that a configuration can have.

use std::{
    sync::{Mutex, PoisonError},
    thread,
    time::Instant,
};

use preemptlab_analysis::explain::{Hunt, probed};
use preemptlab_experiment::Recording;
use preemptlab_model::counted;

use crate::{Budget, Executor, Lab, Result, Tracing};

/// Searches for the worst wakeup of each configuration of a recording, or of the cells that are named: moves the
/// real-time probe's timer into long stretches, and executes.
///
/// # Errors
///
/// When no cell has a real-time probe, something that the cells need is unavailable now, or the machine or the
/// user ends it.
pub fn search(
    lab: &Lab<'_>,
    recording: &Recording,
    cells: Option<&str>,
    budget: Budget,
) -> Result<Vec<Hunt>> {
    let configurations = probed(recording, cells)?;
    let tracing = Tracing { lab, recording };
    tracing.ensure(&configurations.iter().flatten().collect::<Vec<_>>())?;
    let executor = tracing.executor()?;
    for cell in configurations.iter().flatten() {
        executor.prepare(&cell.inputs)?;
    }
    let hunts = configurations.into_iter().map(|cells| Hunt::new(recording, cells));
    let mut hunts = hunts.collect::<Result<Vec<_>, _>>()?;
    hunt(lab, &mut hunts, &executor, budget)?;
    Ok(hunts)
}

/// Executes the cells that each search asks for, as many searches at a time as there are jobs.
fn hunt(lab: &Lab<'_>, hunts: &mut [Hunt], executor: &Executor<'_>, budget: Budget) -> Result<()> {
    let started = Instant::now();
    let queue = Mutex::new(hunts.iter_mut());
    let work = || -> Result<()> {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(hunt) = next else { return Ok(()) };
            while budget.allows(hunt.executions() + 1, started.elapsed()) {
                let Some((cell, program)) = hunt.next_execution() else { break };
                hunt.take(executor.execute(&cell, &program)?)?;
            }
            lab.note(format!(
                "{}: {}, the worst wakeup took {:.1} us",
                hunt.name(),
                counted(hunt.executions(), "execution"),
                hunt.worst().latency_ns as f64 / 1e3
            ));
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..lab.jobs()).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}
