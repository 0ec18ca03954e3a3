//! Settings on this machine: what its boot loader is, what would change, changing it so that a boot
//! always finds the old settings or the new ones, taking it back, and whether it took effect.

mod contents;
mod diff;
mod effect;
mod error;
mod files;
mod generated;
mod journal;
mod kernels;
mod loader;
mod lock;
mod machine;
mod plan;
mod revert;
mod run_time;
mod transaction;

pub use contents::Contents;
pub use diff::unified;
pub use effect::{Effect, State, effects};
pub use error::{Error, Result};
pub use journal::{Applied, Change, Journal, Kept, Kind, Transaction};
pub use kernels::facts;
pub use loader::Loader;
pub use lock::Lock;
pub use machine::Machine;
pub use plan::{Plan, apply};
pub use revert::revert;
pub use run_time::Write;
pub use transaction::{commit, roll_back};
