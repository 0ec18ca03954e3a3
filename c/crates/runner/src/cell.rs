//! Cells that are executed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
    time::{Duration, Instant},
};

use preemptlab_experiment::Derived;
use preemptlab_model::{CellInputs, CellRecord, Factors, SnapshotId, SnapshotInputs};
use preemptlab_workload::Workload;

use crate::{Backend, Cancel, Event, Execution, RunError, Stop, Traces, outcome, workers};

/// Cell with its factors, inputs and workload. There is one value of each cell.
#[derive(Debug)]
pub struct Cell<'a> {
    /// Factors of the first cell of the plan that has these inputs.
    pub factors: &'a Factors,
    /// Inputs of the cell: its outcome depends on nothing else.
    pub inputs: &'a CellInputs,
    workload: &'a Workload,
}

impl<'a> Cell<'a> {
    /// Returns the cell with other inputs.
    pub(crate) fn with_inputs<'b>(&self, inputs: &'b CellInputs) -> Cell<'b>
    where
        'a: 'b,
    {
        Cell { factors: self.factors, inputs, workload: self.workload }
    }

    /// Makes the record of a backend's result.
    ///
    /// # Errors
    ///
    /// When the run was cancelled or the host cannot continue, and nothing may be recorded.
    pub fn judge(&self, result: Result<Execution, Stop>) -> Result<CellRecord, Stop> {
        outcome::record(self.inputs, self.workload, result)
    }
}

/// Returns the executable cells of a recording, each once.
pub(crate) fn cells_of(recording: Derived<'_>) -> Vec<Cell<'_>> {
    let recording = recording.recording();
    let mut seen = BTreeSet::new();
    recording
        .planned()
        .filter_map(|(_, planned)| {
            let inputs = planned.inputs()?;
            let workload =
                recording.manifest().experiment.workload.get(planned.factors.workload.as_str())?;
            seen.insert(inputs.id()).then_some(Cell { factors: &planned.factors, inputs, workload })
        })
        .collect()
}

/// Returns the distinct boots of cells, in the order of the first cell of each.
pub(crate) fn boots_of<'a: 'b, 'b>(
    cells: impl IntoIterator<Item = &'b Cell<'a>>,
) -> Vec<&'a SnapshotInputs> {
    let mut seen = BTreeSet::new();
    let boots = cells.into_iter().map(|cell| &cell.inputs.snapshot);
    boots.filter(|boot| seen.insert(boot.id())).collect()
}

/// Prepares every boot; returns those that failed, whose cells then fail for that reason.
pub(crate) fn boot(
    boots: &[&SnapshotInputs],
    backend: &dyn Backend,
    jobs: usize,
    on_event: &(dyn Fn(Event<'_>) + Sync),
    cancel: &Cancel,
) -> Result<BTreeMap<SnapshotId, Stop>, RunError> {
    let unbootable = Mutex::new(BTreeMap::new());
    workers::for_each(boots, jobs, cancel, |snapshot| {
        on_event(Event::Booting(snapshot));
        match backend.prepare(snapshot, cancel) {
            Ok(()) => {}
            Err(stop @ Stop::Failed { .. }) => {
                unbootable.lock().expect("no worker panicked").insert(snapshot.id(), stop);
            }
            Err(stop) => return Err(RunError::from(stop)),
        }
        on_event(Event::Booted(snapshot));
        Ok(())
    })?;
    Ok(unbootable.into_inner().expect("no worker panicked"))
}

/// Executes a cell and judges its result. Returns the record and the host time of the execution.
pub(crate) fn execute(
    cell: &Cell<'_>,
    backend: &dyn Backend,
    unbootable: &BTreeMap<SnapshotId, Stop>,
    traces: Option<Traces<'_>>,
    on_event: &(dyn Fn(Event<'_>) + Sync),
    cancel: &Cancel,
) -> Result<(CellRecord, Duration), RunError> {
    on_event(Event::Started(cell.factors));
    let started = Instant::now();
    let (result, traced) = match (unbootable.get(&cell.inputs.snapshot.id()), traces) {
        (Some(stop), _) => (Err(stop.clone()), None),
        (None, None) => (backend.execute(cell.inputs, None, cancel), None),
        (None, Some(traces)) => {
            let (result, traced) = traces.execute(cell.inputs, backend, cancel)?;
            (result, traced.map(|traced| (traces, traced)))
        }
    };
    let record = cell.judge(result)?;
    if let Some((traces, traced)) = traced {
        traces.keep(cell.inputs, &record.outcome, traced)?;
    }
    Ok((record, started.elapsed()))
}
