//! The files of this machine that workers on other machines need.

use std::path::PathBuf;

use preemptlab_experiment::RecordingWriter;

use crate::{Execution, Lab, PrepareError, Result, execution::prepare, seed};

/// Continues a recording, or begins it, and packs the files that its workers need; returns the
/// archive.
///
/// # Errors
///
/// When the cells are not in virtual time, or something that they need is unavailable or cannot be
/// written.
pub fn prepare_for_workers(
    lab: &Lab<'_>,
    execution: &Execution<'_>,
) -> Result<(RecordingWriter, PathBuf)> {
    if !execution.backend.is_vm() {
        return Err(PrepareError::NotSpread.into());
    }
    let (prepared, writer) = prepare(lab, execution)?;
    let seed = seed::pack(lab, &prepared, writer.recording().path())?;
    Ok((writer, seed))
}
