use std::sync::Mutex;

use preemptlab_experiment::Derived;
use preemptlab_model::{CellInputs, CellRecord, Factors, Lookahead};

use crate::{
    Backend, Cancel, Event, RunError,
    cell::{Cell, boot, boots_of, cells_of, execute},
    workers,
};

/// Divisors of the lookahead of the virtual CPUs' clocks.
const DIVISORS: [u32; 2] = [2, 4];

/// A cell that was executed with a smaller lookahead than the recorded one.
#[derive(Clone, Debug, PartialEq)]
pub struct Narrowed {
    /// The recorded cell's place in the experiment.
    pub factors: Factors,
    /// Lookahead with which it was executed.
    pub lookahead: Lookahead,
    /// Record of the execution.
    pub record: CellRecord,
}

/// Executes the completed cells of several CPUs again, with a half and a quarter of their lookahead.
/// The results come in the plan's order, for each lookahead from the widest on.
///
/// # Errors
///
/// When the recording cannot be read, or the host cannot continue.
pub fn sensitivity(
    recording: Derived<'_>,
    backend: &dyn Backend,
    jobs: usize,
    on_event: &(dyn Fn(Event<'_>) + Sync),
    cancel: &Cancel,
) -> Result<Vec<Narrowed>, RunError> {
    let mut recorded = Vec::new();
    for cell in cells_of(recording) {
        let record = recording.cell(cell.inputs.id())?;
        if record.is_some_and(|record| record.outcome.digest().is_some()) {
            recorded.push(cell);
        }
    }
    let narrowed: Vec<(Lookahead, &Cell<'_>, CellInputs)> = DIVISORS
        .into_iter()
        .flat_map(|divisor| recorded.iter().filter_map(move |cell| narrow(cell, divisor)))
        .collect();
    let cells: Vec<(usize, Lookahead, Cell<'_>)> = narrowed
        .iter()
        .enumerate()
        .map(|(index, (lookahead, cell, inputs))| (index, *lookahead, cell.with_inputs(inputs)))
        .collect();
    let boots = boots_of(cells.iter().map(|(.., cell)| cell));
    on_event(Event::Planned { boots: &boots, cells: cells.len(), finished: 0 });
    let unbootable = boot(&boots, backend, jobs, on_event, cancel)?;

    let executed = Mutex::new(Vec::new());
    workers::for_each(&cells, jobs, cancel, |(index, lookahead, cell)| {
        let (record, wall) = execute(cell, backend, &unbootable, None, on_event, cancel)?;
        on_event(Event::Finished { factors: cell.factors, record: &record, wall });
        let narrowed = Narrowed { factors: cell.factors.clone(), lookahead: *lookahead, record };
        executed.lock().expect("no worker panicked").push((*index, narrowed));
        Ok::<_, RunError>(())
    })?;
    if cancel.is_cancelled() {
        return Err(RunError::Cancelled);
    }
    let mut executed = executed.into_inner().expect("no worker panicked");
    executed.sort_by_key(|(index, _)| *index);
    Ok(executed.into_iter().map(|(_, narrowed)| narrowed).collect())
}

/// Returns the inputs of a cell with a part of its lookahead; `None` where it has none, or no
/// smaller one is possible.
fn narrow<'a, 'b>(
    cell: &'b Cell<'a>,
    divisor: u32,
) -> Option<(Lookahead, &'b Cell<'a>, CellInputs)> {
    let mut inputs = cell.inputs.clone();
    let recorded = inputs.snapshot.machine.lookahead?;
    let lookahead = Lookahead::try_from(recorded.ns() / divisor).ok()?;
    inputs.snapshot.machine.lookahead = Some(lookahead);
    Some((lookahead, cell, inputs))
}
