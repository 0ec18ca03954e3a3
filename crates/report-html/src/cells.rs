use preemptlab_model::NoResult;
use serde::Serialize;
use ts_rs::TS;

/// One cell of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct CellRow {
    /// The index of its workload and number of CPUs in the groups.
    pub group: usize,
    /// The index of its recording, kernel and mode in the group's configurations.
    pub configuration: usize,
    /// Counts from 1.
    pub replicate: u32,
    /// Why it has no measurements; absent for a completed cell.
    pub no_result: Option<NoResult>,
    /// The SHA-256 of its inputs, in hexadecimal.
    pub id: Option<String>,
    /// The SHA-256 of what the guest said, in hexadecimal.
    pub digest: Option<String>,
    /// As text: a script's numbers are exact to 53 bits only.
    pub seed: Option<String>,
    /// The index of the kernel's in [`crate::PageData::command_lines`].
    pub command_line: Option<usize>,
}
