use std::process::ExitCode;

use clap::Args;
use preemptlab_system::apply::{self, Journal, Lock, Machine};

use super::change::{self, Asked};
use crate::{args::ChangeArgs, exit, output::Output};

/// Take back what `apply` put into force: the bytes that were there
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  sudo preemptlab system revert")]
pub struct Revert {
    /// Discard what somebody changed since in files that were written by `apply`
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub change: ChangeArgs,
}

/// Takes back the applied settings.
pub fn execute(args: &Revert, output: &Output) -> exit::Result<ExitCode> {
    let machine = Machine::at(&args.change.root);
    machine.may_be_changed("revert")?;
    let _lock = Lock::take(&machine)?;
    let journal = Journal::load(&machine)?;
    let Some(journal) = change::completed(&machine, journal, &args.change, output)? else {
        return Ok(ExitCode::from(exit::UNUSABLE));
    };
    let Some(applied) = &journal.applied else {
        output.note("Nothing is applied.");
        return Ok(ExitCode::from(exit::OK));
    };
    let plan = apply::revert(&machine, applied, args.force)?;
    change::show(&plan, output)?;
    match change::ask("Take this back?", &args.change, output) {
        Asked::No => return Ok(ExitCode::from(exit::UNUSABLE)),
        Asked::Yes => {}
    }
    apply::commit(&machine, &journal, &plan.transaction)?;
    output.note(match plan.needs_boot() {
        true => "Taken back. The kernel goes on with its parameters until the next boot.",
        false => "Taken back.",
    });
    Ok(ExitCode::from(exit::OK))
}
