//! Runs the cells of a plan over the cores, and reports events as they happen.

mod backend;
mod cancel;
mod cell;
mod error;
mod event;
pub mod fake;
mod options;
mod outcome;
mod queue;
mod refused;
mod run;
mod sensitivity;
mod trace;
mod traces;
mod verify;
mod workers;

pub use backend::{Backend, Execution, Stop, Tracing};
pub use cancel::Cancel;
pub use cell::Cell;
pub use error::RunError;
pub use event::Event;
pub use options::{Options, Order, Summary};
pub use queue::Queue;
pub use run::{boots_waiting, run, work};
pub use sensitivity::{Narrowed, sensitivity};
pub use trace::trace;
pub use traces::{Kept, KernelOf, Traces, Untraceable};
pub use verify::{Verdict, against, verify};
