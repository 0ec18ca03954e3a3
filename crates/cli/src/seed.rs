//! The seed beside a recording.

use std::path::{Path, PathBuf};

use preemptlab_cluster::Workplace;
use preemptlab_lab::Prepared;
use preemptlab_recording::RecordingError;

use crate::{exit, output::Output};

/// Packs what workers need, unless this build of preemptlab has done so before; returns the file.
pub fn pack(prepared: &Prepared, recording: &Path, output: &Output) -> exit::Result<PathBuf> {
    let workplace = Workplace::of(recording);
    let seed = workplace.seed();
    if !preemptlab_lab::is_seed_of(&seed, recording) {
        output.note(format!("packing {}", seed.display()));
        workplace.folder().make().map_err(RecordingError::from)?;
        prepared.pack_seed(recording, &seed)?;
    }
    Ok(seed)
}
