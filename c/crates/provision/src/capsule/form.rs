//! The names in a capsule, and the things that it has under them.

use std::collections::BTreeSet;

use preemptlab_model::{Digest, Package};
use serde::{Deserialize, Serialize};

/// Format of capsules.
pub(super) const FORMAT: u32 = 1;

/// Name of the entry about the capsule.
pub(super) const ABOUT: &str = "capsule.json";

/// Name of the entry about the sources.
pub(super) const SOURCES: &str = "sources.json";

/// Word about a capsule.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct About {
    pub(super) format: u32,
    pub(super) packed_by: String,
}

/// Things that the cells of a recording need, as the recording names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The packages that are QEMU.
    pub qemu: Vec<Package>,
    /// The kernels' images; several kernels may have one.
    pub kernels: BTreeSet<Digest>,
    /// The guest images; several kernels may boot one.
    pub images: BTreeSet<Digest>,
}

impl Needs {
    /// Returns the name of every file that a capsule has for them, with the digest of its content.
    pub(super) fn files(&self) -> Vec<(String, Digest)> {
        let packages: BTreeSet<Digest> = self.qemu.iter().map(|package| package.sha256).collect();
        let packages = packages.into_iter().map(|digest| (package_name(digest), digest));
        let kernels = self.kernels.iter().map(|digest| (kernel_name(*digest), *digest));
        let images = self.images.iter().map(|digest| (image_name(*digest), *digest));
        packages.chain(kernels).chain(images).collect()
    }
}

pub(super) fn package_name(sha256: Digest) -> String {
    format!("packages/{sha256}.deb")
}

pub(super) fn kernel_name(sha256: Digest) -> String {
    format!("kernels/{sha256}/vmlinuz")
}

pub(super) fn image_name(sha256: Digest) -> String {
    format!("images/{sha256}")
}
