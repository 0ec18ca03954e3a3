//! Rounds over an engine that people have already: which shards to submit, which cells are missing,
//! when to submit again.
//!
//! An engine is only asked to start and to cancel tasks, and whether they are still there. The files
//! of cells in the parts tell which cells are finished: an engine that calls a task failed although it
//! ended its work changes nothing, nor does one that forgets its tasks.

mod error;
mod interface;
mod jobs;
mod lacking;
mod log;
mod round;
mod shards;

pub use error::{EngineError, RoundError};
pub use interface::{Engine, EngineKind, JobId, State, Submission, Work};
pub use jobs::{Jobs, Submitted, Who};
pub use lacking::Finished;
pub use log::last_words;
pub use round::{End, Event, Pace, Round, Wish};
pub use shards::{ParseShardListError, ShardList};
