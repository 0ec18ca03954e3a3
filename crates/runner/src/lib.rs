//! Runs the cells of a plan over the cores, and says what happens as it happens.

mod backend;
mod cancel;
mod event;
pub mod fake;
mod outcome;
mod queue;
mod run;
mod trace;
mod verify;

pub use backend::{Backend, Execution, Stop, Tracing};
pub use cancel::Cancel;
pub use event::Event;
pub use run::{Options, Order, RunError, Summary, boots_waiting, run};
pub use trace::{KernelOf, Traces, Untraceable, trace};
pub use verify::{Verdict, against, verify};
