//! What executes a cell.

use std::fs::File;

use preemptlab_model::{CellInputs, Conditions, FailureCause, SnapshotInputs};
use preemptlab_protocol::{Message, trace::TraceProgram};

use crate::Cancel;

/// Executes boots and cells. One backend serves every worker thread.
pub trait Backend: Sync {
    /// Makes sure that cells with these inputs can be forked. Booting takes seconds; a snapshot
    /// that exists already takes nothing.
    ///
    /// # Errors
    ///
    /// [`Stop`].
    fn prepare(&self, snapshot: &SnapshotInputs, cancel: &Cancel) -> Result<(), Stop>;

    /// What has to be booted before a cell can be executed, in words; `None` where it can be now,
    /// as every cell of a virtual machine can.
    fn boot_needed(&self, _: &CellInputs) -> Option<String> {
        None
    }

    /// Executes one cell whose snapshot was prepared. Tracing changes nothing about it.
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

/// What to record of an execution besides what it says.
#[derive(Clone, Copy, Debug)]
pub struct Tracing<'a> {
    /// What to record.
    pub program: &'a TraceProgram,
    /// Receives the stream, see [`preemptlab_protocol::trace::stream`].
    pub out: &'a File,
}

/// What an executed cell said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Its last message, which is never [`Message::Ready`].
    pub message: Message,
    /// The bytes of its messages as they came.
    pub said: Vec<u8>,
    /// Its console, from the fork on.
    pub console: Vec<u8>,
    /// What the machine did to it, where time is the machine's own.
    pub conditions: Option<Conditions>,
}

/// Why a boot or a cell has nothing to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The run was cancelled; nothing may be recorded.
    Cancelled,
    /// This cell cannot be executed, the others may.
    Failed {
        /// What kind of trouble it was.
        cause: FailureCause,
        /// What went wrong, in words.
        reason: String,
        /// The guest's console.
        console: Vec<u8>,
    },
    /// No cell can be executed: the disk is full, QEMU cannot be started. The run must end.
    Host {
        /// What went wrong, in words.
        reason: String,
    },
}
