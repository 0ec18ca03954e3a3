use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use preemptlab_experiment::{Derived, RecordingWriter};
use preemptlab_model::{CellId, CellRecord, FailureCause, Outcome, SnapshotInputs};
use preemptlab_recording::{CellFolder, RecordingError};

use crate::{
    Backend, Cell, Event, Options, RunError, Summary,
    cell::{boots_of, cells_of},
};

/// Queue of the cells that a recording lacks. A taker takes cells, executes them wherever it likes, and
/// gives their records back; this machine's threads ([`work`](crate::work)) are one taker.
///
/// Each cell is handed out once. A cell that does not come back stays missing in the recording, so that
/// the next queue hands it out again.
pub struct Queue<'a> {
    writer: &'a RecordingWriter,
    options: &'a Options<'a>,
    on_event: &'a (dyn Fn(Event<'_>) + Sync),
    state: Mutex<State<'a>>,
}

struct State<'a> {
    waiting: VecDeque<Cell<'a>>,
    summary: Summary,
}

impl<'a> Queue<'a> {
    /// Counts the cells that are finished, fetches those that the cache has, and queues the others in the
    /// order of the options. Cells for which the backend's machine has to boot are counted and left out.
    ///
    /// # Errors
    ///
    /// When the recording does not follow from its experiment, or cannot be read or written to.
    pub fn new(
        writer: &'a RecordingWriter,
        backend: &dyn Backend,
        options: &'a Options<'a>,
        on_event: &'a (dyn Fn(Event<'_>) + Sync),
    ) -> Result<Self, RunError> {
        let mut summary = Summary::default();
        let mut missing = Vec::new();
        let (mut cells, mut finished) = (0, 0);
        for cell in cells_of(Derived::check(writer.recording())?) {
            if options.only.is_some_and(|only| !only.contains(&cell.inputs.id())) {
                continue;
            }
            cells += 1;
            match finished_before(writer, options, cell.inputs.id(), on_event)? {
                Some(outcome) => {
                    finished += 1;
                    count(&mut summary, &outcome);
                }
                None => missing.push(cell),
            }
        }
        missing.retain(|cell| backend.boot_needed(cell.inputs).is_none());
        summary.waiting = cells - finished - missing.len();
        options.order.arrange(&mut missing);
        if options.only.is_none() {
            let planned = writer.recording().planned();
            summary.unavailable += planned.filter(|(_, cell)| cell.inputs().is_none()).count();
        }
        let state = Mutex::new(State { waiting: missing.into(), summary });
        let queue = Self { writer, options, on_event, state };
        on_event(Event::Planned { boots: &queue.boots(), cells: queue.waiting(), finished });
        Ok(queue)
    }

    /// Returns the distinct boots of the cells that no worker has taken.
    pub fn boots(&self) -> Vec<&'a SnapshotInputs> {
        boots_of(&self.state().waiting)
    }

    /// Counts the cells that no worker has taken.
    pub fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// Hands out the next cell, and further cells of the same boot, up to `most` in all. Hands out none
    /// where none is left.
    pub fn take(&self, most: usize) -> Vec<Cell<'a>> {
        let waiting = &mut self.state().waiting;
        let mut taken: Vec<_> = waiting.pop_front().into_iter().collect();
        let mut place = 0;
        while taken.len() < most && place < waiting.len() {
            if waiting[place].inputs.snapshot == taken[0].inputs.snapshot {
                taken.extend(waiting.remove(place));
            } else {
                place += 1;
            }
        }
        taken
    }

    /// Takes back a cell: writes its record to the recording and to the cache. `wall` is the host time
    /// of its execution.
    ///
    /// # Errors
    ///
    /// [`RunError::Other`] for the record of another cell, [`RunError::Different`] where the cell was
    /// recorded before with another digest, and when the recording cannot be written to.
    pub fn finished(
        &self,
        cell: Cell<'_>,
        record: &CellRecord,
        wall: Duration,
    ) -> Result<(), RunError> {
        let id = cell.inputs.id();
        if record.id != id || record.inputs != *cell.inputs {
            return Err(RunError::Other(id));
        }
        self.keep(record)?;
        count(&mut self.state().summary, &record.outcome);
        (self.on_event)(Event::Finished { factors: cell.factors, record, wall });
        Ok(())
    }

    /// Returns the result of the run so far.
    pub fn summary(&self) -> Summary {
        self.state().summary
    }

    fn keep(&self, record: &CellRecord) -> Result<(), RunError> {
        if let Some(before) = self.writer.cells().get(record.id)? {
            if is_untraceable(record) {
                // The results without a trace stay.
                return Ok(());
            }
            if before.outcome.digest() != record.outcome.digest() {
                return Err(RunError::Different(record.id));
            }
        }
        let cache = self.options.cache.as_ref().filter(|_| !is_failed(record));
        // The cache first: after a kill in between the next run finds the cell there. A cell that only
        // the recording has may be another user's, and never gets into the cache. A cache that cannot
        // be written to does not harm the recording.
        let cached = cache.map_or(Ok(()), |cache| self.put_in_cache(cache, record));
        self.writer.cells().put(record)?;
        cached
    }

    /// Puts a cell into the cache, and before it the findings about its instants: a cell there has
    /// both.
    fn put_in_cache(&self, cache: &CellFolder, record: &CellRecord) -> Result<(), RunError> {
        // A cell that was executed again for its missing findings.
        if let Ok(Some(before)) = cache.get(record.id)
            && before.outcome.digest() != record.outcome.digest()
        {
            return Err(RunError::Different(record.id));
        }
        if let Some(traces) = self.options.traces
            && is_completed(record)
        {
            cache.create()?;
            cache.instants().take_findings(record.id, traces.folder)?;
        }
        Ok(cache.put(record)?)
    }

    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().expect("nothing panics while it is held")
    }
}

/// Returns the outcome of a cell that is not to be executed again; copies one of the cache into the
/// recording.
fn finished_before(
    writer: &RecordingWriter,
    options: &Options<'_>,
    id: CellId,
    on_event: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Option<Outcome>, RunError> {
    let found = match writer.cells().get(id)? {
        Some(record)
            if options.retry_failed && is_failed(&record)
                || !options.traces.is_some_and(|traces| traces.kept.is_stream())
                    && is_untraceable(&record) =>
        {
            writer.cells().remove(id)?;
            None
        }
        None => from_cache(writer, options, id, on_event)?,
        found => found,
    };
    Ok(found.filter(|record| is_traced(record, options)).map(|record| record.outcome))
}

/// Returns whether a finished cell has its trace, if traces are kept. Findings alone are no reason to execute
/// a cell again that the recording has.
fn is_traced(record: &CellRecord, options: &Options<'_>) -> bool {
    let traces = options.traces.filter(|traces| traces.kept.is_stream());
    traces.is_none_or(|traces| !is_completed(record) || traces.folder.contains(record.id))
}

/// Copies a cell from the cache, with the findings about its instants. A damaged cell, or one without them,
/// does not stop the run: it is executed again.
fn from_cache(
    writer: &RecordingWriter,
    options: &Options<'_>,
    id: CellId,
    on_event: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Option<CellRecord>, RunError> {
    let Some(cache) = &options.cache else { return Ok(None) };
    let record = match cache.get(id) {
        Ok(Some(record)) => record,
        Ok(None) => return Ok(None),
        Err(error) => {
            cache.remove(id)?;
            on_event(Event::Damaged(&error));
            return Ok(None);
        }
    };
    if let Some(traces) = options.traces
        && is_completed(&record)
    {
        match traces.folder.take_findings(id, &cache.instants()) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error @ (RecordingError::Damaged { .. } | RecordingError::OtherFormat { .. })) => {
                cache.instants().remove(id)?;
                on_event(Event::Damaged(&error));
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        }
    }
    writer.cells().put(&record)?;
    Ok(Some(record))
}

fn is_completed(record: &CellRecord) -> bool {
    matches!(record.outcome, Outcome::Completed { .. })
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
