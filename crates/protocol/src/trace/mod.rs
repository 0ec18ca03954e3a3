//! What the host asks of the tracing plugin, and what the plugin writes.
//!
//! The plugin knows nothing of Linux. The host, which has read the guest's kallsyms and BTF, hands
//! it a [`TraceProgram`]; the plugin answers with a stream (see [`stream`]).

mod program;
pub mod stream;

pub use program::{Inject, Only, Operand, Probe, Register, TaskLayout, TraceProgram, Zoom};
