use std::{
    path::Path,
    sync::atomic::{AtomicU32, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use preemptlab_model::{CellInputs, SnapshotInputs};
use preemptlab_runner::{Backend, Cancel, Execution, Stop, Tracing};
use preemptlab_system::host::Watch;

/// Backend whose cells take the machine's own time, with the conditions of the machine during each.
#[derive(Debug)]
pub struct Timed<B> {
    backend: B,
    executed: AtomicU32,
}

impl<B: Backend> Timed<B> {
    /// Watches the machine while this one executes.
    pub fn new(backend: B) -> Self {
        Self { backend, executed: AtomicU32::new(0) }
    }
}

impl<B: Backend> Backend for Timed<B> {
    fn prepare(&self, snapshot: &SnapshotInputs, cancel: &Cancel) -> Result<(), Stop> {
        self.backend.prepare(snapshot, cancel)
    }

    fn boot_needed(&self, cell: &CellInputs) -> Option<String> {
        self.backend.boot_needed(cell)
    }

    fn execute(
        &self,
        cell: &CellInputs,
        tracing: Option<Tracing<'_>>,
        cancel: &Cancel,
    ) -> Result<Execution, Stop> {
        let order = self.executed.fetch_add(1, Ordering::Relaxed);
        let start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let watch = Watch::begin(Path::new("/"));
        let mut execution = self.backend.execute(cell, tracing, cancel)?;
        let mut conditions = watch.end(Path::new("/"));
        (conditions.order, conditions.start_unix_s) = (order, start.as_secs());
        execution.conditions = Some(conditions);
        Ok(execution)
    }
}
