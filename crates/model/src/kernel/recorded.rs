//! A kernel as a recording describes it, and its release.

use serde::{Deserialize, Deserializer, Serialize};

use super::name::KernelRef;
use crate::{Digest, KernelConfig, KernelSource, Package, PreemptMode};

/// Resolved kernel: exactly the one that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Name of the kernel in the experiment.
    pub name: KernelRef,
    /// `uname -r`, as the package or file name has it; empty where nothing tells.
    #[serde(deserialize_with = "release")]
    pub release: String,
    /// SHA-256 of the bzImage.
    pub image_sha256: Digest,
    /// The packages it came from, with the compiler where it was built; none for a file.
    pub packages: Vec<Package>,
    /// Whether the kernel is built with `PREEMPT_RT`; `None` without a config.
    pub rt: Option<bool>,
    /// The modes that it offers; `None` without a config, and then the guest finds out.
    pub modes: Option<Vec<PreemptMode>>,
    /// `CONFIG_HZ`; `None` without a config.
    pub hz: Option<u32>,
    /// Source of a kernel that was built from a tree of the user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Box<KernelSource>>,
}

impl Kernel {
    /// Describes the kernel in an image by its config, where there is one.
    pub fn new(
        name: KernelRef,
        release: String,
        image_sha256: Digest,
        packages: Vec<Package>,
        config: Option<&KernelConfig>,
    ) -> Self {
        Self {
            name,
            release,
            image_sha256,
            packages,
            rt: config.map(KernelConfig::is_rt),
            modes: config.map(KernelConfig::offered_modes),
            hz: config.and_then(KernelConfig::hz),
            source: None,
        }
    }
}

/// Returns whether a text can be a kernel's release, which becomes a part of paths and of package
/// names.
pub fn is_release(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".+~_-".contains(c);
    text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(is_plain)
}

/// Reads a release, which is empty where nothing told it.
fn release<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if !text.is_empty() && !is_release(&text) {
        let message = format!("`{}` is not the release of a kernel", text.escape_debug());
        return Err(serde::de::Error::custom(message));
    }
    Ok(text)
}
