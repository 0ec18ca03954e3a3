//! Folders that cells are taken from.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use preemptlab_model::{CellId, Digest};
use preemptlab_recording::{
    CellFolder, Part, PartOf, RecordingError, TraceFolder, exists, manifest_sha256,
};

use crate::{Workplace, merge::merged::Refused};

/// Most files of a folder that is searched.
const FILES_MAX: usize = 1 << 20;

/// Folder of cells of one plan.
#[derive(Debug)]
pub struct Source {
    pub path: PathBuf,
    /// The recording of a part; `None` for a recording.
    pub of: Option<PartOf>,
    pub cells: CellFolder,
    pub traces: TraceFolder,
    pub has_traces: bool,
    /// Cells of the plan that it has.
    pub ids: BTreeSet<CellId>,
}

/// The plan that cells must be of.
#[derive(Debug)]
pub struct Wanted<'a> {
    pub recording: &'a Path,
    pub manifest_sha256: Digest,
    /// Whether the files of cells name their digest.
    pub is_sealed: bool,
    /// Number of the newest look.
    pub look: u32,
    pub ids: &'a BTreeSet<CellId>,
}

impl Wanted<'_> {
    /// Returns the recording itself as a source.
    pub fn recording(&self, traces: TraceFolder) -> Result<Source, RecordingError> {
        let cells = CellFolder::new(self.recording.join("cells"));
        let ids = cells.ids(FILES_MAX)?.into_iter().filter(|id| self.ids.contains(id)).collect();
        let (path, has_traces) = (self.recording.to_owned(), traces.exists());
        Ok(Source { path, of: None, cells, traces, has_traces, ids })
    }

    /// Opens a part, or an ordinary recording of the same plan. `None` for a part that has not begun.
    /// Cells that are not of the plan are refused, the others taken.
    pub fn open(&self, path: &Path, refused: &mut Vec<Refused>) -> Result<Option<Source>, Refused> {
        let no = |reason: String| Refused::new(path, reason);
        if !path.is_dir() {
            return Err(no("there is no such folder".to_owned()));
        }
        let folder = |error| Refused::of(path, error);
        let of = match Part::open(path).map_err(folder)? {
            Some(part) => Some(part.of().clone()),
            None if exists(path) => None,
            None if is_empty(path) => return Ok(None),
            None => {
                let reason = "it is neither a part nor a recording: it has no part.json";
                return Err(no(reason.to_owned()));
            }
        };
        let found = match &of {
            Some(of) => of.manifest_sha256,
            None => manifest_sha256(path).map_err(folder)?,
        };
        if found != self.manifest_sha256 {
            let kind = if of.is_some() { "a part of another recording" } else { "of another plan" };
            return Err(no(format!(
                "it is {kind}: its recording.json is {}, that of {} is {}",
                found.short(),
                self.recording.display(),
                self.manifest_sha256.short()
            )));
        }
        if let Some(look) = of.as_ref().map(|of| of.look).filter(|look| *look > self.look) {
            return Err(no(format!(
                "its cells were planned by look {look}, and {} has {} so far",
                self.recording.display(),
                self.look
            )));
        }
        let cells = path.join("cells");
        let cells = match self.is_sealed {
            true => CellFolder::of_store(cells),
            false => CellFolder::new(cells),
        };
        let traces = TraceFolder::new(path.join("traces"));
        let (ids, others): (BTreeSet<_>, BTreeSet<_>) =
            cells.ids(FILES_MAX).map_err(folder)?.into_iter().partition(|id| self.ids.contains(id));
        if let Some(first) = others.first() {
            let reason = format!(
                "{} has no such cell in its plan{}",
                self.recording.display(),
                match others.len() {
                    1 => String::new(),
                    count => format!(", nor {} others of this folder", count - 1),
                }
            );
            refused.push(Refused::new(&cells.file(*first), reason));
        }
        let (path, has_traces) = (path.to_owned(), traces.exists());
        Ok(Some(Source { path, of, cells, traces, has_traces, ids }))
    }
}

impl Refused {
    /// Returns the refusal of a path for its content.
    pub(crate) fn new(path: &Path, reason: String) -> Self {
        Self { path: path.to_owned(), reason, is_of_machine: false }
    }

    /// Returns the refusal of a path that led to an error.
    pub(crate) fn of(path: &Path, error: RecordingError) -> Self {
        let is_of_machine = matches!(error, RecordingError::Io { .. });
        let (path, reason) = match error {
            RecordingError::Damaged { path, reason } => (path, format!("it is damaged: {reason}")),
            RecordingError::Io { action, path, error } => {
                (path, format!("this machine cannot {action} it: {error}"))
            }
            error => (path.to_owned(), error.to_string()),
        };
        Self { path, reason, is_of_machine }
    }
}

/// Returns whether a folder holds nothing, or only the lock and the drafts of a worker that begins.
fn is_empty(path: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(path) else { return false };
    entries.all(|entry| {
        entry.is_ok_and(|entry| entry.file_name().as_encoded_bytes().starts_with(b"."))
    })
}

/// Lists the folders of the parts beside a recording, in the order of their names.
///
/// # Errors
///
/// When the folder of the parts cannot be read.
pub fn parts(workplace: &Workplace) -> Result<Vec<PathBuf>, RecordingError> {
    let folder = workplace.parts();
    let failed = |error| RecordingError::Io { action: "read", path: folder.clone(), error };
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut parts = Vec::new();
    for (number, entry) in entries.enumerate() {
        if number >= FILES_MAX {
            let reason = format!("it holds more than {FILES_MAX} entries");
            return Err(RecordingError::Damaged { path: folder, reason });
        }
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            parts.push(path);
        }
    }
    parts.sort_unstable();
    Ok(parts)
}
