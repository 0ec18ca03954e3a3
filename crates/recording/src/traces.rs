use std::{
    fs::{self, File},
    io::{self, Read, Seek},
    path::{Path, PathBuf},
};

use preemptlab_durable::Draft;
use preemptlab_model::{CellId, SnapshotId};
use preemptlab_trace::{Findings, Kernel, Layout};
use serde::{Serialize, de::DeserializeOwned};

use crate::{RecordingError, cells::create_folder};

/// zstd's own default: a quarter of the bytes at some 300 MB/s.
const LEVEL: i32 = 3;

/// A layout is some 15 MB of JSON; a recording may come from anybody.
const LAYOUT_BYTES_MAX: u64 = 256 << 20;

/// The traces of a recording's cells, and what they are read with.
#[derive(Clone, Debug)]
pub struct TraceFolder {
    path: PathBuf,
}

impl TraceFolder {
    /// The traces in `path`, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Makes the folder.
    ///
    /// # Errors
    ///
    /// When that is not allowed.
    pub fn create(&self) -> Result<(), RecordingError> {
        create_folder(&self.path)?;
        preemptlab_durable::sweep(&self.path).map_err(RecordingError::io("clean", &self.path))
    }

    /// Whether a cell has a trace.
    pub fn contains(&self, id: CellId) -> bool {
        self.findings_path(id).exists() && self.trace_path(id).exists()
    }

    /// A file without a name in which a stream can grow.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written to.
    pub fn scratch(&self) -> Result<File, RecordingError> {
        tempfile::tempfile_in(&self.path)
            .map_err(RecordingError::io("create a file in", &self.path))
    }

    /// Keeps a cell's stream, and then what it says.
    ///
    /// # Errors
    ///
    /// When the disk is full; then the cell has no trace.
    pub fn put(
        &self,
        id: CellId,
        stream: &mut File,
        findings: &Findings,
    ) -> Result<(), RecordingError> {
        stream.rewind().map_err(RecordingError::io("read", &self.path))?;
        write(&self.trace_path(id), stream)?;
        write_value(&self.findings_path(id), findings)
    }

    /// A cell's stream; `None` when it has none.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn stream(&self, id: CellId) -> Result<Option<impl Read + use<>>, RecordingError> {
        open(&self.trace_path(id))
    }

    /// What a cell's trace says; `None` when it has none.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn findings(&self, id: CellId) -> Result<Option<Findings>, RecordingError> {
        read_value(&self.findings_path(id))
    }

    /// Keeps the layout of a boot's kernel.
    ///
    /// # Errors
    ///
    /// When the disk is full.
    pub fn put_layout(&self, id: SnapshotId, layout: &Layout) -> Result<(), RecordingError> {
        write_value(&self.layout_path(id), layout)
    }

    /// The layout of a boot's kernel; `None` when it is not there.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn layout(&self, id: SnapshotId) -> Result<Option<Layout>, RecordingError> {
        read_value(&self.layout_path(id))
    }

    /// The kernel of a boot, ready to read traces with; `None` when its layout is not there.
    ///
    /// # Errors
    ///
    /// When its layout is damaged.
    pub fn kernel(&self, id: SnapshotId) -> Result<Option<Kernel>, RecordingError> {
        let path = self.layout_path(id);
        let kernel = self.layout(id)?.map(Kernel::new).transpose();
        kernel.map_err(|error| RecordingError::Damaged { path, reason: error.to_string() })
    }

    fn trace_path(&self, id: CellId) -> PathBuf {
        self.path.join(format!("{id}.trace.zst"))
    }

    fn findings_path(&self, id: CellId) -> PathBuf {
        self.path.join(format!("{id}.findings.zst"))
    }

    fn layout_path(&self, id: SnapshotId) -> PathBuf {
        self.path.join(format!("{id}.layout.zst"))
    }
}

fn write(path: &Path, content: &mut impl Read) -> Result<(), RecordingError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = || {
        let mut draft = Draft::new_in(folder)?;
        zstd::stream::copy_encode(content, draft.file(), LEVEL)?;
        draft.publish(path)
    };
    written().map(drop).map_err(RecordingError::io("write", path))
}

fn write_value(path: &Path, value: &impl Serialize) -> Result<(), RecordingError> {
    let bytes = serde_json::to_vec(value)
        .map_err(|error| RecordingError::io("write", path)(error.into()))?;
    write(path, &mut bytes.as_slice())
}

fn open(path: &Path) -> Result<Option<impl Read + use<>>, RecordingError> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(RecordingError::io("read", path)(error)),
        Ok(file) => {
            let stream = zstd::stream::read::Decoder::new(file);
            stream.map(Some).map_err(RecordingError::io("read", path))
        }
    }
}

fn read_value<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, RecordingError> {
    let Some(stream) = open(path)? else { return Ok(None) };
    let value = serde_json::from_reader(io::BufReader::new(stream.take(LAYOUT_BYTES_MAX)));
    value.map(Some).map_err(|error| RecordingError::Damaged {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

impl TraceFolder {
    /// Removes a cell's trace, so that it is made again.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written to.
    pub fn remove(&self, id: CellId) -> Result<(), RecordingError> {
        for path in [self.findings_path(id), self.trace_path(id)] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(RecordingError::io("remove", path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
