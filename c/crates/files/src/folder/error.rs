use std::{io, path::PathBuf};

/// The most bytes of all files together: they become memory of the guest, and a part of every
/// recording.
pub(crate) const BYTES_MAX: u64 = 64 << 20;

/// The largest number of files, folders and links.
pub(crate) const NODES_MAX: usize = 1_000;

/// Reason why the files of a folder or an archive are refused.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The operating system reports an error.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The path does not name a folder.
    #[error("{} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// The files have too many bytes together.
    #[error("there are more than {} MiB in it", BYTES_MAX >> 20)]
    TooLarge,
    /// The folder or the archive holds too many files and folders.
    #[error("there are more than {NODES_MAX} files and folders in it")]
    TooMany,
    /// A name that cannot be a guest's.
    #[error("`{}` cannot be the path of a file in a guest", .0.escape_debug())]
    Path(String),
    /// A socket, a device or the like.
    #[error("`{0}` is neither a file nor a folder nor a symbolic link")]
    Special(String),
    /// A link that would lead elsewhere in a guest, or nowhere.
    #[error("`{path}` is a link to `{}`, which leads out of the folder", target.escape_debug())]
    Leaves {
        /// Path of the link.
        path: String,
        /// Target of the link.
        target: String,
    },
    /// An archive holds two entries of one path.
    #[error("`{0}` is there twice")]
    Twice(String),
    /// The archive is damaged.
    #[error("it is not an archive: {0}")]
    Archive(io::Error),
}
