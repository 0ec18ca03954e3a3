//! The answer of a search for the commit, or the packaged kernel, that made a kernel worse.

use std::path::PathBuf;

use preemptlab_stats::Gate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The folder of the steps' recordings, in the folder of a search.
pub const STEPS: &str = "steps";

/// The recording of the first bad one beside the one before it.
pub const CHANGE: &str = "change";

/// Answer of a search.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Bisected {
    /// Version of the document.
    pub format: u32,
    /// The mechanism that was followed: a metric, or the sections of a function.
    pub mechanism: String,
    /// The commits or kernels that were tested, in their order.
    pub steps: Vec<Tested>,
    /// The first bad one, or those that hide it.
    #[serde(flatten)]
    pub found: Found,
    /// The folder of the search.
    #[serde(skip)]
    pub folder: PathBuf,
}

impl Bisected {
    /// Describes a search that has ended in a folder.
    pub fn new(mechanism: String, steps: Vec<Tested>, found: Found, folder: PathBuf) -> Self {
        Self { format: 1, mechanism, steps, found, folder }
    }

    /// Returns the recording of the first bad one beside the one before it.
    pub fn change(&self) -> PathBuf {
        self.folder.join(STEPS).join(CHANGE)
    }
}

/// The answer about a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It is as the good one.
    Good,
    /// It is as the bad one.
    Bad,
    /// It cannot be tested.
    Skip,
}

impl Answer {
    /// Returns the word, which is git's.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Skip => "skip",
        }
    }
}

/// A commit or a packaged kernel that was tested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tested {
    /// The commit, or the name of the kernel.
    pub commit: String,
    /// The answer.
    pub answer: Answer,
    /// Why, in words.
    pub reason: String,
}

/// A commit, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Commit {
    /// Its name in git.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
    /// Its author, without an address.
    pub author: String,
    /// The day on which it was written.
    pub date: String,
}

/// The first bad one, or those that hide it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "found", rename_all = "snake_case")]
pub enum Found {
    /// The first bad commit.
    Commit {
        /// The commit.
        commit: Commit,
        /// The commit beside its parent.
        change: Box<Gate>,
        /// The worst wakeups of both; null where no trace tells.
        worst: Option<WorstWakeups>,
        /// The effect of taking it back.
        cure: TakenBack,
    },
    /// The first bad packaged kernel.
    Kernel {
        /// The kernel.
        kernel: String,
        /// The one before it.
        before: String,
        /// The kernel beside the one before it.
        change: Box<Gate>,
        /// The worst wakeups of both; null where no trace tells.
        worst: Option<WorstWakeups>,
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
#[derive(Debug, Serialize, JsonSchema)]
pub struct WorstWakeups {
    /// In a sentence, before.
    pub before: String,
    /// In a sentence, after.
    pub after: String,
}

/// Effect of taking the commit back on top of the bad revision.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "revert", rename_all = "snake_case")]
pub enum TakenBack {
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
