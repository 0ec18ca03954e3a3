//! One file a verb.

pub mod apply;
pub mod bisect;
pub mod calibrate;
pub mod census;
pub mod change;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod explain;
pub mod export;
pub mod gate;
pub mod history;
pub mod kernels;
pub mod man;
pub mod merge;
pub mod plan;
pub mod recommend;
pub mod report;
pub mod revert;
pub mod run;
pub mod scenario;
pub mod search;
pub mod verify;
