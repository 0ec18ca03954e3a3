//! Executes experiments: every action of the command line as a function from a request to a value.
//!
//! A [`Lab`] is the machine on which an action takes place. An observer hears of each [`Event`]. An
//! [`Error`] says whose fault it is. Nothing here prints, reads the environment or knows a command line.

mod bench;
pub mod bisect;
mod budget;
mod calibration;
mod capsule;
mod children;
mod config;
mod error;
mod event;
mod execution;
mod gate;
mod joining;
mod lab;
mod looks;
mod meter;
mod prepare;
mod search;
mod seed;
mod shard;
mod spread;
#[cfg(test)]
mod testing;
mod tracing;
mod twice;
mod until;
mod verify;
mod volume;
mod wanted;
mod workers;

pub use budget::Budget;
pub use calibration::{Between, Calibrated, calibrate};
pub use capsule::{Capsule, pack};
pub use children::ended_when;
pub use config::{Assignment, Config, Places};
pub use error::{Blame, Error, Mistake, OrBlame, Result};
pub use event::{Asked, Change, Event, Left, Look, Part, Then, Watch};
pub use execution::{Executed, Execution, Ran, execute, run, submit};
pub use gate::{GateExperiment, GateRequest, LABELS, gate};
pub use joining::blame_of;
pub use lab::{Lab, chosen};
pub use meter::pressure;
pub use prepare::{
    Build, EmbedError, Kernels, Preparation, PrepareError, Prepared, WriteError, Written,
    check_host, cost, embed, finished_cells, from_seed, is_seed_of, write_repeated,
};
pub use search::search;
pub use shard::{ShardDone, ShardWork, shard};
pub use spread::{OnEngine, Place};
pub use tracing::{Executor, Tracing};
pub use twice::Twice;
pub use until::UntilDecided;
pub use verify::{sensitivity, verify, verify_elsewhere};
pub use volume::Volume;
pub use wanted::{Wanted, kernel_level, read};
pub use workers::prepare_for_workers;
