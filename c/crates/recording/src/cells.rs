use std::{
    fs, io,
    path::{Path, PathBuf},
};

use preemptlab_model::{CellId, CellRecord};

use crate::{
    RecordingError,
    json::{Bounds, read_bytes, unsealed, write_json},
};

/// Bounds of a cell's file. A cell of an ordinary benchmark is some 10 KB to 1 MB, nearly all of it
/// text; the output of its guest can have [64 MiB](preemptlab_protocol::frame::PAYLOAD_BYTES_MAX).
const BOUNDS: Bounds = Bounds { bytes: 32 << 20, values: 1 << 20 };

/// A folder of finished cells, each in a file named by its identity. Recordings and the cache have
/// one each, with the same files.
#[derive(Clone, Debug)]
pub struct CellFolder {
    path: PathBuf,
    /// Whether a cell without a seal is refused.
    sealed: bool,
}

impl CellFolder {
    /// Creates the folder of a recording's cells in `path`, which need not exist yet. A recording
    /// of format 2 has no seals.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), sealed: false }
    }

    /// Creates the folder of a store's cells in `path`. A cell without a seal is refused, since it
    /// can be executed again.
    pub fn of_store(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), sealed: true }
    }

    /// Returns the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the folder.
    ///
    /// # Errors
    ///
    /// When that is not allowed.
    pub fn create(&self) -> Result<(), RecordingError> {
        // The store is where its user has put it.
        match self.sealed {
            true => preemptlab_files::create_folder(&self.path)
                .map_err(RecordingError::io("create", &self.path)),
            false => create_folder(&self.path),
        }
    }

    /// Returns whether a cell is small enough to be kept.
    pub fn has_room_for(record: &CellRecord) -> bool {
        crate::json::to_bytes(record, BOUNDS).is_ok()
    }

    /// Returns the path of a cell's file.
    pub fn file(&self, id: CellId) -> PathBuf {
        self.path.join(format!("{id}.json"))
    }

    /// Reads a finished cell; `None` when it is not there.
    ///
    /// # Errors
    ///
    /// When its file is damaged, of a newer format or cannot be read.
    pub fn get(&self, id: CellId) -> Result<Option<CellRecord>, RecordingError> {
        self.bytes(id)?.map(|bytes| self.check(id, bytes)).transpose()
    }

    /// Reads the bytes of a cell's file, which [`Self::check`] has still to check; `None` when it is not
    /// there.
    ///
    /// # Errors
    ///
    /// When its file is too large or cannot be read.
    pub fn bytes(&self, id: CellId) -> Result<Option<Vec<u8>>, RecordingError> {
        read_bytes(&self.file(id), BOUNDS)
    }

    /// Reads a cell from the bytes of its file.
    ///
    /// # Errors
    ///
    /// When they are damaged, of a newer format, or those of another cell.
    pub fn check(&self, id: CellId, bytes: Vec<u8>) -> Result<CellRecord, RecordingError> {
        let path = self.file(id);
        let read = unsealed::<CellRecord>(&path, bytes, BOUNDS)?;
        if self.sealed && !read.was_sealed {
            let reason = "it is of an older preemptlab and does not name its digest".to_owned();
            return Err(RecordingError::Damaged { path, reason });
        }
        let record = read.value;
        if record.id != id || record.inputs.id() != id {
            let reason = "it holds another cell than its name says".to_owned();
            return Err(RecordingError::Damaged { path, reason });
        }
        Ok(record)
    }

    /// Returns whether the cell is there, without reading it.
    pub fn contains(&self, id: CellId) -> bool {
        self.file(id).exists()
    }

    /// Lists the cells that are there, by the names of their files, in the order of their identities;
    /// other files are passed over.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read, or holds more than `most` files. One that does not exist holds
    /// none.
    pub fn ids(&self, most: usize) -> Result<Vec<CellId>, RecordingError> {
        let entries = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(RecordingError::io("read", &self.path))?,
        };
        let mut ids = Vec::new();
        for (number, entry) in entries.enumerate() {
            if number >= most {
                let (path, reason) =
                    (self.path.clone(), format!("it holds more than {most} files"));
                return Err(RecordingError::Damaged { path, reason });
            }
            let name = entry.map_err(RecordingError::io("read", &self.path))?.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".json")?.parse().ok());
            ids.extend(id.map(CellId));
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// Stores a finished cell; one that is there already stays as it is.
    ///
    /// # Errors
    ///
    /// When the disk is full or the folder cannot be written to; then the cell is not there.
    pub fn put(&self, record: &CellRecord) -> Result<(), RecordingError> {
        self.create()?;
        write_json(&self.file(record.id), record, BOUNDS).map(drop)
    }

    /// Stores the file of a cell that was finished elsewhere, byte for byte. Returns whether the cell is
    /// new: one that is there already stays as it is.
    ///
    /// # Errors
    ///
    /// When the disk is full or the folder cannot be written to; then the cell is not there.
    pub fn put_file(&self, id: CellId, bytes: &[u8]) -> Result<bool, RecordingError> {
        let path = self.file(id);
        preemptlab_files::write_new(&path, bytes).map_err(RecordingError::io("write", path))
    }

    /// Puts the file of a cell that was finished elsewhere in the place of the one that is there.
    ///
    /// # Errors
    ///
    /// When the disk is full or the folder cannot be written to; then the earlier one is still there.
    pub fn replace_file(&self, id: CellId, bytes: &[u8]) -> Result<(), RecordingError> {
        let path = self.file(id);
        preemptlab_files::renew(&path, bytes).map_err(RecordingError::io("write", path))
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

/// Makes a folder that a recording or a part has, or checks that the one there is one to write to.
pub(crate) fn create_folder(path: &Path) -> Result<(), RecordingError> {
    match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) => Ok(preemptlab_files::make_below(above, name)?),
        _ => preemptlab_files::create_folder(path).map_err(RecordingError::io("create", path)),
    }
}
