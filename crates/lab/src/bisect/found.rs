//! The answer of a search, as a document.

use std::path::PathBuf;

use preemptlab_stats::Gate;
use serde::Serialize;

use super::{Commit, Step};

/// The folder of the steps' recordings, in the folder of a search.
pub(super) const STEPS: &str = "steps";

/// The recording of the first bad one beside the one before it.
pub(super) const CHANGE: &str = "change";

/// Answer of a search.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// The mechanism that was followed.
    pub mechanism: String,
    /// The commits that were tested, in their order.
    pub steps: Vec<Step>,
    /// The first bad one, or those that hide it.
    #[serde(flatten)]
    pub found: Found,
    /// The folder of the search.
    #[serde(skip)]
    pub folder: PathBuf,
}

impl Outcome {
    /// Returns the recording of the first bad one beside the one before it.
    pub fn change(&self) -> PathBuf {
        self.folder.join(STEPS).join(CHANGE)
    }
}

/// The first bad one, or those that hide it.
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
        /// The effect of taking it back.
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
}

/// Effect of taking the commit back on top of the bad revision.
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

/// Returns the start of a commit's name, which is enough for people.
pub fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
