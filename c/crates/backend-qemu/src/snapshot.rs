//! The folder of snapshots: one file per boot, whole or absent.
//!
//! ```text
//! header page: "PLABSNAP"  u64 LE length of the stream  u32 LE CRC-32 of the stream
//! at HEADER_BYTES: QEMU's migration stream
//! ```
//!
//! QEMU notices a stream that is cut off, but not a flipped bit in the guest's memory; hence the
//! checksum, which is verified once per process and snapshot.

use std::{
    collections::BTreeMap,
    fmt,
    fs::File,
    io::{self, ErrorKind, Read, Seek, SeekFrom},
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use preemptlab_files::Draft;
use preemptlab_model::SnapshotId;
use preemptlab_runner::Stop;
use rustix::fs::statvfs;

use crate::output::inherited_path;

/// Offset of QEMU's stream, in bytes.
pub(crate) const HEADER_BYTES: u64 = 4096;

const MAGIC: [u8; 8] = *b"PLABSNAP";
const HEADER_USED_BYTES: usize = 20;

/// The snapshots of one folder. Two threads that need the same one make it once; two processes may
/// both make it, and one of them publishes it.
#[derive(Debug)]
pub(crate) struct Snapshots {
    folder: PathBuf,
    slots: Mutex<BTreeMap<SnapshotId, Arc<Mutex<Verified>>>>,
}

/// Whether this process has verified the snapshot's checksum.
type Verified = bool;

impl Snapshots {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, slots: Mutex::default() }
    }

    /// Opens a snapshot; where there is none that is whole, `make` writes the stream of one.
    pub(crate) fn get_or_make(
        &self,
        id: SnapshotId,
        make: impl FnOnce(&File) -> Result<(), Stop>,
    ) -> Result<File, Stop> {
        let slot = Arc::clone(locked(&self.slots).entry(id).or_default());
        let mut verified = locked(&slot);
        let path = self.path(id);
        if let Some(file) = self.open(&path, *verified).map_err(|error| self.unusable(&error))? {
            *verified = true;
            return Ok(file);
        }
        std::fs::create_dir_all(&self.folder).map_err(|error| self.unusable(&error))?;
        let mut draft = Draft::new_in(&self.folder).map_err(|error| self.unusable(&error))?;
        make(draft.file())?;
        let published = seal(draft.file()).and_then(|()| draft.publish(&path));
        published.map_err(|error| self.unusable(&error))?;
        let file = File::open(&path).map_err(|error| self.unusable(&error))?;
        *verified = true;
        Ok(file)
    }

    /// Removes a snapshot that QEMU could not load, unless it was replaced meanwhile.
    pub(crate) fn discard(&self, id: SnapshotId, file: &File) -> Result<(), Stop> {
        let slot = Arc::clone(locked(&self.slots).entry(id).or_default());
        let _verified = locked(&slot);
        remove_if_same(&self.path(id), file).map_err(|error| self.unusable(&error))
    }

    fn path(&self, id: SnapshotId) -> PathBuf {
        self.folder.join(id.to_string())
    }

    /// Opens a snapshot. One that is damaged is removed.
    fn open(&self, path: &Path, verified: bool) -> io::Result<Option<File>> {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        if verified || is_whole(&mut file)? {
            return Ok(Some(file));
        }
        remove_if_same(path, &file)?;
        Ok(None)
    }

    fn unusable(&self, error: &io::Error) -> Stop {
        unusable(&self.folder, error)
    }
}

/// Returns the error of a snapshot that cannot be saved or read, with a remedy where room is short.
pub(crate) fn unusable(folder: &Path, reason: impl fmt::Display) -> Stop {
    let mut reason = format!("cannot keep a snapshot in `{}`: {reason}", folder.display());
    let lacks_room = ["No space left", "quota exceeded", "File too large"]
        .iter()
        .any(|words| reason.contains(words));
    if lacks_room && let Ok(stat) = statvfs(folder) {
        let free_mib = stat.f_bavail.saturating_mul(stat.f_frsize) >> 20;
        reason += &format!(
            "; it takes as much as the guest has touched of its memory, often 100 to 200 MiB, and \
             {free_mib} MiB are free: make room there, or choose a folder elsewhere"
        );
    }
    Stop::Host { reason }
}

/// Writes the header of a stream that is complete.
fn seal(draft: &File) -> io::Result<()> {
    // A draft is open for writing only.
    let mut stream = File::open(inherited_path(draft))?;
    draft.write_all_at(&header(&mut stream)?, 0)
}

/// Returns whether the header belongs to the stream.
fn is_whole(file: &mut File) -> io::Result<bool> {
    let mut found = [0; HEADER_USED_BYTES];
    match file.read_exact_at(&mut found, 0) {
        Ok(()) => Ok(found == header(file)?),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Computes the header of the stream in a file.
fn header(file: &mut File) -> io::Result<[u8; HEADER_USED_BYTES]> {
    file.seek(SeekFrom::Start(HEADER_BYTES))?;
    let mut hasher = crc32fast::Hasher::new();
    let mut length = 0u64;
    let mut chunk = vec![0; 1 << 20];
    loop {
        let count = file.read(&mut chunk)?;
        if count == 0 {
            break;
        }
        hasher.update(&chunk[..count]);
        length += count as u64;
    }
    let mut header = [0; HEADER_USED_BYTES];
    header[..8].copy_from_slice(&MAGIC);
    header[8..16].copy_from_slice(&length.to_le_bytes());
    header[16..].copy_from_slice(&hasher.finalize().to_le_bytes());
    Ok(header)
}

fn remove_if_same(path: &Path, file: &File) -> io::Result<()> {
    let opened = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) if (there.dev(), there.ino()) == (opened.dev(), opened.ino()) => {
            std::fs::remove_file(path)
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Takes a lock, also after a panic: a thread that panicked while it held the lock has changed
/// nothing that others rely on.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
