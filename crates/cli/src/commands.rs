//! One file a verb, with a folder for its own verbs.

pub mod bisect;
pub mod cluster;
pub mod compare;
pub mod explain;
pub mod export;
pub mod gate;
pub mod kernels;
pub mod recommend;
pub mod run;
pub mod system;
pub mod util;
pub mod verify;
