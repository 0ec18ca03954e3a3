//! The kernels with which traces are read.

use std::collections::{BTreeMap, btree_map::Entry};

use preemptlab_model::{SnapshotId, SnapshotInputs};
use preemptlab_recording::TraceFolder;
use preemptlab_trace::Kernel;

use crate::Result;

/// Kernels of the traces that were read, each once, since all cells of a boot share one.
#[derive(Default)]
pub struct BootKernels(BTreeMap<SnapshotId, Option<Kernel>>);

impl BootKernels {
    /// Returns the kernel of a boot; `None` where the folder has no layout of it.
    ///
    /// # Errors
    ///
    /// When the layout cannot be read.
    pub fn get(&mut self, folder: &TraceFolder, boot: &SnapshotInputs) -> Result<Option<&Kernel>> {
        let id = boot.id();
        let kernel = match self.0.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(folder.kernel(id, boot.machine.arch)?),
        };
        Ok(kernel.as_ref())
    }
}
