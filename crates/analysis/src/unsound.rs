//! Cells in whose trace the bound is below an observed latency.

use preemptlab_experiment::Recording;
use preemptlab_recording::RecordingError;

use crate::measured;

/// Reason why the bound does not hold where a wakeup was later.
pub const UNSOUND: &str = "a wakeup waited for more than the longest stretch and a switch";

/// Counts the traced cells of each recording whose bound is only what was observed; names no recording
/// where every bound is sound.
///
/// # Errors
///
/// When a cell or its findings cannot be read.
pub fn notes(recordings: &[&Recording]) -> Result<Vec<String>, RecordingError> {
    let mut notes = Vec::new();
    for recording in recordings.iter().filter(|recording| recording.traces().exists()) {
        let (mut traced, mut unsound) = (0_usize, 0_usize);
        measured::for_each(&[recording], |reading| {
            let Some(bound) = reading.result.ok().and_then(|measured| measured.bound) else {
                return;
            };
            traced += 1;
            unsound += usize::from(!bound.is_sound());
        })?;
        if unsound > 0 {
            notes.push(format!(
                "{}: in {unsound} of {traced} cells latency.worst is what was observed and \
                 bounds nothing: {UNSOUND}",
                recording.path().display()
            ));
        }
    }
    Ok(notes)
}
