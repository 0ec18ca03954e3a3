//! Answers questions about recordings, with values for whoever prints them.
//!
//! Everything here reads recordings alone: nothing executes a cell, prints, or reads the
//! environment, and there is one error type. `crates/cli/tests/architecture.rs` checks that this crate
//! depends on no crate that executes.

pub mod advice;
pub mod available;
pub mod boot_kernels;
pub mod disturbed;
mod error;
pub mod explain;
pub mod looks;
pub mod measured;
pub mod mixed;
mod moment;
pub mod named;
pub mod offers;
pub mod plan;
pub mod scenario;
pub mod traceable;
pub mod unsound;

pub use error::{Error, Result};
pub use moment::Moment;
