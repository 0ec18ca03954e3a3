//! Recordings: folders that hold an experiment, its plan and its finished cells.
//!
//! ```text
//! RUN/recording.json    the Manifest: experiment, kernels, QEMU, images, plan
//! RUN/cells/ID.json     one CellRecord per executed cell
//! ```
//!
//! A recording holds no host time and no path, so two runs of one plan are equal byte for byte. It
//! can be copied to any machine and read there. Files appear whole or not at all.

mod cells;
mod error;
mod manifest;
mod recording;

pub use cells::CellFolder;
pub use error::RecordingError;
pub use manifest::{Image, Manifest, QemuUsed};
pub use recording::{Recording, RecordingWriter};
