//! Brings everything that an experiment needs to this machine, and wires it into a backend.
//!
//! A new experiment is resolved: its kernel names become the newest builds on offer. A recording is
//! pinned: exactly its own inputs are brought here again, or nothing is run.

mod begin;
mod build;
mod capsule;
mod embed;
mod error;
mod host;
mod kernels;
mod pin;
mod repeated;
mod resolve;
mod seed;

use std::{collections::BTreeSet, ffi::OsString, path::PathBuf, time::Duration};

use preemptlab_backend_host::{Config as LiveConfig, Live, Timed};
use preemptlab_backend_qemu::{Artifacts, Config, Limits, Vm};
use preemptlab_experiment::Manifest;
use preemptlab_files::Folders;
use preemptlab_model::{BackendKind, CellInputs, Kernel, KernelRef, SnapshotId};
use preemptlab_provision::{CELL, Provision, Store};
use preemptlab_recording::Override;
use preemptlab_runner::Backend;

pub use begin::check_host;
pub use build::{Build, finished_cells};
pub(crate) use capsule::needs;
pub use embed::{EmbedError, cost, embed};
pub use error::PrepareError;
pub use kernels::Kernels;
pub use repeated::{WriteError, Written, write_repeated};
pub use seed::{from_seed, is_seed_of};

/// A boot or a cell that takes longer than this of host time is stuck: an honest one takes some
/// ten seconds to ten minutes.
const LIMITS: Limits =
    Limits { boot_wall: Duration::from_secs(600), cell_wall: Duration::from_secs(3600) };

/// Preparation of experiments on this machine.
pub struct Preparation<'a> {
    provision: Provision<'a>,
    qemu: Option<PathBuf>,
    backend: BackendKind,
    folders: &'a Folders,
    overrides: &'a [Override],
    on_kernel: &'a dyn Fn(&KernelRef, Result<&Kernel, &str>),
}

/// Folders of experiments without workloads in folders.
static NO_FOLDERS: Folders = Folders::new();

/// An experiment with everything that it needs.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Manifest: the experiment, the inputs that its names resolved to, and its plan.
    pub manifest: Manifest,
    /// The kernels from source that are not built yet, where none are to be built.
    pub unbuilt: Vec<KernelRef>,
    artifacts: Artifacts,
    command: Vec<OsString>,
    store: Store,
}

impl<'a> Preparation<'a> {
    /// Creates the preparation. `qemu` replaces the QEMU of release 13.
    pub fn new(provision: Provision<'a>, qemu: Option<PathBuf>) -> Self {
        Self {
            provision,
            qemu,
            backend: BackendKind::Vm,
            folders: &NO_FOLDERS,
            overrides: &[],
            on_kernel: &|_, _| (),
        }
    }

    /// Sets a backend other than virtual machines in virtual time.
    #[must_use]
    pub fn on(self, backend: BackendKind) -> Self {
        Self { backend, ..self }
    }

    /// Adds the files of the workloads in folders, which their images need.
    #[must_use]
    pub fn with_folders(mut self, folders: &'a Folders) -> Self {
        self.folders = folders;
        self
    }

    /// Tells each kernel of an experiment as soon as it is resolved, or why it is unavailable.
    #[must_use]
    pub fn telling(self, on_kernel: &'a dyn Fn(&KernelRef, Result<&Kernel, &str>)) -> Self {
        Self { on_kernel, ..self }
    }

    /// Adds the values in which an experiment differs from its file, to be recorded.
    #[must_use]
    pub fn overridden(self, overrides: &'a [Override]) -> Self {
        Self { overrides, ..self }
    }
}

impl Prepared {
    /// Returns the backend that executes these cells of the experiment.
    ///
    /// # Errors
    ///
    /// When they cannot run on the machine's own kernel.
    pub fn backend(&self, cells: &[&CellInputs]) -> Result<Box<dyn Backend>, PrepareError> {
        match self.manifest.backend {
            BackendKind::Vm => return Ok(Box::new(self.vm())),
            BackendKind::Kvm => return Ok(Box::new(Timed::new(self.vm()))),
            BackendKind::Host => {}
        }
        let kernels = self.manifest.kernels.iter();
        let config = LiveConfig {
            program: CELL,
            images: self.artifacts.clone(),
            kernels: kernels.map(|kernel| (kernel.image_sha256, kernel.clone())).collect(),
        };
        Ok(Box::new(Timed::new(Live::open(config, cells)?)))
    }

    /// Returns the virtual machines that execute its cells.
    pub fn vm(&self) -> Vm {
        Vm::new(self.vm_config())
    }

    /// Returns the parts of those virtual machines.
    pub fn vm_config(&self) -> Config {
        Config {
            command: self.command.clone(),
            artifacts: self.artifacts.clone(),
            snapshots: self.store.snapshots(),
            limits: LIMITS,
        }
    }

    /// Lists the boots of the plan whose snapshots do not exist yet.
    pub fn boots_missing(&self) -> BTreeSet<SnapshotId> {
        let snapshots = self.store.snapshots();
        let boots = self.manifest.plan.snapshots().into_iter().map(|boot| boot.id());
        boots.filter(|id| !snapshots.join(id.to_string()).exists()).collect()
    }

    /// Returns the store that has everything that the cells need.
    pub fn store(&self) -> &Store {
        &self.store
    }
}
