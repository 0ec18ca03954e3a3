//! Recordings: folders that hold an experiment, its plan and its finished cells.
//!
//! ```text
//! RUN/recording.json    the Manifest: experiment, kernels, QEMU, images, plan
//! RUN/cells/ID.json     one CellRecord per executed cell
//! RUN/until.json        of a run with --until: until when replicates are added
//! RUN/looks/NNN.json    the cells that were added after the results had been looked at NNN times
//! RUN/folders/          of the users' own workloads: SHA256.tar.zst, the files of a folder
//! RUN/traces/           of cells in virtual time: ID.findings.zst, the findings of the stream, or
//!                       ID.unmeasured.zst, the reason why there is none; of cells that were traced:
//!                       ID.trace.zst, the stream; of their boots: ID.layout.zst, the kernel's symbols
//!                       and probes, with which traces are read
//! ```
//!
//! A part, which one of several machines makes, holds the cells of one shard of the plan:
//!
//! ```text
//! PART/part.json        the PartOf: the digest of recording.json, the look, the shard
//! PART/cells/, traces/  as in the recording
//! ```
//!
//! A recording holds no host time and no path, so two runs of one plan are equal byte for byte. It
//! can be copied to any machine and read there. Files appear whole or not at all, and name or hold a
//! digest of their content, which is checked whenever they are read.

mod cells;
mod error;
mod folders;
mod json;
mod looks;
mod manifest;
mod packed;
mod part;
mod recording;
mod traces;

pub use cells::CellFolder;
pub use error::RecordingError;
pub use looks::Until;
pub use manifest::{Image, Manifest, Override, QemuUsed, Subject};
pub use packed::Copied;
pub use part::{Part, PartOf, PartWriter, is_written, manifest_sha256, remove_part};
pub use recording::{Claim, Recording, RecordingWriter, exists};
pub use traces::TraceFolder;
