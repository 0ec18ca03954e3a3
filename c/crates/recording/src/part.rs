//! The part of a recording that one machine makes.

use std::{
    fs,
    path::{Path, PathBuf},
};

use preemptlab_files::{FolderLock, Lock, OutFolder};
use preemptlab_model::{CellId, CellRecord, Digest, RECORDING_FORMAT, Shard};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    CellFolder, Recording, RecordingError, RecordingWriter, TraceFolder,
    cells::create_folder,
    json::{Bounds, PLAN_BOUNDS, read_json, write_json},
    recording::{CELLS, MANIFEST, TRACES, lock},
};

const PART: &str = "part.json";

/// Some 200 bytes.
const BOUNDS: Bounds = Bounds { bytes: 4 << 10, values: 64 };

/// Most files that a part's folder of cells is searched for.
const CELLS_MAX: usize = 1 << 20;

/// The recording, look and shard of a part. A part has no manifest of its own: a thousand parts of a
/// large plan stay small.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartOf {
    /// See [`RECORDING_FORMAT`].
    pub format: u32,
    /// SHA-256 of the recording's manifest, the file.
    pub manifest_sha256: Digest,
    /// Number of looks at the results before the shard's cells were planned.
    pub look: u32,
    /// The shard of the cells that this look planned.
    pub shard: Shard,
}

impl PartOf {
    /// Names a shard of a recording as it is now.
    ///
    /// # Errors
    ///
    /// When the manifest cannot be read.
    pub fn new(recording: &Path, look: u32, shard: Shard) -> Result<Self, RecordingError> {
        let manifest_sha256 = manifest_sha256(recording)?;
        Ok(Self { format: RECORDING_FORMAT, manifest_sha256, look, shard })
    }
}

/// Computes the SHA-256 of a recording's manifest, the file.
///
/// # Errors
///
/// When it cannot be read.
pub fn manifest_sha256(recording: &Path) -> Result<Digest, RecordingError> {
    let path = recording.join(MANIFEST);
    match preemptlab_files::read(&path, PLAN_BOUNDS.bytes) {
        Ok(bytes) => Ok(Digest::of(&bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(RecordingError::Absent(recording.to_owned()))
        }
        Err(error) => Err(RecordingError::io("read", path)(error)),
    }
}

/// A part to read, which may be unfinished.
#[derive(Debug)]
pub struct Part {
    path: PathBuf,
    of: PartOf,
    cells: CellFolder,
}

impl Part {
    /// Opens a part; `None` where the folder holds none.
    ///
    /// # Errors
    ///
    /// When its file is damaged or of another format.
    pub fn open(path: &Path) -> Result<Option<Self>, RecordingError> {
        let Some(read) = read_json::<PartOf>(&path.join(PART), BOUNDS)? else { return Ok(None) };
        let cells = CellFolder::new(path.join(CELLS));
        Ok(Some(Self { path: path.to_owned(), of: read.value, cells }))
    }

    /// Returns the folder of the part.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its recording, look and shard.
    pub fn of(&self) -> &PartOf {
        &self.of
    }

    /// Lists the cells that it has, by the names of their files, in the order of their identities.
    ///
    /// # Errors
    ///
    /// When its folder cannot be read, or holds far too many files.
    pub fn cell_ids(&self) -> Result<Vec<CellId>, RecordingError> {
        self.cells.ids(CELLS_MAX)
    }

    /// Reads a cell; `None` where it does not have it.
    ///
    /// # Errors
    ///
    /// When its file is damaged or cannot be read.
    pub fn cell(&self, id: CellId) -> Result<Option<CellRecord>, RecordingError> {
        self.cells.get(id)
    }

    /// Returns the folder of its cells.
    pub fn cells(&self) -> &CellFolder {
        &self.cells
    }

    /// Returns the folder of its cells' traces.
    pub fn traces(&self) -> TraceFolder {
        TraceFolder::new(self.path.join(TRACES))
    }
}

/// A part to write to. Its cells are planned by the recording, which is only read.
#[derive(Debug)]
pub struct PartWriter<E> {
    writer: RecordingWriter<E>,
}

impl<E: DeserializeOwned> PartWriter<E> {
    /// Starts a part of a recording, or continues an interrupted one. One process at a time
    /// has it.
    ///
    /// # Errors
    ///
    /// [`RecordingError::Busy`] where another process has the part, [`RecordingError::OtherPart`] where
    /// the folder holds the part of another shard or plan, [`RecordingError::Occupied`] where it holds
    /// something else, and when it cannot be written to.
    pub fn open(
        recording: Recording<E>,
        folder: &OutFolder,
        of: &PartOf,
    ) -> Result<Self, RecordingError> {
        folder.make()?;
        let path = &folder.path();
        let lock = lock(path)?;
        Self::start(recording, path, of, lock)
    }

    fn start(
        recording: Recording<E>,
        path: &Path,
        of: &PartOf,
        lock: FolderLock,
    ) -> Result<Self, RecordingError> {
        preemptlab_files::sweep(path).map_err(RecordingError::io("clean", path))?;
        let file = path.join(PART);
        match read_json::<PartOf>(&file, BOUNDS)? {
            Some(read) if read.value == *of => {}
            Some(_) => return Err(RecordingError::OtherPart(path.to_owned())),
            None => {
                crate::recording::check_empty(path)?;
                write_json(&file, of, BOUNDS)?;
            }
        }
        let cells = path.join(CELLS);
        create_folder(&cells)?;
        preemptlab_files::sweep(&cells).map_err(RecordingError::io("clean", &cells))?;
        Ok(Self { writer: RecordingWriter::of_part(recording, path, lock) })
    }

    /// Returns the writer of the part's cells, which changes nothing else.
    pub fn cells(&self) -> &RecordingWriter<E> {
        &self.writer
    }
}

/// Tells whether another process writes to a folder now.
///
/// # Errors
///
/// When the folder cannot be opened.
pub fn is_written(path: &Path) -> Result<bool, RecordingError> {
    let taken = preemptlab_files::lock(path).map_err(RecordingError::io("lock", path))?;
    Ok(matches!(taken, Lock::Held(_)))
}

/// Removes a part whose cells are in the recording, or are not wanted.
///
/// # Errors
///
/// [`RecordingError::Busy`] where a process writes to it, [`RecordingError::Occupied`] where the folder
/// is not a part, and when the folder cannot be removed.
pub fn remove_part(path: &Path) -> Result<(), RecordingError> {
    let lock = lock(path)?;
    if Part::open(path)?.is_none() {
        return Err(RecordingError::Occupied(path.to_owned()));
    }
    for folder in [CELLS, TRACES] {
        let folder = path.join(folder);
        preemptlab_files::remove_folder(&folder).map_err(RecordingError::io("remove", folder))?;
    }
    let file = path.join(PART);
    fs::remove_file(&file).map_err(RecordingError::io("remove", file))?;
    drop(lock);
    fs::remove_dir(path).map_err(RecordingError::io("remove", path))
}

#[cfg(test)]
mod tests {
    use preemptlab_model::Outcome;
    use serde_json::Value;

    use super::*;

    fn recording() -> Recording<Value> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/check");
        Recording::open(&path).unwrap()
    }

    fn of(shard: &str) -> PartOf {
        PartOf::new(recording().path(), 0, shard.parse().unwrap()).unwrap()
    }

    fn open(path: &Path, shard: &str) -> Result<PartWriter<Value>, String> {
        PartWriter::open(recording(), &OutFolder::named(path), &of(shard))
            .map_err(|error| error.to_string())
    }

    fn record() -> CellRecord {
        let recording = recording();
        let inputs = recording.manifest().plan.executable()[0].clone();
        CellRecord {
            format: RECORDING_FORMAT,
            id: inputs.id(),
            inputs,
            console: vec![],
            conditions: None,
            outcome: Outcome::Unavailable { reason: "test".into(), system: None },
        }
    }

    #[test]
    fn a_part_has_its_own_cells_and_the_plan_of_the_recording() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1-of-2");
        assert!(Part::open(&path).unwrap().is_none());
        let writer = open(&path, "1/2").unwrap();
        let record = record();
        writer.cells().cells().put(&record).unwrap();
        assert_eq!(writer.cells().recording().cell(record.id).unwrap(), Some(record.clone()));
        assert_eq!(writer.cells().recording().path(), recording().path());
        assert!(is_written(&path).unwrap());
        drop(writer);

        assert!(!is_written(&path).unwrap());
        let part = Part::open(&path).unwrap().unwrap();
        assert_eq!((part.of(), part.cell_ids().unwrap()), (&of("1/2"), vec![record.id]));
        assert_eq!(part.cell(record.id).unwrap(), Some(record));
        remove_part(&path).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn an_interrupted_part_goes_on_and_no_other_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1-of-2");
        let writer = open(&path, "1/2").unwrap();
        assert!(open(&path, "1/2").unwrap_err().contains("another process"));
        drop(writer);
        drop(open(&path, "1/2").unwrap());
        assert!(open(&path, "2/2").unwrap_err().contains("another shard"));

        fs::write(path.join(PART), "{\"format\": 3}").unwrap();
        assert!(open(&path, "1/2").unwrap_err().contains("cannot be read"));
        let other = folder.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("thesis.tex"), "").unwrap();
        assert!(open(&other, "1/2").unwrap_err().contains("not empty"));
        assert!(remove_part(&other).is_err() && other.join("thesis.tex").exists());
    }
}
