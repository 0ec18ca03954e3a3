//! One cell, of which several folders may have a file.

use std::{fs, io, path::Path, sync::Mutex};

use preemptlab_model::{CellId, Outcome};
use preemptlab_recording::{Copied, RecordingError};

use crate::merge::{
    merged::{Conflict, Differing, Named, Overruled, Refused},
    source::Source,
};

/// Size from which only one cell at a time is in memory.
const LARGE_BYTES: u64 = 1 << 20;

/// Rank of an execution's outcome beside another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// The machine failed, which says nothing about the cell.
    Machine,
    /// The cell failed by itself.
    Failed,
    /// The cell is completed, or cannot exist.
    Settled,
}

impl Worth {
    fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Failed { cause, .. } if cause.depends_on_host() => Self::Machine,
            Outcome::Failed { .. } => Self::Failed,
            Outcome::Completed { .. } | Outcome::Unavailable { .. } => Self::Settled,
        }
    }
}

/// Execution that is worth the most so far, and the places in which its bytes were found.
struct Best {
    worth: Worth,
    bytes: Vec<u8>,
    places: Vec<usize>,
}

/// Content of the folders about a cell.
#[derive(Default)]
struct Found {
    best: Option<Best>,
    /// Executions that are worth less, and those that are worth as much and differ.
    others: Vec<(Worth, usize)>,
    refused: Vec<Refused>,
    /// Whether the recording has a file that cannot be read.
    is_broken: bool,
}

/// Outcome of a cell's merge.
#[derive(Default)]
pub struct CellMerged {
    pub was_there: bool,
    pub is_there: bool,
    pub is_taken: bool,
    pub is_trace_taken: bool,
    pub is_twice: bool,
    pub has_failed: bool,
    pub conflicts: Vec<Conflict>,
    pub overruled: Vec<Overruled>,
    pub refused: Vec<Refused>,
}

/// Takes a cell from the sources, of which the first is the recording.
pub fn merge_cell(
    cell: &Named,
    sources: &[Source],
    large: &Mutex<()>,
) -> Result<CellMerged, RecordingError> {
    let recorded = &sources[0];
    let mut found = Found::default();
    for (place, source) in sources.iter().enumerate() {
        if source.ids.contains(&cell.id)
            && let Err(error) = found.add(cell.id, place, sources, large)
        {
            found.is_broken |= place == 0;
            found.refused.push(error);
        }
    }
    let Found { best, others, refused, is_broken } = found;
    let mut merged =
        CellMerged { was_there: recorded.ids.contains(&cell.id), refused, ..Default::default() };
    let Some(best) = best else { return Ok(merged) };
    let path = |place: usize| sources[place].path.clone();
    let first = best.places[0];
    let is_recorded = first == 0;
    if best.worth > Worth::Machine
        && let Some((_, other)) = others.iter().find(|(worth, _)| *worth == best.worth)
    {
        // The recording was first, if it has the cell at all.
        merged.is_there = is_recorded;
        merged.has_failed = is_recorded && best.worth < Worth::Settled;
        merged.conflicts.push(Conflict {
            cell: cell.clone(),
            differing: Differing::Result,
            between: [path(first), path(*other)],
            is_recorded,
        });
        return Ok(merged);
    }
    let lesser = others.iter().filter(|(worth, _)| *worth < best.worth);
    merged.overruled.extend(lesser.clone().map(|(_, place)| Overruled {
        cell: cell.clone(),
        failed: path(*place),
        taken: path(first),
    }));
    merged.is_twice = best.places.iter().filter(|place| **place != 0).count() > 1;
    if is_broken {
        return Ok(merged);
    }
    if !is_recorded {
        if lesser.clone().any(|(_, place)| *place == 0) {
            recorded.cells.replace_file(cell.id, &best.bytes)?;
        } else {
            recorded.cells.put_file(cell.id, &best.bytes)?;
        }
        merged.is_taken = true;
    }
    merged.is_there = true;
    merged.has_failed = best.worth < Worth::Settled;
    drop(best.bytes);
    take_trace(cell, sources, &best.places, &mut merged)?;
    Ok(merged)
}

impl Found {
    /// Adds the content of a source.
    fn add(
        &mut self,
        id: CellId,
        place: usize,
        sources: &[Source],
        large: &Mutex<()>,
    ) -> Result<(), Refused> {
        let cells = &sources[place].cells;
        let path = cells.file(id);
        let refused = |error| Refused::of(&path, error);
        let Some(length) = length(&path)? else { return Ok(()) };
        let _one = (length > LARGE_BYTES).then(|| large.lock().expect("no worker panicked"));
        let Some(bytes) = cells.bytes(id).map_err(refused)? else { return Ok(()) };
        if let Some(best) = self.best.as_mut().filter(|best| best.bytes == bytes) {
            best.places.push(place);
            return Ok(());
        }
        let worth = Worth::of(&cells.check(id, bytes.clone()).map_err(refused)?.outcome);
        let is_better = match &self.best {
            None => true,
            // Of two failures of machines any will do: the recording's own, or else the least, whatever
            // the order of the parts.
            Some(best) if worth == Worth::Machine && best.worth == worth => {
                best.places[0] != 0 && bytes < best.bytes
            }
            Some(best) => worth > best.worth,
        };
        if !is_better {
            self.others.push((worth, place));
            return Ok(());
        }
        if let Some(before) = self.best.replace(Best { worth, bytes, places: vec![place] }) {
            self.others.extend(before.places.into_iter().map(|place| (before.worth, place)));
        }
        Ok(())
    }
}

/// Copies the trace of a cell, or its findings alone, from one of the places with the cell's bytes.
fn take_trace(
    cell: &Named,
    sources: &[Source],
    places: &[usize],
    merged: &mut CellMerged,
) -> Result<(), RecordingError> {
    let recorded = &sources[0];
    for source in places.iter().map(|place| &sources[*place]) {
        if !source.has_traces || source.path == recorded.path {
            continue;
        }
        let files = source.traces.files(cell.id);
        if let Some(refused) = files.iter().find_map(|file| length(file).err()) {
            merged.refused.push(refused);
            continue;
        }
        match recorded.traces.copy(cell.id, &source.traces) {
            Ok(Copied::New) => merged.is_trace_taken = source.traces.contains(cell.id),
            Ok(Copied::Absent | Copied::Same) => {}
            Ok(Copied::Other) => merged.conflicts.push(Conflict {
                cell: cell.clone(),
                differing: Differing::Trace,
                between: [recorded.path.clone(), source.path.clone()],
                is_recorded: true,
            }),
            Err(error) => merged.refused.push(source.refuse(recorded, error)?),
        }
    }
    Ok(())
}

impl Source {
    /// Returns the refusal of a file of this source; an error of the recording's files ends the merge.
    pub fn refuse(
        &self,
        recorded: &Self,
        error: RecordingError,
    ) -> Result<Refused, RecordingError> {
        match &error {
            RecordingError::Io { path, .. } if path.starts_with(recorded.traces.path()) => {
                Err(error)
            }
            _ => Ok(Refused::of(&self.path, error)),
        }
    }
}

/// Returns the size of a regular file, not of a link's target; `None` where there is no file.
pub fn length(path: &Path) -> Result<Option<u64>, Refused> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(Some(metadata.len())),
        Ok(metadata) => {
            let what = if metadata.is_symlink() { "a symbolic link" } else { "no regular file" };
            Err(Refused::new(path, format!("it is {what}")))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Refused::of(
            path,
            RecordingError::Io { action: "read", path: path.to_owned(), error },
        )),
    }
}
