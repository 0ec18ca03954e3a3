//! Mounts that no other process sees and that vanish with the thread that made them.

use std::{io, path::Path, thread};

use rustix::{
    mount::{MountFlags, MountPropagationFlags, mount, mount_change},
    thread::{UnshareFlags, unshare_unsafe},
};

use crate::LiveError;

const DEBUGFS: &str = "/sys/kernel/debug";

/// Calls a function on a thread that has mounts of its own, with debugfs at its place.
///
/// # Errors
///
/// When the mounts cannot be made.
pub fn with_debugfs<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, LiveError> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| enter().map(|()| work()));
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn enter() -> Result<(), LiveError> {
    let error = |what: &str| {
        let what = what.to_owned();
        move |error: rustix::io::Errno| LiveError::Namespace { what, error: error.into() }
    };
    // SAFETY: no descriptor is unshared; the thread alone gets mounts and a working folder of its
    // own, and nothing else runs on it.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }
        .map_err(error("make a mount namespace (unshare)"))?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(error("keep mounts to this process"))?;
    if Path::new(DEBUGFS).join("sched").exists() {
        return Ok(());
    }
    match mount("debugfs", DEBUGFS, "debugfs", MountFlags::NOSUID, None) {
        // A kernel without debugfs has no place for it, and is asked otherwise for its mode.
        Err(rustix::io::Errno::NODEV | rustix::io::Errno::NOENT) => Ok(()),
        result => result.map_err(error("mount debugfs")),
    }
}

/// Adds the name of a mount to its error.
///
/// # Errors
///
/// The error of the mount.
pub fn mounted(what: &Path, result: Result<(), rustix::io::Errno>) -> Result<(), io::Error> {
    result.map_err(|errno| {
        let error = io::Error::from(errno);
        io::Error::new(error.kind(), format!("cannot mount {}: {error}", what.display()))
    })
}
