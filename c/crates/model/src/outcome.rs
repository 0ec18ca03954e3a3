use std::fmt;

use preemptlab_protocol::{Report, System};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{CellId, CellInputs, Conditions, Digest};

/// Outcome of a cell that was executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Outcome {
    /// The cell ran to its end, and its workload's results can be read.
    Completed {
        /// Digest of everything that the guest wrote: its messages and its console.
        digest: Digest,
        /// Report of the guest.
        report: Box<Report>,
    },
    /// The cell was executed, at least in part, and has no results.
    Failed {
        /// Kind of the failure.
        cause: FailureCause,
        /// Failure, in words.
        reason: String,
    },
    /// The cell cannot exist: the kernel does not offer its mode or a setting.
    Unavailable {
        /// Reason, in words.
        reason: String,
        /// The system that said so; `None` when the kernel's config did, before any boot.
        system: Option<Box<System>>,
    },
}

impl Outcome {
    /// Returns the digest of a completed cell.
    pub fn digest(&self) -> Option<Digest> {
        match self {
            Self::Completed { digest, .. } => Some(*digest),
            Self::Failed { .. } | Self::Unavailable { .. } => None,
        }
    }
}

/// Reason why a planned cell has no metrics. A cell that has some is completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
#[serde(tag = "status", content = "reason", rename_all = "snake_case")]
pub enum NoResult {
    /// The cell was executed, at least in part, and failed for this reason.
    Failed(String),
    /// The cell cannot exist, for this reason.
    Unavailable(String),
    /// The cell was not executed yet.
    Missing,
}

impl NoResult {
    /// Returns the status of a cell that has metrics, or lacks them for this reason: `completed`,
    /// `failed`, `unavailable` or `missing`.
    pub const fn status(of: Option<&Self>) -> &'static str {
        match of {
            None => "completed",
            Some(Self::Failed(_)) => "failed",
            Some(Self::Unavailable(_)) => "unavailable",
            Some(Self::Missing) => "missing",
        }
    }

    /// Returns the reason in words; `None` for a cell that was not executed yet.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Failed(reason) | Self::Unavailable(reason) => Some(reason),
            Self::Missing => None,
        }
    }
}

impl fmt::Display for NoResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason().unwrap_or("not executed yet"))
    }
}

/// The kinds of failed cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// The kernel did not reach the guest's init, or its init failed.
    Boot,
    /// The kernel panicked or reset the machine.
    Panic,
    /// A task was killed for want of memory.
    OutOfMemory,
    /// The guest used up its virtual time, or hung.
    VirtualTimeLimit,
    /// The host gave up waiting. This depends on the host's speed, so it is not cached.
    WallTimeLimit,
    /// QEMU ended in a way that it should not.
    Qemu,
    /// The workload failed, or its results cannot be used.
    Workload,
    /// A trace was wanted, and its kernel cannot be traced. Without one the cell may complete.
    Trace,
}

impl FailureCause {
    /// Returns whether executing the cell again, elsewhere or later, could give another outcome.
    pub const fn depends_on_host(self) -> bool {
        matches!(self, Self::WallTimeLimit | Self::Qemu | Self::Trace)
    }
}

/// A finished cell, as a recording and the cache hold it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellRecord {
    /// See [`RECORDING_FORMAT`](crate::RECORDING_FORMAT).
    pub format: u32,
    /// Identity of the cell.
    pub id: CellId,
    /// Inputs of the cell.
    pub inputs: CellInputs,
    /// The last lines of the guest's console; a healthy guest says nothing there.
    pub console: Vec<String>,
    /// Conditions of the machine; `None` in virtual time, which no machine can affect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Box<Conditions>>,
    /// Outcome of the cell.
    pub outcome: Outcome,
}
