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
    merge::{self, parts},
};
use preemptlab_experiment::RecordingWriter;
use preemptlab_recording::{RecordingError, remove_part};

use crate::{
    commands::merge::{code, tell},
    exit::{self, OrExit},
    output::Output,
};

/// How long a task that has finished its cells may take to end.
const END_WALL: Duration = Duration::from_secs(10);

/// Interval at which the end of a task is looked for.
const PAUSE: Duration = Duration::from_millis(100);

/// Joins the parts beside a recording to it. Says nothing where all is as it should be, but for missing
/// cells, which are the caller's to judge.
pub fn join(writer: &RecordingWriter, output: &Output) -> exit::Result<()> {
    let recording = writer.recording().path();
    let merged = merge::merge(writer, &parts(&Workplace::of(recording))?)?;
    let is_sound = merged.refused.is_empty() && merged.conflicts.is_empty();
    if !is_sound || !merged.overruled.is_empty() {
        tell(&merged, recording, output);
    }
    match is_sound {
        true => Ok(()),
        false => Err(exit::failure(
            code(&merged),
            "some parts were not joined as they are; after that is mended the same command goes on",
        )),
    }
}

/// Removes the seed and the parts, whose cells are in the recording. The jobs' numbers and what their
/// tasks printed stay.
pub fn clear(recording: &Path, output: &Output) -> exit::Result<()> {
    let began = Instant::now();
    let workplace = Workplace::of(recording);
    for part in parts(&workplace)? {
        // Nothing is removed through a link.
        let own = workplace.folder().join("parts").join(part.file_name().unwrap_or_default());
        if let Err(error) = own.make() {
            output.note(format!("left where it is: {error}"));
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
                    output.note(format!("left where it is: {error}"));
                    break;
                }
            }
        }
    }
    // A folder that is not empty stays.
    let _ = fs::remove_dir(workplace.parts());
    match fs::remove_file(workplace.seed()) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).or_exit(exit::HOST),
        _ => Ok(()),
    }
}
