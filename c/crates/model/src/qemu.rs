use serde::{Deserialize, Serialize};

use crate::Digest;

/// Build of the QEMU that runs a cell. Two builds of one release can differ in the machine that a
/// guest sees, so the build is part of every cell's identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QemuBuild {
    /// First line of `--version`, for people.
    pub version: String,
    /// Digest of the sorted SHA-256 of the build's packages, or of the one binary that the configuration
    /// names.
    pub digest: Digest,
}
