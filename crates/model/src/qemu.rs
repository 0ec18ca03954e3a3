use serde::{Deserialize, Serialize};

use crate::Digest;

/// The QEMU build that runs a cell. Two builds of one release can differ in what a guest sees, so
/// it is part of every cell's identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QemuBuild {
    /// What `--version` prints first, for people.
    pub version: String,
    /// Of everything that makes the build: the sorted SHA-256 of its packages, or of the one
    /// binary that `--qemu` names.
    pub digest: Digest,
}
