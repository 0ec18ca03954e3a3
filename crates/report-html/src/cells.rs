use serde::{Deserialize, Serialize};

use crate::text;

/// One cell of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellRow {
    /// The index in [`crate::PageData::groups`] of its workload and number of CPUs.
    pub group: usize,
    /// The index in [`crate::Group::configurations`] of its recording, kernel and mode.
    pub configuration: usize,
    /// Counts from 1.
    pub replicate: u32,
    /// What became of it.
    pub status: CellStatus,
    /// Why it has no measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The SHA-256 of its inputs, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The SHA-256 of what the guest said, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Written as text: a script's numbers are exact to 53 bits only.
    #[serde(default, with = "text", skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The index in [`crate::PageData::command_lines`] of the kernel's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_line: Option<usize>,
}

/// What became of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellStatus {
    /// It was measured.
    Completed,
    /// It was executed and not measured.
    Failed,
    /// It cannot be executed.
    Unavailable,
    /// It is planned, and the recording does not have it.
    Missing,
}
