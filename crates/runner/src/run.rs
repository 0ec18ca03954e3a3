use std::collections::BTreeMap;

use preemptlab_experiment::RecordingWriter;
use preemptlab_model::Digest;
use preemptlab_recording::CellFolder;

use crate::{
    Backend, Cancel, Cell, Event, Queue, RunError, Traces,
    cell::{boot, execute},
    workers,
};

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Virtual machines at a time.
    pub jobs: usize,
    /// Folder of the finished cells of every recording; `None` neither reads nor writes any.
    pub cache: Option<CellFolder>,
    /// Execute the recording's failed cells again.
    pub retry_failed: bool,
    /// Trace every cell; `None` traces none.
    pub traces: Option<Traces<'a>>,
    /// Order in which cells are executed.
    pub order: Order,
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

/// Executes the unfinished cells of a recording on this machine: first the boots, then the cells.
///
/// # Errors
///
/// [`RunError`]; a cell that fails is no error but a record.
pub fn run(
    writer: &RecordingWriter,
    backend: &dyn Backend,
    options: &Options<'_>,
    on_event: &(dyn Fn(Event<'_>) + Sync),
    cancel: &Cancel,
) -> Result<Summary, RunError> {
    let queue = Queue::new(writer, backend, options, on_event)?;
    work(&queue, backend, options, on_event, cancel)?;
    Ok(queue.summary())
}

/// Makes sure of the boots of a queue, then takes cells and executes them on this machine until none is
/// left.
///
/// # Errors
///
/// [`RunError`]; a cell that fails is no error but a record.
pub fn work(
    queue: &Queue<'_>,
    backend: &dyn Backend,
    options: &Options<'_>,
    on_event: &(dyn Fn(Event<'_>) + Sync),
    cancel: &Cancel,
) -> Result<(), RunError> {
    let unbootable = boot(&queue.boots(), backend, options.jobs, on_event, cancel)?;
    let jobs = options.jobs.min(queue.waiting());
    workers::each(
        || queue.take(1).pop(),
        jobs,
        cancel,
        |cell| {
            let (record, wall) =
                execute(&cell, backend, &unbootable, options.traces, on_event, cancel)?;
            queue.finished(cell, &record, wall)
        },
    )?;
    if cancel.is_cancelled() { Err(RunError::Cancelled) } else { Ok(()) }
}

/// Counts the cells that wait for another boot of the machine, by that boot.
pub fn boots_waiting(writer: &RecordingWriter, backend: &dyn Backend) -> BTreeMap<String, usize> {
    let mut boots = BTreeMap::new();
    for (_, planned) in writer.recording().planned() {
        let Some(cell) = planned.inputs() else { continue };
        if let Some(needed) = backend.boot_needed(cell)
            && !writer.cells().contains(cell.id())
        {
            *boots.entry(needed).or_default() += 1;
        }
    }
    boots
}
