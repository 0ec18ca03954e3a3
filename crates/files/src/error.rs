use std::{io, path::PathBuf};

use crate::files::{BYTES_MAX, NODES_MAX};

/// Why a folder cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The operating system says no.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// With what.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// It is something else.
    #[error("{} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// It holds too much.
    #[error("there are more than {} MiB in it", BYTES_MAX >> 20)]
    TooLarge,
    /// It holds too many things.
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
        /// The link.
        path: String,
        /// Where it leads.
        target: String,
    },
    /// Only in an archive that was not made here.
    #[error("`{0}` is there twice")]
    Twice(String),
    /// The same.
    #[error("it is not an archive: {0}")]
    Archive(io::Error),
}
