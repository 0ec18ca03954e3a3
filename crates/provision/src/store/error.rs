use std::{
    io,
    path::{Path, PathBuf},
};

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It belongs to someone else.
    #[error("no permission to write to the store `{}`; choose a folder of your own", .0.display())]
    NoPermission(PathBuf),
    /// The folder that it should be in is not there.
    #[error(
        "the store cannot be `{}`, because `{}` is not there; make that folder, or name another \
         store with --store", store.display(), parent.display()
    )]
    NoParent {
        /// The store.
        store: PathBuf,
        /// The folder that is missing.
        parent: PathBuf,
    },
    /// Another user owns it, who can put programs into it that would be run.
    #[error(
        "the store's folder `{}` belongs to the user with the number {owner}, and you are {user}: \
         what is run from there would be theirs to choose; run the command as that user, or name a \
         store of your own with --store", path.display()
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who runs this.
        user: u32,
    },
    /// Anybody could put programs into it that would be run.
    #[error(
        "others can write to the store's folder `{}` (mode {mode:04o}), and could choose what is \
         run from there; `chmod -R go-w {}` takes that away, or name another store with --store",
        path.display(), root.display()
    )]
    Writable {
        /// The folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
        /// The store.
        root: PathBuf,
    },
    /// Anybody could put another store into its place.
    #[error(
        "anybody can rename what is in `{}` (mode {mode:04o}), where the store is; `chmod o-w {}` \
         takes that away, or name another store with --store", path.display(), path.display()
    )]
    WritableParent {
        /// The folder above the store.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// A file stands where a folder should be.
    #[error("the store cannot be `{}`, which is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// The wait for another process was interrupted.
    #[error("interrupted while another preemptlab was at work in the store `{}`", .0.display())]
    Interrupted(PathBuf),
    /// Programs would read this path as something else.
    #[error(
        "the store cannot be `{}`: apt takes no path with a quote or a line break, and the loader \
         that starts QEMU none with `:`, `;` or `$`; name another folder with --store",
        .0.display()
    )]
    Path(PathBuf),
    /// The disk is full.
    #[error("the disk is full: `{}` cannot be written; free some space and run the command again", .0.display())]
    Full(PathBuf),
    /// Anything else that the operating system reports.
    #[error("the store cannot use `{}`: {source}", path.display())]
    Io {
        /// What it was about.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl StoreError {
    /// What the system's error about a path means.
    pub(crate) fn new(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::NoPermission(path)
            }
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => Self::NotAFolder(path),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full(path),
            _ => Self::Io { path, source },
        }
    }

    /// The same, to be handed to `map_err`.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::new(path, source)
    }
}
