use std::{io, path::PathBuf};

/// Why a recording cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// There is no recording in that folder.
    #[error("{} is not a recording: it has no recording.json", .0.display())]
    Absent(PathBuf),
    /// A file stands where a folder should be.
    #[error("{} cannot hold a recording: it is no folder; choose another with --out", .0.display())]
    NotAFolder(PathBuf),
    /// The folder holds something else.
    #[error("{} is not empty and is not a recording; choose another folder", .0.display())]
    Occupied(PathBuf),
    /// The folder holds a recording of another experiment, or of other kernels or QEMU.
    #[error("{} holds a recording of another experiment ({what}); choose another folder with --out", path.display())]
    Other {
        /// The folder.
        path: PathBuf,
        /// In what it differs.
        what: String,
    },
    /// Another process writes to the recording.
    #[error("another process is writing to {}; wait for it or choose another folder{}", path.display(), match holder {
        Some(holder) => format!(
            ". It is {holder}; if that is gone, remove {}",
            path.join(preemptlab_durable::LOCK_FILE).display()
        ),
        None => String::new(),
    })]
    Busy {
        /// The folder.
        path: PathBuf,
        /// Which one it is, where that is known.
        holder: Option<String>,
    },
    /// It was written by an older or a newer preemptlab.
    #[error(
        "{} has format {found}, and this preemptlab reads {known}; use the {} one that wrote it, \
         or run the experiment again",
        path.display(),
        if found > known { "newer" } else { "older" }
    )]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The format that is known.
        known: u32,
    },
    /// A file is not what it should be.
    #[error("{} cannot be read: {reason}; {}", path.display(), match path.ends_with("recording.json") {
        true => "get another copy of the recording, or run the experiment into another folder",
        false => "remove it and run the same command again",
    })]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The operating system says no.
    #[error("cannot {action} {}: {error}{}", path.display(), advice(error))]
    Io {
        /// What was tried.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
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
