//! A journal of the kernel's state before it was switched, which survives a killed process: in
//! `/run`, which a reboot empties just as it undoes the switches.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
};

use preemptlab_system::host::boot_id;
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use crate::{LiveError, held::Held};

const FOLDER: &str = "/run/preemptlab";
const JOURNAL: &str = "/run/preemptlab/host.json";
const LOCK: &str = "/run/preemptlab/host.lock";

const FORMAT: u32 = 1;

/// A longer file is not this program's.
const BYTES_MAX: u64 = 1 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Journal {
    format: u32,
    boot_id: Option<String>,
    held: Vec<Held>,
}

/// Returns whether a killed run has left the kernel switched; the next run restores it.
pub fn is_left_behind() -> bool {
    let is_free = || {
        let lock = File::open(LOCK).ok();
        lock.is_none_or(|lock| flock(&lock, FlockOperation::NonBlockingLockShared).is_ok())
    };
    Path::new(JOURNAL).exists() && is_free()
}

/// Lock by which no other run uses the kernel, until it is dropped or the process ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "it is held")] File);

impl Lock {
    /// Takes the lock on the use of the kernel.
    ///
    /// # Errors
    ///
    /// [`LiveError::Busy`] while another process has the lock.
    pub fn take() -> Result<Self, LiveError> {
        let journal = |error| LiveError::Journal { what: "locked", path: LOCK.into(), error };
        fs::create_dir_all(FOLDER).map_err(journal)?;
        let open = File::options().read(true).write(true).create(true).truncate(false).open(LOCK);
        let mut file = open.map_err(journal)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let mut holder = String::new();
                let _ = file.take(32).read_to_string(&mut holder);
                let known = holder.trim().parse::<u32>().is_ok();
                let holder = if known { holder.trim().to_owned() } else { "?".to_owned() };
                return Err(LiveError::Busy { holder });
            }
            Err(error) => return Err(journal(error.into())),
        }
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(journal)?;
        Ok(Self(file))
    }
}

/// Writes the kernel's state to the journal.
///
/// # Errors
///
/// [`LiveError::Journal`] when it cannot be written.
pub fn write(held: &[Held]) -> Result<(), LiveError> {
    let journal = Journal { format: FORMAT, boot_id: boot_id(Path::new("/")), held: held.to_vec() };
    let error =
        |error: io::Error| LiveError::Journal { what: "written", path: JOURNAL.into(), error };
    let bytes = serde_json::to_vec(&journal).map_err(|cause| error(cause.into()))?;
    preemptlab_files::replace(Path::new(JOURNAL), &bytes).map_err(error)
}

/// Removes the journal, once the kernel's state is restored.
///
/// # Errors
///
/// [`LiveError::Journal`] when it cannot be removed.
pub fn remove() -> Result<(), LiveError> {
    match fs::remove_file(JOURNAL) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(LiveError::Journal { what: "removed", path: JOURNAL.into(), error })
        }
        _ => Ok(()),
    }
}

/// Restores the kernel's state before a run that was killed.
///
/// # Errors
///
/// [`LiveError`] when the journal cannot be read, or the state cannot be restored.
pub fn restore(_: &Lock) -> Result<(), LiveError> {
    let Some(journal) = read()? else { return Ok(()) };
    // Another boot began with the kernel's own values.
    if journal.boot_id == boot_id(Path::new("/")) {
        for held in &journal.held {
            held.restore()?;
        }
    }
    remove()
}

fn read() -> Result<Option<Journal>, LiveError> {
    let error = |error| LiveError::Journal { what: "read", path: JOURNAL.into(), error };
    let file = match File::open(JOURNAL) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(error)?,
    };
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes).map_err(error)?;
    let journal: Journal = serde_json::from_slice(&bytes).map_err(|cause| error(cause.into()))?;
    if journal.format != FORMAT {
        let text = format!("it has format {}, and this preemptlab reads {FORMAT}", journal.format);
        return Err(error(io::Error::other(text)));
    }
    Ok(Some(journal))
}
