//! Common parts of `apply` and `revert`: showing a change, asking, and completing a killed one.

use std::io::{self, BufRead, IsTerminal};

use preemptlab_system::apply::{self, Journal, Machine, Plan};

use crate::{args::ChangeArgs, exit, output::Output};

/// Answer of the user.
pub enum Asked {
    /// The change is to be made.
    Yes,
    /// The change is not to be made.
    No,
}

/// Shows exactly the changes: every file as a unified diff, and the writes to the kernel.
pub fn show(plan: &Plan, output: &Output) -> exit::Result<()> {
    for change in &plan.transaction.changes {
        output.data(&apply::unified(change))?;
    }
    let writes = &plan.transaction.run_time;
    if !writes.is_empty() {
        output.data("At once:")?;
    }
    for write in writes {
        output.data(&format!("  {}: {} -> {}", write.path, write.back, write.value))?;
    }
    for note in &plan.notes {
        output.note(note);
    }
    Ok(())
}

/// Asks on a terminal; without one `--yes` must have been given.
pub fn ask(question: &str, args: &ChangeArgs, output: &Output) -> Asked {
    if args.yes {
        return Asked::Yes;
    }
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        output.note("Nothing was changed. There is no terminal to ask on: --yes does it.");
        return Asked::No;
    }
    output.note(format!("{question} [y/N]"));
    let mut answer = String::new();
    match stdin.lock().read_line(&mut answer) {
        Ok(_) if matches!(answer.trim(), "y" | "Y" | "yes") => Asked::Yes,
        _ => {
            output.note("Nothing was changed.");
            Asked::No
        }
    }
}

/// Returns the journal without the change that a killed process had begun, after that was put back;
/// `None` if the user does not want it put back.
pub fn completed(
    machine: &Machine,
    journal: Journal,
    args: &ChangeArgs,
    output: &Output,
) -> exit::Result<Option<Journal>> {
    let Some(pending) = &journal.pending else {
        journal.sweep(machine)?;
        return Ok(Some(journal));
    };
    output.note(format!(
        "An interrupted `preemptlab system {}` has begun to change these files, and is put back first:",
        pending.verb
    ));
    for change in &pending.changes {
        output.note(format!("  {}", change.path));
    }
    match ask("Put them back?", args, output) {
        Asked::Yes => apply::roll_back(machine, &journal).map(Some).map_err(exit::Failure::from),
        Asked::No => Ok(None),
    }
}
