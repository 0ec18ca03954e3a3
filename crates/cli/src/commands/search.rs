//! `preemptlab search`: the worst wakeup that a configuration can have.

use std::{
    path::PathBuf,
    process::ExitCode,
    sync::{Mutex, PoisonError},
    thread,
    time::Instant,
};

use clap::Args;
use preemptlab_analysis::explain::{Hunt, Searched, probed};
use preemptlab_experiment::Recording;
use preemptlab_lab::{Budget, Executor, Tracing};
use preemptlab_model::counted;

use crate::{
    args::{Format, Machines, Packages},
    exit, lab,
    output::Output,
    progress::Shown,
};

/// Search for the worst wakeup: move the real-time probe's timer into long stretches, and execute
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab search runs/quick
  preemptlab search runs/quick --cell 'debian:6.18 full' --budget 40
  preemptlab search runs/quick --budget 10m

It takes the longest stretches of all replicates in which no task can be switched in. More of them: record
with more replicates. The same recording and number of executions give the same answer on any machine.")]
pub struct Search {
    /// The recording
    #[arg(value_name = "RUN")]
    pub recording: PathBuf,
    /// Search in these cells: words of their names such as 'debian:6.12 none' [default: all that have a
    /// real-time probe]
    #[arg(long, value_name = "CELLS")]
    pub cell: Option<String>,
    /// Stop after so many executions of each configuration, or after a time such as 10m
    #[arg(long, value_name = "EXECUTIONS|TIME", default_value = "12")]
    pub budget: Budget,
    /// How to print it
    #[arg(long, default_value = "table")]
    pub format: Format,
    #[command(flatten)]
    pub machines: Machines,
    #[command(flatten)]
    pub packages: Packages,
}

/// Searches for the worst wakeups of a recording's configurations.
pub fn execute(args: &Search, store: Option<PathBuf>, output: &Output) -> exit::Result<ExitCode> {
    let recording = Recording::open(&args.recording)?;
    let configurations = probed(&recording, args.cell.as_deref())?;
    let shown = Shown::new(output);
    let lab = lab::here(store, Some(&args.machines), &args.packages, &shown);
    let tracing = Tracing { lab: &lab, recording: &recording };
    tracing.ensure(&configurations.iter().flatten().collect::<Vec<_>>())?;
    let executor = tracing.executor()?;
    for cell in configurations.iter().flatten() {
        executor.prepare(&cell.inputs)?;
    }
    let hunts = configurations.into_iter().map(|cells| Hunt::new(&recording, cells));
    let mut hunts = hunts.collect::<Result<Vec<_>, _>>()?;
    hunt(&mut hunts, &executor, (args.budget, lab.jobs()), output)?;
    let searched = Searched::new(hunts);
    match args.format {
        Format::Table => output.data(&searched.text(output.terminal())),
        format => output.print(&searched.table(), format, &searched),
    }
}

/// Executes what each search asks for, as many searches at a time as there are jobs.
fn hunt(
    hunts: &mut [Hunt],
    executor: &Executor<'_>,
    (budget, jobs): (Budget, usize),
    output: &Output,
) -> exit::Result<()> {
    let started = Instant::now();
    let queue = Mutex::new(hunts.iter_mut());
    let work = || -> exit::Result<()> {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(hunt) = next else { return Ok(()) };
            while budget.allows(hunt.executions() + 1, started.elapsed()) {
                let Some((cell, program)) = hunt.next_execution() else { break };
                hunt.take(executor.execute(&cell, &program)?)?;
            }
            output.note(format!(
                "{}: {}, the worst wakeup took {:.1} us",
                hunt.name(),
                counted(hunt.executions(), "execution"),
                hunt.worst().latency_ns as f64 / 1e3
            ));
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}
