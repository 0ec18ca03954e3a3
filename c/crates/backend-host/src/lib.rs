//! Runs cells on the kernel of the machine itself, in the machine's own time.
//!
//! A cell's commands come from the guest's image, which is unpacked into memory. The image becomes
//! the root of namespaces that belong to the cell alone: of processes, mounts, network, IPC and
//! names. So the benchmarks are those of a virtual machine.
//!
//! Invariants:
//!
//! - No process and no file of a cell outlives the cell or this process, however it ends.
//! - The kernel gets its settings back after every cell. They are on disk before the first is
//!   changed, so the next run restores them after SIGKILL.
//! - A cell's commands are confined before they are executed, by a list of allowed calls.
//!
//! This crate implements `runner`'s backend. It knows nothing of packages, QEMU or experiments.

mod cell;
mod error;
mod filter;
mod held;
mod journal;
mod limits;
mod namespace;
mod place;
mod reach;
mod room;
mod settable;
mod state;
mod timed;

use std::{
    collections::BTreeMap,
    fs::File,
    path::{Path, PathBuf},
};

use preemptlab_model::{CellInputs, Digest, SnapshotInputs};
use preemptlab_runner::{Backend, Cancel, Execution, Stop, Tracing};

use error::host;

pub use error::LiveError;
pub use journal::is_left_behind;
pub use place::check;
pub use reach::Kernels;
pub use timed::Timed;

/// Parts of a [`Live`].
#[derive(Clone, Debug)]
pub struct Config {
    /// The program that is the first process of every cell.
    pub program: &'static [u8],
    /// The files of every guest image that cells name, by their SHA-256.
    pub images: BTreeMap<Digest, PathBuf>,
    /// The kernels of the cells.
    pub kernels: Kernels,
}

/// Executes cells on the running kernel, one at a time.
#[derive(Debug)]
pub struct Live {
    config: Config,
    reach: reach::Reach,
    state: state::State,
}

impl Live {
    /// Checks that cells can run here, restores the kernel after a killed run, and records the
    /// state that these cells are going to change. Until this is dropped no other process can do
    /// the same.
    ///
    /// # Errors
    ///
    /// [`LiveError`]; then nothing was changed.
    pub fn open(config: Config, cells: &[&CellInputs]) -> Result<Self, LiveError> {
        place::check()?;
        cells.iter().try_for_each(|cell| settable::check(&cell.job))?;
        let lock = journal::Lock::take()?;
        namespace::with_debugfs(|| {
            journal::restore(&lock)?;
            let reach = reach::Reach::find(config.kernels.clone(), cells)?;
            let jobs = cells.iter().filter(|cell| reach.boot_needed(cell).is_none());
            let state = state::State::remember(lock, jobs.map(|cell| &cell.job))?;
            Ok(Self { config, reach, state })
        })?
    }
}

impl Backend for Live {
    /// Checks that the image is whole.
    fn prepare(&self, inputs: &SnapshotInputs, _: &Cancel) -> Result<(), Stop> {
        let path = self.image(inputs)?;
        match File::open(path).and_then(Digest::of_reader) {
            Ok(digest) if digest == inputs.image_sha256 => Ok(()),
            Ok(_) => Err(host(format!(
                "the guest image `{}` is damaged; remove it and run the same command again, which \
                 makes it once more",
                path.display()
            ))),
            Err(error) => {
                Err(host(format!("cannot read the guest image `{}`: {error}", path.display())))
            }
        }
    }

    fn boot_needed(&self, cell: &CellInputs) -> Option<String> {
        self.reach.boot_needed(cell)
    }

    fn execute(
        &self,
        cell: &CellInputs,
        tracing: Option<Tracing<'_>>,
        cancel: &Cancel,
    ) -> Result<Execution, Stop> {
        if tracing.is_some() {
            return Err(host("the machine's own kernel cannot be traced; trace a virtual machine"));
        }
        let image = self.image(&cell.snapshot)?;
        let result = namespace::with_debugfs(|| {
            let result = cell::execute(image, self.config.program, cell, cancel);
            // However the cell ended, the next one finds the kernel as the first one did.
            self.state.restore().map_err(|error| host(error.to_string())).and(result)
        });
        result.map_err(|error| host(error.to_string()))?
    }
}

impl Live {
    fn image(&self, inputs: &SnapshotInputs) -> Result<&Path, Stop> {
        let name = inputs.image_sha256.short();
        let image = self.config.images.get(&inputs.image_sha256).map(PathBuf::as_path);
        image.ok_or_else(|| host(format!("no guest image with the SHA-256 {name} is at hand")))
    }
}
