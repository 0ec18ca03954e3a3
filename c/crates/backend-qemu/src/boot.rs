//! The boot, from the start of the kernel to the snapshot.

use std::{fs::File, os::fd::AsFd, time::Duration};

use preemptlab_model::SnapshotInputs;
use preemptlab_protocol::SNAPSHOT_DELAY_NS;
use preemptlab_runner::{Cancel, Stop};

use crate::{
    Config,
    args::Role,
    end::{self, End, how_qemu_ended},
    guest::Guest,
    output::inherited_path,
    qemu::{Halt, Qemu},
    snapshot::{HEADER_BYTES, unusable},
};

/// Interval at which a guest in host time is asked whether it is ready.
const READY_POLL: Duration = Duration::from_millis(20);

/// Time after which a guest in host time is stopped once it is ready. The guest settles for a
/// second, and sleeps for as long as this time.
const ASLEEP_AFTER: Duration = Duration::from_nanos(SNAPSHOT_DELAY_NS);

/// Boots to the point where the guest stops, and writes the machine's state after the header page
/// of `draft`.
///
/// The guest arms its watchdog and sleeps. All virtual CPUs are idle when the watchdog expires, so
/// the saved state does not depend on how fast QEMU's main loop stops them.
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
    let halt = match inputs.backend.is_vm() {
        true => qemu.run(),
        false => run_until_asleep(&mut guest, &mut qemu)?.err().unwrap_or(Halt::Watchdog),
    };
    match halt {
        Halt::Watchdog => end::of_boot(guest.remains(End::Watchdog)?)?,
        halt => return end::of_boot(guest.remains(qemu.conclude(halt)?)?),
    }

    qemu.allow_large_files()?;
    let uri = format!("file:{},offset={HEADER_BYTES}", inherited_path(draft));
    match qemu.save(&uri) {
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

/// Stops a guest in host time in the midst of its sleep; its watchdog expires in its cells.
/// Otherwise QEMU's main loop could hear of the watchdog when the guest is awake again and looks
/// for the job that no boot has.
fn run_until_asleep(guest: &mut Guest, qemu: &mut Qemu<'_>) -> Result<Result<(), Halt>, Stop> {
    if let Err(halt) = qemu.resume() {
        return Ok(Err(halt));
    }
    while !guest.is_ready()? {
        if let Err(halt) = qemu.run_for(READY_POLL) {
            return Ok(Err(halt));
        }
    }
    Ok(qemu.run_for(ASLEEP_AFTER).and_then(|()| qemu.stop()))
}
