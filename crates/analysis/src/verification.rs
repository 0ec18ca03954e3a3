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
}

impl Verification {
    /// Counts the cells that are the same.
    pub fn new(cells: Vec<VerifiedCell>) -> Self {
        let same = cells.iter().filter(|cell| cell.same).count();
        Self { format: 1, same, different: cells.len() - same, cells }
    }
}
