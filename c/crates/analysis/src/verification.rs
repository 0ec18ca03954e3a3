//! Whether the cells of a recording say the same again.

use schemars::JsonSchema;
use serde::Serialize;

/// A cell and its two digests.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VerifiedCell {
    /// Place of the cell in the experiment, in words.
    pub cell: String,
    /// Identity of the cell.
    pub id: String,
    /// Whether both digests are the same.
    pub same: bool,
    /// Digest in the recording, or the reason why there is none.
    pub recorded: String,
    /// Digest of the second execution or in the other recording, or the reason why there is none.
    pub other: String,
}

/// The cells that were compared, as a document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Verification {
    /// Version of the document.
    pub format: u32,
    /// Number of cells whose digests are the same.
    pub same: usize,
    /// Number of cells whose digests differ.
    pub different: usize,
    /// Cells, in the order of the plan.
    pub cells: Vec<VerifiedCell>,
    /// Origin of everything that was executed, where it came out of a capsule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capsule: Option<OfCapsule>,
}

/// Origin of what a capsule brought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OfCapsule {
    /// Version of the program that packed it, as the capsule says.
    pub packed_by: String,
    /// Codenames of the releases of Debian whose signed lists name QEMU's packages; empty where the user trusted
    /// the capsule's QEMU without.
    pub qemu_signed_in: Vec<String>,
    /// Whether a network was used: never.
    pub network: bool,
}

impl Verification {
    /// Counts the cells that are the same.
    pub fn new(cells: Vec<VerifiedCell>, capsule: Option<OfCapsule>) -> Self {
        let same = cells.iter().filter(|cell| cell.same).count();
        Self { format: 1, same, different: cells.len() - same, cells, capsule }
    }
}
