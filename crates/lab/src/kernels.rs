//! The kernels of an experiment, ready to be traced.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use preemptlab_backend::{Backend, Cancel};
use preemptlab_model::{CellInputs, SnapshotId};
use preemptlab_protocol::{LoadStart, Message};
use preemptlab_recording::TraceFolder;
use preemptlab_symbols::Types;
use preemptlab_trace::{Kernel, Layout};

use crate::{LabError, Prepared};

const KALLSYMS: &str = "/proc/kallsyms";

/// Finds out how kernels are laid out, each once: from their guest's kallsyms and their image's BTF.
pub struct Kernels<'a> {
    prepared: &'a Prepared,
    vm: &'a dyn Backend,
    folder: &'a TraceFolder,
    known: Mutex<BTreeMap<SnapshotId, Slot>>,
}

/// Two threads that need the same kernel find out about it once.
type Slot = Arc<Mutex<Option<Arc<Kernel>>>>;

impl<'a> Kernels<'a> {
    /// For a recording's traces in `folder`, where the layouts are kept too.
    pub fn new(prepared: &'a Prepared, vm: &'a dyn Backend, folder: &'a TraceFolder) -> Self {
        Self { prepared, vm, folder, known: Mutex::default() }
    }

    /// The kernel of a cell.
    ///
    /// # Errors
    ///
    /// When the guest cannot be asked, or its kernel cannot be read.
    pub fn get(&self, cell: &CellInputs, cancel: &Cancel) -> Result<Arc<Kernel>, LabError> {
        let id = cell.snapshot.id();
        let slot = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(id).or_default())
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = &*slot {
            return Ok(Arc::clone(kernel));
        }
        let layout = match self.folder.layout(id)? {
            Some(layout) => layout,
            None => {
                let layout = self.stored_or_made(cell, cancel)?;
                self.folder.put_layout(id, &layout)?;
                layout
            }
        };
        let kernel = Arc::new(Kernel::new(layout)?);
        *slot = Some(Arc::clone(&kernel));
        Ok(kernel)
    }

    fn stored_or_made(&self, cell: &CellInputs, cancel: &Cancel) -> Result<Layout, LabError> {
        let store = TraceFolder::new(self.prepared.store.layouts());
        let id = cell.snapshot.id();
        match store.layout(id) {
            Ok(Some(layout)) => return Ok(layout),
            Ok(None) => {}
            // What another version has left in the store is made again.
            Err(_) => store.remove_layout(id)?,
        }
        let kallsyms = self.kallsyms(cell, cancel)?;
        let path = self.prepared.store.kernel_image(cell.snapshot.kernel_sha256);
        let path = self.prepared.artifacts.get(&cell.snapshot.kernel_sha256).unwrap_or(&path);
        let image = std::fs::read(path).map_err(|error| LabError::Layout(error.to_string()))?;
        let types = Types::from_bzimage(&image).map_err(preemptlab_trace::KernelError::from)?;
        let layout = Layout::new(kallsyms, &types)?;
        store.create()?;
        store.put_layout(id, &layout)?;
        Ok(layout)
    }

    /// Has a guest read its own kallsyms: a cell without a load, whose probe does nothing.
    fn kallsyms(&self, cell: &CellInputs, cancel: &Cancel) -> Result<String, LabError> {
        let mut cell = cell.clone();
        cell.job.load.clear();
        cell.job.load_start = LoadStart { written_bytes_min: 0, settle_ns: 0 };
        cell.job.probes.truncate(1);
        for probe in &mut cell.job.probes {
            probe.argv.truncate(1);
            probe.argv.push("--help".to_owned());
            probe.files = vec![KALLSYMS.to_owned()];
        }
        let execution = self.vm.execute(&cell, None, cancel).map_err(LabError::Stopped)?;
        let Message::Done(mut report) = execution.message else {
            return Err(LabError::Layout("its guest could not be asked".to_owned()));
        };
        let mut files = report.probes.pop().map(|probe| probe.files).unwrap_or_default();
        files
            .remove(KALLSYMS)
            .ok_or_else(|| LabError::Layout(format!("its guest has no {KALLSYMS}")))
    }
}
