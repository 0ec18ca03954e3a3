use preemptlab_model::NoResult;
use serde::Serialize;
use ts_rs::TS;

/// Cell of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct CellRow {
    /// The index of its workload and number of CPUs in the groups.
    pub group: usize,
    /// The index of its recording, kernel and mode in the group's configurations.
    pub configuration: usize,
    /// Index of the replicate, from 1.
    pub replicate: u32,
    /// Reason why the cell has no measurements; absent for a completed cell.
    pub no_result: Option<NoResult>,
    /// The SHA-256 of its inputs, in hexadecimal.
    pub id: Option<String>,
    /// SHA-256 of the guest's output, in hexadecimal.
    pub digest: Option<String>,
    /// Seed as text: a script's numbers are exact to 53 bits only.
    pub seed: Option<String>,
    /// The index of the kernel's in [`crate::PageData::command_lines`].
    pub command_line: Option<usize>,
}
