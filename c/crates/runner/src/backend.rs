//! The interface of a backend, which executes cells.

use std::fs::File;

use preemptlab_model::{CellInputs, Conditions, FailureCause, SnapshotInputs};
use preemptlab_protocol::{Message, trace::TraceProgram};

use crate::Cancel;

/// Executes boots and cells. One backend serves every worker thread.
pub trait Backend: Sync {
    /// Prepares the snapshot from which cells with these inputs are forked. Booting takes seconds;
    /// a snapshot that exists already takes no time.
    ///
    /// # Errors
    ///
    /// [`Stop`].
    fn prepare(&self, snapshot: &SnapshotInputs, cancel: &Cancel) -> Result<(), Stop>;

    /// Returns the boot that a cell needs before it can be executed, in words; `None` for a cell
    /// that can be executed now, as every cell of a virtual machine can.
    fn boot_needed(&self, _: &CellInputs) -> Option<String> {
        None
    }

    /// Executes one cell with a prepared snapshot. Tracing does not change its result.
    ///
    /// # Errors
    ///
    /// [`Stop`].
    fn execute(
        &self,
        cell: &CellInputs,
        tracing: Option<Tracing<'_>>,
        cancel: &Cancel,
    ) -> Result<Execution, Stop>;
}

/// Trace that an execution records.
#[derive(Clone, Copy, Debug)]
pub struct Tracing<'a> {
    /// Program of the plugin: the events to record.
    pub program: &'a TraceProgram,
    /// Receives the stream, see [`preemptlab_protocol::trace::stream`].
    pub out: &'a File,
}

/// Output of an executed cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Last message of the cell, which is never [`Message::Ready`].
    pub message: Message,
    /// The bytes of its messages as they came.
    pub said: Vec<u8>,
    /// Console of the guest, from the fork on.
    pub console: Vec<u8>,
    /// Conditions of the machine during the cell, where time is the machine's own.
    pub conditions: Option<Conditions>,
}

/// Reason why a boot or a cell has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The run was cancelled; nothing may be recorded.
    Cancelled,
    /// This cell cannot be executed, others may.
    Failed {
        /// Kind of the failure.
        cause: FailureCause,
        /// Failure, in words.
        reason: String,
        /// Console of the guest.
        console: Vec<u8>,
    },
    /// No cell can be executed: the disk is full, or QEMU cannot be started. The run must end.
    Host {
        /// Trouble of the host, in words.
        reason: String,
    },
}
