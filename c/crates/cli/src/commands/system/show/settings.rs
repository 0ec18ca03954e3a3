//! The effects of the settings that `apply` put into force.

use preemptlab_report::{Cell, Table, Tone};
use preemptlab_system::{apply::State, state::AppliedSettings};

/// Adds the effects to a table.
pub fn rows(settings: &AppliedSettings, table: &mut Table) {
    let is_quiet = settings.applied.is_empty() && settings.interrupted.is_none();
    if is_quiet && settings.problem.is_none() {
        return;
    }
    table.span(Cell::new("Applied settings", Tone::Strong));
    if let Some(problem) = &settings.problem {
        table.row([Cell::from("journal"), Cell::default(), Cell::from(problem.clone())]);
    }
    if let Some(verb) = &settings.interrupted {
        let finding = format!("`preemptlab system {verb}` was interrupted");
        let word = Cell::new("unfinished", Tone::Worse);
        table.row([Cell::from("journal"), word, Cell::from(finding)]);
        let next = Cell::new("sudo preemptlab system revert", Tone::Strong);
        table.row([Cell::default(), Cell::from("try"), next]);
    }
    for effect in &settings.applied {
        let word = match effect.state {
            State::InForce => Cell::new("in force", Tone::Better),
            State::NotInForce => Cell::new("not in force", Tone::Worse),
            State::AfterNextBoot => Cell::new("after the next boot", Tone::Faint),
            State::Unseen => Cell::new("not to be seen", Tone::Faint),
        };
        let setting = Cell::from(effect.setting.clone());
        table.row([setting, word, Cell::from(effect.evidence.clone())]);
    }
}
