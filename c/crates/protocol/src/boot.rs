//! What the guest does before the snapshot, the same for every cell forked from it.

use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

use crate::Command;

/// Where the guest image holds its [`BootConfig`], as JSON.
pub const BOOT_FILE: &str = "/etc/preemptlab/boot.json";

/// The part of the work that is done once per boot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootConfig {
    /// See [`FORMAT`](crate::FORMAT).
    pub format: u32,
    /// Paths in the image of uncompressed kernel modules, each after those it depends on. Words
    /// `MODULE.PARAMETER=VALUE` of the kernel's command line reach them, as modprobe(8) would have
    /// it.
    pub modules: Vec<String>,
    /// Run one after the other, each to its end, which must be good. What they leave behind, such
    /// as a server, is part of the snapshot.
    pub prepare: Vec<Command>,
}
