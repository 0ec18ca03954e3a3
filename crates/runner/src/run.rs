use std::{collections::BTreeMap, sync::Mutex};

use preemptlab_experiment::{Derived, RecordingWriter};
use preemptlab_model::{CellId, CellRecord, Digest, FailureCause, Outcome};
use preemptlab_recording::CellFolder;

use crate::{
    Backend, Cancel, Event, RunError, Traces,
    cell::{Cell, boot, boots_of, cells_of, execute},
    queue,
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
    fn arrange(self, cells: &mut [Cell<'_>]) {
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

/// Executes the unfinished cells of a recording: first the boots, then the cells.
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
    let cells = cells_of(Derived::check(writer.recording())?);
    let (mut summary, mut missing) = take_stock(writer, &cells, options, on_event)?;
    let finished = cells.len() - missing.len();
    missing.retain(|cell| backend.boot_needed(cell.inputs).is_none());
    summary.waiting = cells.len() - finished - missing.len();
    options.order.arrange(&mut missing);
    let planned = writer.recording().planned();
    summary.unavailable += planned.filter(|(_, cell)| cell.inputs().is_none()).count();
    let boots = boots_of(&missing);
    on_event(Event::Planned { boots: &boots, cells: missing.len(), finished });

    let unbootable = boot(&boots, backend, options.jobs, on_event, cancel)?;
    let summary = Mutex::new(summary);
    queue::for_each(&missing, options.jobs, cancel, |cell| {
        let (record, wall) = execute(cell, backend, &unbootable, options.traces, on_event, cancel)?;
        finish(writer, options, &record)?;
        count(&mut summary.lock().expect("no worker panicked"), &record.outcome);
        on_event(Event::Finished { factors: cell.factors, record: &record, wall });
        Ok::<_, RunError>(())
    })?;
    if cancel.is_cancelled() {
        return Err(RunError::Cancelled);
    }
    Ok(summary.into_inner().expect("no worker panicked"))
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

/// Counts the finished cells, fetches those that the cache has, and returns those that are missing.
fn take_stock<'a>(
    writer: &RecordingWriter,
    cells: &[Cell<'a>],
    options: &Options<'_>,
    on_event: &(dyn Fn(Event<'_>) + Sync),
) -> Result<(Summary, Vec<Cell<'a>>), RunError> {
    let mut summary = Summary::default();
    let mut missing = Vec::new();
    for cell in cells {
        let id = cell.inputs.id();
        let found = match writer.cells().get(id)? {
            Some(record)
                if options.retry_failed && is_failed(&record)
                    || options.traces.is_none() && is_untraceable(&record) =>
            {
                writer.cells().remove(id)?;
                None
            }
            None => from_cache(writer, options, id, on_event)?,
            found => found,
        };
        match found {
            Some(record) if is_traced(&record, options) => count(&mut summary, &record.outcome),
            _ => missing.push(*cell),
        }
    }
    Ok((summary, missing))
}

/// Returns whether a finished cell has its trace, if traces are wanted.
fn is_traced(record: &CellRecord, options: &Options<'_>) -> bool {
    let is_completed = matches!(record.outcome, Outcome::Completed { .. });
    options.traces.is_none_or(|traces| !is_completed || traces.folder.contains(record.id))
}

/// Copies a cell from the cache. A damaged cell does not stop the run: it is executed again.
fn from_cache(
    writer: &RecordingWriter,
    options: &Options<'_>,
    id: CellId,
    on_event: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Option<CellRecord>, RunError> {
    let Some(cache) = &options.cache else { return Ok(None) };
    match cache.get(id) {
        Ok(Some(record)) => {
            writer.cells().put(&record)?;
            Ok(Some(record))
        }
        Ok(None) => Ok(None),
        Err(error) => {
            cache.remove(id)?;
            on_event(Event::Damaged(&error));
            Ok(None)
        }
    }
}

fn finish(
    writer: &RecordingWriter,
    options: &Options<'_>,
    record: &CellRecord,
) -> Result<(), RunError> {
    if let Some(before) = writer.cells().get(record.id)? {
        if is_untraceable(record) {
            // The results without a trace stay.
            return Ok(());
        }
        if before.outcome.digest() != record.outcome.digest() {
            return Err(RunError::Different(record.id));
        }
    }
    // The cache first: whoever is killed in between finds the cell there. What the recording alone has
    // may be somebody else's, and never gets into the cache. A cache that cannot be written to takes
    // nothing from the recording.
    let cached = match &options.cache {
        Some(cache) if !is_failed(record) => cache.put(record),
        _ => Ok(()),
    };
    writer.cells().put(record)?;
    Ok(cached?)
}

fn is_failed(record: &CellRecord) -> bool {
    matches!(record.outcome, Outcome::Failed { .. })
}

fn is_untraceable(record: &CellRecord) -> bool {
    matches!(record.outcome, Outcome::Failed { cause: FailureCause::Trace, .. })
}

fn count(summary: &mut Summary, outcome: &Outcome) {
    match outcome {
        Outcome::Completed { .. } => summary.completed += 1,
        Outcome::Failed { .. } => summary.failed += 1,
        Outcome::Unavailable { .. } => summary.unavailable += 1,
    }
}
