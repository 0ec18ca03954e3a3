use std::{io, path::PathBuf};

use preemptlab_files::FolderError;

/// Reason why a recording cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The folder holds no recording.
    #[error("{} is not a recording: it has no recording.json", .0.display())]
    Absent(PathBuf),
    /// A file stands where a folder should be.
    #[error("{} cannot hold a recording: it is no folder; choose another with --out", .0.display())]
    NotAFolder(PathBuf),
    /// The folder holds something else.
    #[error("{} is not empty and is not a recording; choose another folder with --out", .0.display())]
    Occupied(PathBuf),
    /// The folder holds a recording of another experiment, or of other kernels or QEMU.
    #[error("{} holds a recording of another experiment ({what}); choose another folder with --out", path.display())]
    Other {
        /// Folder of the recording.
        path: PathBuf,
        /// First difference, in words.
        what: String,
    },
    /// The folder holds the part of another shard, or of another plan.
    #[error(
        "{} holds the part of another shard or of another plan; choose another folder with --out",
        .0.display()
    )]
    OtherPart(PathBuf),
    /// Another process writes to the recording.
    #[error("another process is writing to {}; wait for it or choose another folder{}", path.display(), match holder {
        Some(holder) => format!(
            ". It is {holder}; if that is gone, remove {}",
            path.join(preemptlab_files::LOCK_FILE).display()
        ),
        None => String::new(),
    })]
    Busy {
        /// Folder of the recording.
        path: PathBuf,
        /// Process that writes to it, where it is known.
        holder: Option<String>,
    },
    /// The file was written by an older or a newer preemptlab.
    #[error(
        "{} has format {found}, and this preemptlab reads {known}; use the {} one that wrote it, \
         or run the experiment again",
        path.display(),
        if found > known { "newer" } else { "older" }
    )]
    OtherFormat {
        /// Path of the file.
        path: PathBuf,
        /// Format of the file.
        found: u32,
        /// The format that is known.
        known: u32,
    },
    /// The file is damaged.
    #[error("{} cannot be read: {reason}; {}", path.display(), match path.ends_with("recording.json") {
        true => "get another copy of the recording, or run the experiment into another folder",
        false => "remove it and run the same command again",
    })]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Damage, in words.
        reason: String,
    },
    /// The file holds more than is read.
    #[error("{} cannot be read: {reason}", path.display())]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// The exceeded bound, and the way out.
        reason: String,
    },
    /// Something stands in the place of a folder to write to that is not this user's own.
    #[error(transparent)]
    NotOwn(FolderError),
    /// The operating system says no.
    #[error("cannot {action} {}: {error}{}", path.display(), advice(error))]
    Io {
        /// Action that failed, as a verb.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
}

impl RecordingError {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| Self::Io { action, path, error }
    }
}

impl From<FolderError> for RecordingError {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Io { path, error } => Self::io("create", path)(error),
            error => Self::NotOwn(error),
        }
    }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "; finished cells are kept: free some space and run the same command again"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; choose a folder that you may write to"
        }
        _ => "",
    }
}
