use std::{fs::OpenOptions, io, path::Path};

use serde::Serialize;

/// State of hardware virtualisation. Virtual time cannot use it, `--backend kvm` does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kvm {
    /// `/dev/kvm` opens.
    Usable,
    /// The machine has no `/dev/kvm`.
    Absent,
    /// `/dev/kvm` exists and does not open, for this reason.
    Refused(String),
}

/// Tries to open `dev/kvm` under `root` (`/` for the machine itself).
pub fn kvm(root: &Path) -> Kvm {
    match OpenOptions::new().read(true).write(true).open(root.join("dev/kvm")) {
        Ok(_) => Kvm::Usable,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Kvm::Absent,
        Err(error) => Kvm::Refused(error.to_string()),
    }
}
