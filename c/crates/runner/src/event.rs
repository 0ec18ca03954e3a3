use std::time::Duration;

use preemptlab_model::{CellRecord, Factors, SnapshotInputs};
use preemptlab_recording::RecordingError;

/// Event of a run. Events of several workers come interleaved.
#[derive(Debug)]
pub enum Event<'a> {
    /// The work is known.
    Planned {
        /// Boots to make sure of.
        boots: &'a [&'a SnapshotInputs],
        /// Number of cells to execute.
        cells: usize,
        /// Cells that are finished already, in this recording or in the cache.
        finished: usize,
    },
    /// A cell in the store was damaged: it is removed, and the cell is executed again.
    Damaged(&'a RecordingError),
    /// A boot begins.
    Booting(&'a SnapshotInputs),
    /// A boot has ended, well or not; its cells tell which.
    Booted(&'a SnapshotInputs),
    /// A cell begins.
    Started(&'a Factors),
    /// A cell is finished.
    Finished {
        /// The first cell of the plan that has these inputs.
        factors: &'a Factors,
        /// Record of the cell.
        record: &'a CellRecord,
        /// Host time that it took.
        wall: Duration,
    },
}
