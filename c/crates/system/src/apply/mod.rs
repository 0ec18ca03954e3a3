//! Applies settings to a machine, reverts them, and checks whether they took effect.
//!
//! [`Loader`] finds the boot loader, [`apply`] and [`revert`] plan a change, [`commit`] executes a
//! plan, and [`effects`] observes the kernel.
//!
//! Invariants:
//!
//! - The whole change is known, and can be shown, before the first file is touched.
//! - A boot at any moment finds the old settings or the new ones. A [`Journal`] holds the bytes of
//!   before and after, so the next process can undo an unfinished change ([`roll_back`]).
//! - Reverting gives back every byte that only this module changed.
//! - Every function takes a [`Machine`], which is `/` or the root folder of an image.
//!
//! The settings come from [`tune`](crate::tune), which has checked them, and the facts from
//! [`host`](crate::host).

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
