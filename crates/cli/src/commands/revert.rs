use std::process::ExitCode;

use preemptlab_apply::{self as apply, Journal, Lock, Machine};

use crate::{
    args::Revert,
    commands::change::{self, Asked},
    exit,
    output::Output,
};

/// Takes back what was applied.
pub fn execute(args: &Revert, output: &Output) -> exit::Result<ExitCode> {
    let machine = Machine::at(&args.change.root);
    machine.may_be_changed("revert").map_err(change::failure)?;
    let _lock = Lock::take(&machine).map_err(change::failure)?;
    let journal = Journal::load(&machine).map_err(change::failure)?;
    let Some(journal) = change::completed(&machine, journal, &args.change, output)? else {
        return Ok(ExitCode::from(exit::UNUSABLE));
    };
    let Some(applied) = &journal.applied else {
        output.note("Nothing is applied.");
        return Ok(ExitCode::from(exit::OK));
    };
    let plan = apply::revert(&machine, applied, args.force).map_err(change::failure)?;
    change::show(&plan, output)?;
    match change::ask("Take this back?", &args.change, output) {
        Asked::No => return Ok(ExitCode::from(exit::UNUSABLE)),
        Asked::Yes => {}
    }
    apply::commit(&machine, &journal, &plan.transaction).map_err(change::failure)?;
    output.note(match plan.needs_boot() {
        true => "Taken back. The kernel goes on with its parameters until the next boot.",
        false => "Taken back.",
    });
    Ok(ExitCode::from(exit::OK))
}
