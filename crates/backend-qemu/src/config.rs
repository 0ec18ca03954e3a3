//! The parts of a virtual machine.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, time::Duration};

use preemptlab_model::Digest;

/// Paths of kernels and images, by their SHA-256.
pub type Artifacts = BTreeMap<Digest, PathBuf>;

/// Parts of a [`Vm`](crate::Vm).
#[derive(Clone, Debug)]
pub struct Config {
    /// The QEMU program, then the arguments that it always needs (`-L` for its firmware).
    pub command: Vec<OsString>,
    /// The files of every kernel and image that cells name.
    pub artifacts: Artifacts,
    /// The folder of the snapshots; made when it is missing.
    pub snapshots: PathBuf,
    /// Longest times to wait for QEMU.
    pub limits: Limits,
}

/// Longest times to wait for QEMU, in host time. In virtual time, the time of a busy host in which QEMU has no
/// CPU does not count.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time of a boot, from the start of QEMU to the saved snapshot.
    pub boot_wall: Duration,
    /// Time of a cell, from the start of QEMU to its end.
    pub cell_wall: Duration,
}
