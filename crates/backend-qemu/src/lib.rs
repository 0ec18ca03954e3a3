//! Boots kernels in QEMU and forks cells from the snapshot.
//!
//! QEMU runs without host time, entropy, network, disk or any other asynchronous device (see
//! `args.rs`), so that a cell's bytes depend on its inputs alone. Nothing outlives a QEMU process:
//! its console, results and job are memory files, its monitor is a socket pair, its snapshot has no
//! name until it is whole, and it is killed when the thread that started it ends.

mod allowed;
mod arch;
mod args;
mod boot;
mod cell;
mod config;
mod end;
mod guest;
mod limit;
mod output;
mod plugin;
mod process;
mod qemu;
mod qmp;
mod snapshot;
mod topology;
mod turnstile;

use std::fs::File;

use preemptlab_model::{BackendKind, CellInputs, Digest, FailureCause, SnapshotInputs};
use preemptlab_protocol::prices::Prices;
use preemptlab_runner::{Backend, Cancel, Execution, Stop, Tracing};

pub use crate::{
    allowed::{NotAllowed, check_allowed},
    config::{Artifacts, Config, Limits},
};
use crate::{cell::Trouble, plugin::Wanted, snapshot::Snapshots};

#[doc(hidden)]
pub use qmp::hostile_monitor;

/// Hint for a boot that ended because hardware virtualisation does not work.
const NO_KVM: &str = " (where hardware virtualisation does not work, as on machines that are virtual \
    themselves, use --backend vm)";

/// Executes cells in QEMU.
#[derive(Debug)]
pub struct Vm {
    config: Config,
    snapshots: Snapshots,
}

impl Vm {
    /// Creates the backend. Before the first boot it starts and touches nothing.
    pub fn new(config: Config) -> Self {
        Self { snapshots: Snapshots::new(config.snapshots.clone()), config }
    }

    /// Returns the snapshot of a boot; boots if there is none.
    fn snapshot(&self, inputs: &SnapshotInputs, cancel: &Cancel) -> Result<File, Stop> {
        inputs.check_clocks().map_err(|error| Stop::Failed {
            cause: FailureCause::Boot,
            reason: error.to_string(),
            console: Vec::new(),
        })?;
        let snapshot = self.snapshots.get_or_make(inputs.id(), |draft| {
            boot::boot_and_save(&self.config, inputs, cancel, draft)
        });
        snapshot.map_err(|stop| match stop {
            Stop::Host { reason } if inputs.backend == BackendKind::Kvm => {
                Stop::Host { reason: format!("{reason}{NO_KVM}") }
            }
            stop => stop,
        })
    }

    /// Executes one cell, and has the instructions of each class counted between the markers that its
    /// guest passes, see [`preemptlab_protocol::counts`].
    ///
    /// # Errors
    ///
    /// [`Stop`].
    pub fn count(&self, cell: &CellInputs, out: &File, cancel: &Cancel) -> Result<Execution, Stop> {
        self.execute_from(&cell.snapshot, cell, Some(Wanted::Counts(out)), cancel)
    }

    /// Executes one cell with other prices than its own. It is forked from its own boot, which pays no prices, so
    /// that no prices need a boot of theirs.
    ///
    /// # Errors
    ///
    /// [`Stop`].
    pub fn execute_priced(
        &self,
        cell: &CellInputs,
        prices: &Prices,
        cancel: &Cancel,
    ) -> Result<Execution, Stop> {
        let mut priced = cell.clone();
        if let Some(pricing) = &mut priced.snapshot.machine.prices {
            pricing.of.prices = prices.clone();
        }
        self.execute_from(&cell.snapshot, &priced, None, cancel)
    }

    /// Executes a cell that is forked from a boot.
    fn execute_from(
        &self,
        boot: &SnapshotInputs,
        cell: &CellInputs,
        wanted: Option<Wanted<'_>>,
        cancel: &Cancel,
    ) -> Result<Execution, Stop> {
        let snapshot = self.snapshot(boot, cancel)?;
        match cell::execute(&self.config, cell, &snapshot, wanted, cancel) {
            Ok(execution) => return Ok(execution),
            Err(Trouble::Stop(stop)) => return Err(stop),
            Err(Trouble::Unloadable(_)) => {
                self.snapshots.discard(boot.id(), &snapshot)?;
            }
        }
        let snapshot = self.snapshot(boot, cancel)?;
        let again = cell::execute(&self.config, cell, &snapshot, wanted, cancel);
        again.map_err(|trouble| match trouble {
            Trouble::Stop(stop) => stop,
            Trouble::Unloadable(reason) => Stop::Host {
                reason: format!("QEMU cannot load a snapshot that it has just saved: {reason}"),
            },
        })
    }
}

impl Backend for Vm {
    fn prepare(&self, inputs: &SnapshotInputs, cancel: &Cancel) -> Result<(), Stop> {
        self.snapshot(inputs, cancel).map(drop)
    }

    fn execute(
        &self,
        cell: &CellInputs,
        tracing: Option<Tracing<'_>>,
        cancel: &Cancel,
    ) -> Result<Execution, Stop> {
        self.execute_from(&cell.snapshot, cell, tracing.map(Wanted::Trace), cancel)
    }
}

/// Computes a digest of the code that is loaded into QEMU: the turnstile and the plugin.
pub fn libraries_sha256() -> Digest {
    Digest::of_json(&[turnstile::LIBRARY, plugin::LIBRARY].map(Digest::of))
}
