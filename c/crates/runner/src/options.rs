use std::collections::BTreeSet;

use preemptlab_model::{CellId, Digest};
use preemptlab_recording::CellFolder;

use crate::{Cell, Traces};

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Virtual machines at a time.
    pub jobs: usize,
    /// Folder of the finished cells of every recording; `None` neither reads nor writes any.
    pub cache: Option<CellFolder>,
    /// Execute the recording's failed cells again.
    pub retry_failed: bool,
    /// Measure every cell at every instant; `None` measures none.
    pub traces: Option<Traces<'a>>,
    /// Order in which cells are executed.
    pub order: Order,
    /// The only cells to execute, of those that are planned; `None` executes all.
    pub only: Option<&'a BTreeSet<CellId>>,
}

/// Order in which cells are executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The order of the plan.
    #[default]
    Planned,
    /// Replicate after replicate, and of each the configurations in an order that this seed gives:
    /// the drift of a machine affects all of them alike.
    Interleaved(u64),
}

impl Order {
    /// Puts cells in their order, which does not depend on which others are there.
    pub(crate) fn arrange(self, cells: &mut [Cell<'_>]) {
        let Self::Interleaved(seed) = self else { return };
        cells.sort_by_cached_key(|cell| {
            let drawn = Digest::of(format!("{seed} {}", cell.inputs.id()).as_bytes());
            (cell.factors.replicate, drawn)
        });
    }
}

/// Result of a run. Cells of the plan with equal inputs count once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of cells with results.
    pub completed: usize,
    /// Number of cells without results.
    pub failed: usize,
    /// Cells that cannot exist.
    pub unavailable: usize,
    /// Cells that wait for another boot of the machine.
    pub waiting: usize,
}
