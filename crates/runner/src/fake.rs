//! A backend without a virtual machine, for unit tests only.

use preemptlab_model::{CellInputs, SnapshotInputs};

use crate::{Backend, Cancel, Execution, Stop, Tracing};

/// Answers every cell with what a function says.
pub struct Fake<F> {
    answer: F,
}

impl<F: Fn(&CellInputs) -> Result<Execution, Stop> + Sync> Fake<F> {
    /// A backend whose cells end as `answer` says.
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
