//! Spreads a recording over several machines: cuts its plan into shards, and says where their parts are.
//!
//! A worker executes a shard into a part of its own; parts are joined again to the recording that one
//! machine would have made, byte for byte.
//!
//! Invariants: shards follow from the plan and their number alone, never from the finished cells, so
//! that workers need not speak with each other. Nothing of how the cells were spread becomes a part of
//! the recording.
//!
//! This crate depends on `files`, `model` and `recording`; it executes no cell.

mod command;
mod cut;
pub mod emit;
pub mod engine;
pub mod kubernetes;
pub mod merge;
pub mod slurm;
mod variables;
mod workplace;

pub use cut::{BootCells, Cut, newest, shards_for};
pub use variables::{VariablesError, shard_of_variables};
pub use workplace::Workplace;
