//! Cells, recordings, traces and packages that tests are made of.

mod cell;
pub mod packages;
pub mod recorded;
#[cfg(feature = "traced")]
pub mod traced;

use std::path::{Path, PathBuf};

pub use cell::{cell, machine};

/// Returns the folder of the committed recording.
pub fn committed_recording() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/check")
}
