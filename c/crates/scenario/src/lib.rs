//! Reads textbook situations of preemption from TOML, and judges them after they were played.
//!
//! A [`Scenario`] holds the [`Script`](preemptlab_protocol::script::Script) that the player in the
//! guest gets. [`outcome`] reads the [`Played`](preemptlab_protocol::script::Played) that comes
//! back, and [`check`] compares the outcome with the scenario's expectations.
//!
//! Invariants: nothing here does I/O or executes a scenario. A [`Scenario`] can be played on
//! kernels with and without `PREEMPT_RT`: reading refuses nestings that either forbids. A report of
//! the player comes from a guest, so every contradiction in it is an error.
//!
//! This crate depends on `model` and `protocol` only.
//!
//! ```
//! use preemptlab_scenario::Scenario;
//!
//! let scenario = Scenario::parse(
//!     r#"
//! format = 1
//! name = "nap"
//! end = "10ms"
//! [thread.a]
//! steps = [{ sleep = "1ms" }, { busy = "2ms" }]
//! "#,
//! )?;
//! assert_eq!(scenario.name(), "nap");
//! assert!(!scenario.needs_module());
//!
//! let error = Scenario::parse("format = 1\nname = \"nap\"\nedn = \"10ms\"\n").unwrap_err();
//! assert!(error.to_string().contains("edn"));
//! # Ok::<(), preemptlab_scenario::ScenarioError>(())
//! ```

mod check;
mod error;
mod expectation;
mod model;
mod names;
mod outcome;
mod read;
mod scenario;
mod score;

pub use check::{Checked, Value, check};
pub use error::ScenarioError;
pub use expectation::{Expectation, Expected};
pub use model::{Model, ParseModelError};
pub use names::LockClass;
pub use outcome::{
    BlockedOn, Cause, Cycle, Link, Outcome, PlayedError, Resource, Stuck, StuckOn, ThreadOutcome,
    Wait, WaitKind, outcome,
};
pub use scenario::{Scenario, Variant};
pub use score::{Column, Counts, Score, WaitScore, score};
