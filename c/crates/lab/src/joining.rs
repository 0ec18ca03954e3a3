//! Parts are joined to their recording in the course of a command, and removed.

use std::{
    fs,
    io::ErrorKind,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use preemptlab_cluster::{
    Workplace,
    merge::{self, Merged, parts},
};
use preemptlab_experiment::RecordingWriter;
use preemptlab_recording::{RecordingError, remove_part};

use crate::{Blame, Error, Event, Lab, OrBlame, Result};

/// How long a task that has finished its cells may take to end.
const END_WALL: Duration = Duration::from_secs(10);

/// Interval at which the end of a task is looked for.
const PAUSE: Duration = Duration::from_millis(100);

/// Returns whose fault it is that parts were not all joined, or that their recording lacks cells: two results
/// first, then parts that could not be used, then cells. `None` where all is as it should be.
pub fn blame_of(merged: &Merged) -> Option<Blame> {
    if !merged.conflicts.is_empty() {
        Some(Blame::No)
    } else if merged.refused.iter().any(|refused| !refused.is_of_machine) {
        Some(Blame::User)
    } else if !merged.refused.is_empty() {
        Some(Blame::Machine)
    } else if !merged.missing.is_empty() || merged.failed > 0 {
        Some(Blame::Cells)
    } else {
        None
    }
}

/// Joins the parts beside a recording to it. Says nothing where all is as it should be, but for missing
/// cells, which are the caller's to judge.
pub(crate) fn join(lab: &Lab<'_>, writer: &RecordingWriter) -> Result<()> {
    let recording = writer.recording().path();
    let merged = merge::merge(writer, &parts(&Workplace::of(recording))?)?;
    let is_sound = merged.refused.is_empty() && merged.conflicts.is_empty();
    if !is_sound || !merged.overruled.is_empty() {
        lab.watch.on(Event::Merged { merged: &merged, recording });
    }
    match blame_of(&merged).filter(|_| !is_sound) {
        None => Ok(()),
        Some(blame) => Err(Error::new(
            blame,
            "some parts were not joined as they are; after that is mended the same command resumes",
        )),
    }
}

/// Removes the seed and the parts, whose cells are in the recording. The jobs' numbers and the output
/// of their tasks stay.
pub(crate) fn clear(lab: &Lab<'_>, recording: &Path) -> Result<()> {
    let began = Instant::now();
    let workplace = Workplace::of(recording);
    for part in parts(&workplace)? {
        // Nothing is removed through a link.
        let own = workplace.folder().join("parts").join(part.file_name().unwrap_or_default());
        if let Err(error) = own.make() {
            lab.note(format!("left where it is: {error}"));
            continue;
        }
        loop {
            match remove_part(&part) {
                Ok(()) => break,
                Err(RecordingError::Busy { .. }) if began.elapsed() < END_WALL => {
                    thread::sleep(PAUSE);
                }
                // It disturbs nothing.
                Err(error) => {
                    lab.note(format!("left where it is: {error}"));
                    break;
                }
            }
        }
    }
    // A folder that is not empty stays.
    let _ = fs::remove_dir(workplace.parts());
    match fs::remove_file(workplace.seed()) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).or_blame(Blame::Machine),
        _ => Ok(()),
    }
}
