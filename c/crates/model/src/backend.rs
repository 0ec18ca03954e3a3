use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Executor of cells, which decides the meaning of their nanoseconds.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    TS,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    /// QEMU's TCG in virtual time, which counts instructions: the same inputs give the same bytes.
    #[default]
    Vm,
    /// QEMU with hardware virtualisation, in the time of the machine.
    Kvm,
    /// The kernel that runs the machine, in its own time.
    Host,
}

impl BackendKind {
    /// Every backend.
    pub const ALL: [Self; 3] = [Self::Vm, Self::Kvm, Self::Host];

    /// Returns the name on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Vm => "vm",
            Self::Kvm => "kvm",
            Self::Host => "host",
        }
    }

    /// Returns whether the backend is the one that recordings do not name, because they had no
    /// other at first.
    pub const fn is_vm(&self) -> bool {
        matches!(self, Self::Vm)
    }
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The text names no backend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown backend `{0}`; there are vm, kvm and host")]
pub struct ParseBackendError(pub String);

impl FromStr for BackendKind {
    type Err = ParseBackendError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|kind| kind.as_str() == name);
        named.ok_or_else(|| ParseBackendError(name.to_owned()))
    }
}
