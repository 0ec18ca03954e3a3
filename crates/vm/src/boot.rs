//! From the start of the kernel to the snapshot.

use std::{fs::File, os::fd::AsFd};

use preemptlab_backend::{Cancel, Stop};
use preemptlab_model::SnapshotInputs;

use crate::{
    Config,
    args::Role,
    end::{self, End, how_qemu_ended},
    guest::Guest,
    output::inherited_path,
    qemu::Halt,
    snapshot::{HEADER_BYTES, unusable},
};

/// Boots to the point where the guest stops, and writes the machine's state after the header page
/// of `draft`.
///
/// The guest arms its watchdog and sleeps. All virtual CPUs are idle when it expires, so that what
/// is saved does not depend on how fast QEMU's main loop stops them: it has nothing to stop.
pub(crate) fn boot_and_save(
    config: &Config,
    inputs: &SnapshotInputs,
    cancel: &Cancel,
    draft: &File,
) -> Result<(), Stop> {
    let mut guest = Guest::new()?;
    let files = [draft.as_fd()];
    let mut qemu = guest.start(config, inputs, Role::Boot, &files, cancel)?;
    if let Err(halt) = qemu.negotiate() {
        return match qemu.conclude(halt)? {
            End::Exited { status, stderr, .. } => Err(end::of_start(status, &stderr)),
            end => end::of_boot(guest.remains(end)?),
        };
    }
    match qemu.run() {
        Halt::Watchdog => end::of_boot(guest.remains(End::Watchdog)?)?,
        halt => return end::of_boot(guest.remains(qemu.conclude(halt)?)?),
    }

    qemu.allow_large_files()?;
    let uri = format!("file:{},offset={HEADER_BYTES}", inherited_path(draft));
    match qemu.migrate("migrate", &uri) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(reason)) => Err(unusable(&config.snapshots, reason)),
        Err(halt) => match qemu.conclude(halt)? {
            End::Exited { status, stderr, .. } => {
                Err(unusable(&config.snapshots, how_qemu_ended(status, &stderr)))
            }
            end => end::of_boot(guest.remains(end)?),
        },
    }
}
