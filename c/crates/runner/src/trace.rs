use std::collections::BTreeSet;

use preemptlab_experiment::Derived;
use preemptlab_model::{CellId, FailureCause, Outcome};

use crate::{
    Backend, Cancel, Event, RunError, Traces,
    cell::{Cell, boot, boots_of, cells_of, execute},
    workers,
};

/// Executes completed cells of a recording again, with a trace, and keeps the traces.
///
/// # Errors
///
/// When the host cannot continue, or a cell does not say the same again.
pub fn trace(
    recording: Derived<'_>,
    ids: &BTreeSet<CellId>,
    backend: &dyn Backend,
    traces: Traces<'_>,
    jobs: usize,
    on_event: &(dyn Fn(Event<'_>) + Sync),
    cancel: &Cancel,
) -> Result<(), RunError> {
    let cells = cells_of(recording);
    let cells: Vec<Cell<'_>> =
        cells.into_iter().filter(|cell| ids.contains(&cell.inputs.id())).collect();
    let boots = boots_of(&cells);
    on_event(Event::Planned { boots: &boots, cells: cells.len(), finished: 0 });
    let unbootable = boot(&boots, backend, jobs, on_event, cancel)?;
    workers::for_each(&cells, jobs, cancel, |cell| {
        let (record, wall) = execute(cell, backend, &unbootable, Some(traces), on_event, cancel)?;
        let recorded = recording.cell(record.id)?.and_then(|record| record.outcome.digest());
        if let Outcome::Failed { cause: FailureCause::Trace | FailureCause::Boot, reason } =
            &record.outcome
        {
            return Err(RunError::Host(format!("{}: {reason}", cell.factors)));
        }
        if recorded != record.outcome.digest() {
            traces.folder.remove(record.id)?;
            return Err(RunError::Different(record.id));
        }
        on_event(Event::Finished { factors: cell.factors, record: &record, wall });
        Ok::<_, RunError>(())
    })?;
    if cancel.is_cancelled() { Err(RunError::Cancelled) } else { Ok(()) }
}
