//! Textbook situations of preemption: read from TOML, and judged after they were played. Nothing
//! here does I/O, and nothing plays: a [`Scenario`] holds the
//! [`Script`](preemptlab_protocol::script::Script) that the player in the guest gets, and [`outcome`] reads
//! the [`Played`](preemptlab_protocol::script::Played) that comes back.

mod check;
mod duration;
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
    Cause, Cycle, Link, Outcome, PlayedError, Resource, Stuck, StuckOn, ThreadOutcome, Wait,
    WaitKind, outcome,
};
pub use scenario::Scenario;
pub use score::{Column, Counts, Score, WaitScore, score};
