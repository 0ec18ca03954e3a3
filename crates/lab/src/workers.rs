//! What workers on other machines need of this one.

use std::path::{Path, PathBuf};

use preemptlab_cluster::Workplace;
use preemptlab_experiment::RecordingWriter;
use preemptlab_recording::RecordingError;

use crate::{Execution, Lab, PrepareError, Prepared, Result, execution, is_seed_of};

/// Goes on with a recording, or begins it, and packs what its workers need; returns the file.
///
/// # Errors
///
/// When the cells are none in virtual time, or something that they need cannot be had or written.
pub fn prepare_for_workers(
    lab: &Lab<'_>,
    execution: &Execution<'_>,
) -> Result<(RecordingWriter, PathBuf)> {
    if !execution.backend.is_vm() {
        return Err(PrepareError::NotSpread.into());
    }
    let (prepared, writer) = execution::prepare(lab, execution)?;
    let seed = pack_seed(lab, &prepared, writer.recording().path())?;
    Ok((writer, seed))
}

/// Packs what workers need, unless this build of preemptlab has done so before; returns the file.
pub(crate) fn pack_seed(lab: &Lab<'_>, prepared: &Prepared, recording: &Path) -> Result<PathBuf> {
    let workplace = Workplace::of(recording);
    let seed = workplace.seed();
    if !is_seed_of(&seed, recording) {
        lab.note(format!("packing {}", seed.display()));
        workplace.folder().make().map_err(RecordingError::from)?;
        prepared.pack_seed(recording, &seed)?;
    }
    Ok(seed)
}
