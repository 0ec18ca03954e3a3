use std::{
    fs, io,
    path::{Path, PathBuf},
};

use preemptlab_model::{CellId, CellRecord, RECORDING_FORMAT};
use serde::{Deserialize, de::DeserializeOwned};

use crate::RecordingError;

/// The largest file that is read, in bytes: a recording may come from anybody.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// A folder of finished cells, each in a file named by its identity. Recordings and the cache have
/// one each, with the same files.
#[derive(Clone, Debug)]
pub struct CellFolder {
    path: PathBuf,
}

impl CellFolder {
    /// The cells in `path`, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    fn file(&self, id: CellId) -> PathBuf {
        self.path.join(format!("{id}.json"))
    }

    /// A finished cell; `None` when it is not there.
    ///
    /// # Errors
    ///
    /// When its file is damaged, of a newer format or cannot be read.
    pub fn get(&self, id: CellId) -> Result<Option<CellRecord>, RecordingError> {
        let path = self.file(id);
        let Some(record) = read_json::<CellRecord>(&path)? else { return Ok(None) };
        if record.id != id || record.inputs.id() != id {
            let reason = "it holds another cell than its name says".to_owned();
            return Err(RecordingError::Damaged { path, reason });
        }
        Ok(Some(record))
    }

    /// Whether the cell is there, without reading it.
    pub fn contains(&self, id: CellId) -> bool {
        self.file(id).exists()
    }

    /// Stores a finished cell; one that is there already stays as it is.
    ///
    /// # Errors
    ///
    /// When the disk is full or the folder cannot be written to; then the cell is not there.
    pub fn put(&self, record: &CellRecord) -> Result<(), RecordingError> {
        create_folder(&self.path)?;
        write_json(&self.file(record.id), record).map(drop)
    }

    /// Removes a cell, so that it can be executed again.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written to.
    pub fn remove(&self, id: CellId) -> Result<(), RecordingError> {
        let path = self.file(id);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(RecordingError::io("remove", path)(error))
            }
            _ => Ok(()),
        }
    }
}

pub(crate) fn create_folder(path: &Path) -> Result<(), RecordingError> {
    fs::create_dir_all(path).map_err(RecordingError::io("create", path))
}

/// Returns whether the file is new: one that is there already stays as it is.
pub(crate) fn write_json(
    path: &Path,
    value: &impl serde::Serialize,
) -> Result<bool, RecordingError> {
    let mut bytes = serde_json::to_vec(value)
        .map_err(|error| RecordingError::io("write", path)(error.into()))?;
    bytes.push(b'\n');
    preemptlab_durable::write_new(path, &bytes).map_err(RecordingError::io("write", path))
}

/// Reads a file whose first level has a `format`; `None` when there is no file.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, RecordingError> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }

    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Ok(metadata) if !metadata.is_file() => {
            let reason = "it is no regular file".to_owned();
            return Err(RecordingError::Damaged { path: path.to_owned(), reason });
        }
        Ok(metadata) if metadata.len() > FILE_BYTES_MAX => {
            let reason = format!("it is larger than {FILE_BYTES_MAX} bytes");
            return Err(RecordingError::Damaged { path: path.to_owned(), reason });
        }
        _ => {}
    }
    let bytes = fs::read(path).map_err(RecordingError::io("read", path))?;
    let damaged = |error: serde_json::Error| RecordingError::Damaged {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    // The format comes first, so that another format is called so and not damaged.
    let Format { format } = serde_json::from_slice(&bytes).map_err(damaged)?;
    if format != RECORDING_FORMAT {
        let (path, known) = (path.to_owned(), RECORDING_FORMAT);
        return Err(RecordingError::OtherFormat { path, found: format, known });
    }
    serde_json::from_slice(&bytes).map(Some).map_err(damaged)
}
