//! A backend without a virtual machine, for unit tests only.

use preemptlab_model::{CellInputs, SnapshotInputs};

use crate::{Backend, Cancel, Execution, Stop, Tracing};

/// Backend that answers every cell with the result of a function.
pub struct Fake<F> {
    answer: F,
}

impl<F: Fn(&CellInputs) -> Result<Execution, Stop> + Sync> Fake<F> {
    /// Creates a backend whose cells end with the results of `answer`.
    pub fn new(answer: F) -> Self {
        Self { answer }
    }
}

impl<F: Fn(&CellInputs) -> Result<Execution, Stop> + Sync> Backend for Fake<F> {
    fn prepare(&self, _: &SnapshotInputs, _: &Cancel) -> Result<(), Stop> {
        Ok(())
    }

    fn execute(
        &self,
        cell: &CellInputs,
        _: Option<Tracing<'_>>,
        cancel: &Cancel,
    ) -> Result<Execution, Stop> {
        if cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        (self.answer)(cell)
    }
}
