//! The execution of a cell, from the snapshot to its end.

use std::{
    fs::File,
    os::{fd::AsFd, unix::process::ExitStatusExt},
};

use preemptlab_model::CellInputs;
use preemptlab_runner::{Cancel, Execution, Stop};

use crate::{
    Config,
    args::Role,
    end::{self, End, how_qemu_ended},
    guest::Guest,
    output::{MemoryFile, inherited_path, no_memory_file},
    plugin::{Plugin, Wanted},
    qemu::Halt,
    snapshot::HEADER_BYTES,
};

/// Reason why a cell was not executed.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// QEMU does not accept the snapshot, for this reason.
    Unloadable(String),
    /// Every other reason.
    Stop(Stop),
}

impl From<Stop> for Trouble {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

/// Loads a snapshot, hands the guest its job, and waits for its end.
pub(crate) fn execute(
    config: &Config,
    cell: &CellInputs,
    snapshot: &File,
    wanted: Option<Wanted<'_>>,
    cancel: &Cancel,
) -> Result<Execution, Trouble> {
    let job = serde_json::to_vec(&cell.job).expect("a job has a JSON form");
    let job = MemoryFile::with_content("job", &job).map_err(no_memory_file)?;
    let mut guest = Guest::new()?;
    let plugin = Plugin::new(&cell.snapshot.machine, wanted).map_err(no_memory_file)?;
    let role = Role::Cell {
        seed: cell.job.seed,
        job: &inherited_path(&job),
        plugin: plugin.as_ref().map(Plugin::option),
    };
    let mut files = vec![job.as_fd(), snapshot.as_fd()];
    files.extend(plugin.iter().flat_map(Plugin::files));
    let mut qemu = guest.start(config, &cell.snapshot, role, &files, cancel)?;
    if plugin.as_ref().is_some_and(Plugin::writes) {
        qemu.allow_large_files()?;
    }
    let uri = format!("file:{},offset={HEADER_BYTES}", inherited_path(snapshot));
    let loaded = qemu.negotiate().and_then(|()| qemu.load(&uri));
    let halt = match loaded {
        Ok(Ok(())) => match qemu.run() {
            // In host time the snapshot's guest still has its watchdog running.
            Halt::Watchdog if !cell.snapshot.backend.is_vm() => qemu.run(),
            halt => halt,
        },
        Ok(Err(reason)) => return Err(Trouble::Unloadable(reason)),
        Err(halt) => match qemu.conclude(halt)? {
            // It greets before it has looked at everything, and no other snapshot would help.
            End::Exited { status, stderr, .. } if end::refuses_plugin(&stderr) => {
                return Err(end::of_start(status, &stderr).into());
            }
            // QEMU ends by itself when it cannot read the snapshot.
            End::Exited { status, stderr, .. } if status.signal().is_none() => {
                return Err(Trouble::Unloadable(how_qemu_ended(status, &stderr)));
            }
            end => return Ok(end::of_cell(guest.remains(end)?)?),
        },
    };
    let end = qemu.conclude(halt)?;
    Ok(end::of_cell(guest.remains(end)?)?)
}
