//! The effects of the settings that `apply` put into force.

use std::path::Path;

use preemptlab_report::{Cell, Table, Tone};
use preemptlab_system::{
    apply::{Effect, Journal, Machine, State, effects},
    host::HostKernel,
};
use serde::Serialize;

/// The part of the document about them.
#[derive(Serialize)]
pub struct Settings {
    /// True when the journal could be read.
    problem: Option<String>,
    /// The verb that was killed while it changed files.
    interrupted: Option<String>,
    applied: Vec<Effect>,
}

impl Settings {
    /// Looks at the machine that this runs on.
    pub fn observe(kernel: &HostKernel) -> Self {
        let machine = Machine::at(Path::new("/"));
        let journal = match Journal::load(&machine) {
            Ok(journal) => journal,
            Err(error) => {
                let problem = format!("{error}; `sudo preemptlab system show` may read it");
                return Self { problem: Some(problem), interrupted: None, applied: Vec::new() };
            }
        };
        Self {
            problem: None,
            interrupted: journal.pending.map(|pending| pending.verb),
            applied: journal
                .applied
                .map(|applied| effects(&machine, &applied, kernel))
                .unwrap_or_default(),
        }
    }

    /// Returns whether a setting is not as it was asked for.
    pub fn is_amiss(&self) -> bool {
        self.interrupted.is_some()
            || self.applied.iter().any(|effect| effect.state == State::NotInForce)
    }

    /// Adds them to the table.
    pub fn rows(&self, table: &mut Table) {
        let is_quiet = self.applied.is_empty() && self.interrupted.is_none();
        if is_quiet && self.problem.is_none() {
            return;
        }
        table.span(Cell::new("Applied settings", Tone::Strong));
        if let Some(problem) = &self.problem {
            table.row([Cell::from("journal"), Cell::default(), Cell::from(problem.clone())]);
        }
        if let Some(verb) = &self.interrupted {
            let finding = format!("`preemptlab system {verb}` was interrupted");
            let word = Cell::new("unfinished", Tone::Worse);
            table.row([Cell::from("journal"), word, Cell::from(finding)]);
            let next = Cell::new("sudo preemptlab system revert", Tone::Strong);
            table.row([Cell::default(), Cell::from("try"), next]);
        }
        for effect in &self.applied {
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
}
