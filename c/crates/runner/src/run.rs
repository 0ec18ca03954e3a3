use std::collections::BTreeMap;

use preemptlab_experiment::RecordingWriter;

use crate::{
    Backend, Cancel, Event, Options, Queue, RunError, Summary,
    cell::{boot, execute},
    workers,
};

/// Executes the unfinished cells of a recording on this machine: first the boots, then the cells.
///
/// # Errors
///
/// [`RunError`]; a failed cell is not an error but a record.
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
/// [`RunError`]; a failed cell is not an error but a record.
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
