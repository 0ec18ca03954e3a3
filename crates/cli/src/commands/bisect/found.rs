//! What a search found, for terminals and as a document.

use std::path::PathBuf;

use preemptlab_lab::bisect::{Answer, Commit, Step};
use preemptlab_model::plain;
use preemptlab_report::{Column, Table, Terminal, gate_terminal};
use preemptlab_stats::Gate;
use serde::Serialize;

/// What a search found.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// What was followed.
    pub mechanism: String,
    /// The commits that were tested, in their order.
    pub steps: Vec<Step>,
    /// What it came to.
    #[serde(flatten)]
    pub found: Found,
    /// The folder of the search.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// What a search came to.
#[derive(Debug, Serialize)]
#[serde(tag = "found", rename_all = "snake_case")]
pub enum Found {
    /// The first bad commit.
    Commit {
        /// The commit.
        commit: Commit,
        /// The commit beside its parent.
        change: Box<Gate>,
        /// The worst wakeups of both; absent where no trace tells.
        worst: Option<Worst>,
        /// What taking it back does.
        cure: Cure,
    },
    /// The first bad packaged kernel.
    Kernel {
        /// The kernel.
        kernel: String,
        /// The one before it.
        before: String,
        /// The kernel beside the one before it.
        change: Box<Gate>,
        /// The worst wakeups of both; absent where no trace tells.
        worst: Option<Worst>,
    },
    /// Commits that cannot be tested hide it.
    Hidden {
        /// Those that it may be.
        commits: Vec<Commit>,
    },
    /// Packaged kernels that cannot be tested hide it.
    HiddenKernels {
        /// Those that it may be.
        kernels: Vec<String>,
    },
}

/// Why the worst wakeups were late, before and after.
#[derive(Debug, Serialize)]
pub struct Worst {
    /// In a sentence, before.
    pub before: String,
    /// In a sentence, after.
    pub after: String,
    /// The timeline of the one after.
    #[serde(skip)]
    pub timeline: String,
}

/// What taking the commit back on top of the bad revision does.
#[derive(Debug, Serialize)]
#[serde(tag = "revert", rename_all = "snake_case")]
pub enum Cure {
    /// Nothing is worse then.
    Cures,
    /// It is still worse.
    Remains {
        /// By how much.
        words: String,
    },
    /// It could not be told.
    Unknown {
        /// The reason.
        why: String,
    },
    /// Later commits changed the same lines.
    Conflicts,
    /// A merge is not taken back.
    Merge,
}

impl Cure {
    fn words(&self) -> String {
        match self {
            Self::Cures => "Taking it back on top of the bad revision cures it.".to_owned(),
            Self::Remains { words } => format!(
                "Taking it back on top of the bad revision does not cure it ({words}): something else \
                 has the same effect there."
            ),
            Self::Unknown { why } => {
                format!("Whether taking it back cures it could not be told: {why}.")
            }
            Self::Conflicts => {
                "It cannot be taken back cleanly: later commits changed the same lines.".to_owned()
            }
            Self::Merge => "It is a merge, which is not taken back.".to_owned(),
        }
    }
}

impl Worst {
    fn terminal(&self, terminal: Terminal) -> String {
        let Self { before, after, timeline } = self;
        let words = [format!("Before: {before}"), format!("After: {after}")];
        let [before, after] = words.map(|words| terminal.note(&words));
        format!("{before}\n{after}\n{timeline}")
    }
}

impl Outcome {
    /// Renders it for a terminal.
    pub fn terminal(&self, terminal: Terminal) -> String {
        let noun = match self.found {
            Found::Commit { .. } | Found::Hidden { .. } => "commit",
            Found::Kernel { .. } | Found::HiddenKernels { .. } => "kernel",
        };
        let columns = [noun, "answer", "why"].map(Column::left);
        let mut table = Table::new("", columns);
        for Step { commit, answer, reason } in &self.steps {
            let answer = if *answer == Answer::Skip { "skipped" } else { answer.as_str() };
            let commit = if noun == "kernel" { commit } else { short(commit) };
            table.row([commit, answer, plain::line(reason).as_ref()]);
        }
        let mut parts = Vec::new();
        match &self.found {
            Found::Commit { commit, change, worst, cure } => {
                let words =
                    format!("{} is the first bad commit: {}", short(&commit.id), named(commit));
                parts.push(terminal.note(&words));
                parts.push(gate_terminal(change, terminal));
                parts.extend(worst.iter().map(|worst| worst.terminal(terminal)));
                parts.push(terminal.note(&cure.words()));
            }
            Found::Kernel { kernel, before, change, worst } => {
                let words = format!("{kernel} is the first bad kernel; {before} came before it.");
                parts.push(terminal.note(&words));
                parts.push(gate_terminal(change, terminal));
                parts.extend(worst.iter().map(|worst| worst.terminal(terminal)));
            }
            Found::Hidden { commits } => {
                let words =
                    "Commits that cannot be tested hide the first bad one. It is one of these:";
                parts.push(terminal.note(words));
                let line = |commit: &Commit| {
                    terminal.note(&format!("{} {}", short(&commit.id), named(commit)))
                };
                parts.extend(commits.iter().map(line));
            }
            Found::HiddenKernels { kernels } => {
                let words =
                    "Kernels that cannot be tested hide the first bad one. It is one of these:";
                parts.push(terminal.note(words));
                parts.extend(kernels.iter().map(|kernel| terminal.note(kernel)));
            }
        }
        let folder = self.folder.display();
        let next = match self.found {
            Found::Commit { .. } | Found::Kernel { .. } => {
                format!("; next: preemptlab explain {folder}/steps/change")
            }
            Found::Hidden { .. } | Found::HiddenKernels { .. } => String::new(),
        };
        parts.push(terminal.note(&format!("Followed: {}.", self.mechanism)));
        if !self.steps.is_empty() {
            parts.push(table.terminal(terminal));
        }
        parts.push(terminal.note(&format!("The search is in {folder}{next}")));
        parts.join("\n")
    }
}

fn named(commit: &Commit) -> String {
    let Commit { subject, author, date, .. } = commit;
    plain::line(&format!("{subject} ({author}, {date})")).into_owned()
}

/// Returns the start of a commit's name, which is enough for people.
pub fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
