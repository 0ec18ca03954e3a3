//! Answers questions about recordings, with values for printing.
//!
//! Everything here reads recordings alone: nothing executes a cell, prints, or reads the
//! environment, and there is one error type. `crates/cli/tests/architecture.rs` checks that this crate
//! depends on no crate that executes.

pub mod advice;
mod atlas;
pub mod available;
pub mod bisection;
pub mod boot_kernels;
pub mod cells;
mod compared;
pub mod disturbed;
mod error;
pub mod explain;
pub mod gate;
pub mod histograms;
mod history;
pub mod looks;
pub mod meant;
pub mod mixed;
mod moment;
pub mod named;
pub mod offers;
pub mod plan;
pub mod recommendation;
pub mod repeated;
pub mod results;
pub mod sampled;
pub mod scenario;
mod sensitivity;
pub mod shown;
pub mod timings;
pub mod traceable;
pub mod unsound;
pub mod verification;
pub mod wakeup;
mod what_if;

pub use atlas::{Atlas, AtlasCell, AtlasConfiguration, AtlasLoad, AtlasSection, Class, Longest};
pub use cells::{Cells, Keep};
pub use compared::{Compared, GivenRule, Notice, comparison, margins};
pub use error::{Error, Result};
pub use history::history;
pub use moment::{Moment, in_ms, in_us};
pub use sensitivity::sensitivity;
pub use what_if::WhatIf;
