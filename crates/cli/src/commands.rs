//! One file a verb.

pub mod compare;
pub mod completions;
pub mod doctor;
pub mod explain;
pub mod kernels;
pub mod man;
pub mod plan;
pub mod run;
pub mod verify;
