//! The outcome of joining parts.

use std::path::PathBuf;

use preemptlab_model::{CellId, Shard};

/// Cell of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Identity of the cell.
    pub id: CellId,
    /// The cell's place in its experiment, in words.
    pub name: String,
}

/// The part in which two executions of a cell differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Differing {
    /// The results.
    Result,
    /// The traces, though the results agree.
    Trace,
}

/// Cell of which two executions differ, although its inputs are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The cell.
    pub cell: Named,
    /// The part that differs.
    pub differing: Differing,
    /// Folders of the first two that differ.
    pub between: [PathBuf; 2],
    /// Whether one of them is the recording, which keeps its content.
    pub is_recorded: bool,
}

/// Cell that failed in one place and has a better result from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overruled {
    /// The cell.
    pub cell: Named,
    /// Folder where it failed.
    pub failed: PathBuf,
    /// Folder of the result that was taken.
    pub taken: PathBuf,
}

/// Part, or a file of it, that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Path of the part or the file.
    pub path: PathBuf,
    /// Reason and next step, in words.
    pub reason: String,
    /// Whether the machine got in the way, and not the file's content.
    pub is_of_machine: bool,
}

/// Result of joining parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Number of distinct cells that the plan executes.
    pub planned: usize,
    /// Number of those that the recording had before.
    pub before: usize,
    /// Number of cells that are new in the recording, or took the place of a failed one.
    pub taken: usize,
    /// Number of traces that are new in the recording.
    pub traces: usize,
    /// Number of cells that two parts executed with the same bytes.
    pub twice: usize,
    /// Number of cells of the recording that failed.
    pub failed: usize,
    /// Cells that the recording still lacks, in the order of the plan, without those of
    /// [`Self::conflicts`].
    pub missing: Vec<Named>,
    /// Shards of the newest cells whose parts lack some of [`Self::missing`].
    pub shards: Vec<Shard>,
    /// Cells of which two executions differ.
    pub conflicts: Vec<Conflict>,
    /// Cells that failed somewhere and not elsewhere.
    pub overruled: Vec<Overruled>,
    /// Parts and files that were not taken.
    pub refused: Vec<Refused>,
    /// Parts that a process writes to now, where cells are missing.
    pub at_work: Vec<PathBuf>,
}
