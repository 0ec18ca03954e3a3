use std::fmt;

use preemptlab_backend_qemu::libraries_sha256;
use preemptlab_model::Digest;
use preemptlab_provision::{Store, guest_sha256};
use preemptlab_recording::CellFolder;
use preemptlab_trace::FINDINGS_FORMAT;
use serde::{Deserialize, Serialize};

/// Build of preemptlab: the programs that it executes in guests and loads into QEMU. Two builds that
/// agree here make the same cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    version: String,
    programs_sha256: Digest,
}

impl Build {
    /// Returns the build of this program.
    pub fn this() -> Self {
        let programs_sha256 = Digest::of_json(&[guest_sha256(), libraries_sha256()]);
        Self { version: env!("CARGO_PKG_VERSION").to_owned(), programs_sha256 }
    }
}

/// Returns the cells that a store keeps for this build. The libraries in QEMU are not a part of a cell's identity,
/// and a build with other libraries may make other cells of the same inputs. One that finds something else in a
/// stream needs the stream again.
pub fn finished_cells(store: &Store) -> CellFolder {
    let build = format!("{}-{FINDINGS_FORMAT}", libraries_sha256().short());
    CellFolder::of_store(store.cells().join(build))
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version: String = self.version.chars().take(40).flat_map(char::escape_debug).collect();
        write!(f, "{version} ({})", self.programs_sha256.short())
    }
}
