//! What a virtual machine is made of.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, time::Duration};

use preemptlab_model::Digest;

/// Where kernels and images are, by their SHA-256.
pub type Artifacts = BTreeMap<Digest, PathBuf>;

/// What a [`Vm`](crate::Vm) is made of.
#[derive(Clone, Debug)]
pub struct Config {
    /// The QEMU program, then the arguments that it always needs (`-L` for its firmware).
    pub command: Vec<OsString>,
    /// The files of every kernel and image that cells name.
    pub artifacts: Artifacts,
    /// The folder of the snapshots; made when it is missing.
    pub snapshots: PathBuf,
    /// How long to wait.
    pub limits: Limits,
}

/// How long to wait for QEMU, in host time.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For a boot, from the start of QEMU to the saved snapshot.
    pub boot_wall: Duration,
    /// For a cell, from the start of QEMU to its end.
    pub cell_wall: Duration,
}
