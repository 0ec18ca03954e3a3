//! The seed beside a recording.

use std::path::{Path, PathBuf};

use preemptlab_cluster::Workplace;
use preemptlab_recording::RecordingError;

use crate::{Lab, Prepared, Result, is_seed_of};

/// Packs the files that workers need, unless this build of preemptlab has done so before; returns
/// the file.
pub(crate) fn pack(lab: &Lab<'_>, prepared: &Prepared, recording: &Path) -> Result<PathBuf> {
    let workplace = Workplace::of(recording);
    let seed = workplace.seed();
    if !is_seed_of(&seed, recording) {
        lab.note(format!("packing {}", seed.display()));
        workplace.folder().make().map_err(RecordingError::from)?;
        prepared.pack_seed(recording, &seed)?;
    }
    Ok(seed)
}
