//! A trace in the formats of other tools.
//!
//! Each export is one pass, in memory that does not grow with the length of the trace. Exports add
//! nothing to the trace:
//!
//! - Arguments and results of system calls are not recorded, and so are not written.
//! - Whether a task that gives the CPU up sleeps or only waits for its turn is not recorded either,
//!   but follows from how the scheduler was called: see [`observe`](crate::observe).
//! - Until the first return to user space on a CPU its preemption count is unknown, and until its
//!   first switch so is its task.

mod ftrace_text;
mod in_order;
mod perfetto;
mod proto;
#[cfg(test)]
mod tests;

use std::io;

use crate::decode::TraceError;

pub use ftrace_text::ftrace_text;
pub use perfetto::perfetto;

/// Reason why a trace cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The other end takes no more.
    #[error("the export cannot be written: {0}")]
    Write(#[from] io::Error),
}
