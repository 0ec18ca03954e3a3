use std::{
    io,
    path::{Path, PathBuf},
};

/// Reason why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store belongs to another user.
    #[error("no permission to write to the store `{}`; choose a folder of your own", .0.display())]
    NoPermission(PathBuf),
    /// The folder that it should be in is not there.
    #[error(
        "the store cannot be `{}`, because `{}` is not there; make that folder, or name another \
         store with --store", store.display(), parent.display()
    )]
    NoParent {
        /// Path of the store.
        store: PathBuf,
        /// The folder that is missing.
        parent: PathBuf,
    },
    /// The store belongs to another user. That user could put programs into it that would be run.
    #[error(
        "the store's folder `{}` belongs to the user with the number {owner}, and you are {user}: \
         what is run from there would be theirs to choose; run the command as that user, or name a \
         store of your own with --store", path.display()
    )]
    Foreign {
        /// Path of the folder.
        path: PathBuf,
        /// User that owns the folder.
        owner: u32,
        /// User of this process.
        user: u32,
    },
    /// Other users could put programs into it that would be run.
    #[error(
        "others can write to the store's folder `{}` (mode {mode:04o}), and could choose what is \
         run from there; `chmod -R go-w {}` takes that away, or name another store with --store",
        path.display(), root.display()
    )]
    Writable {
        /// Path of the folder.
        path: PathBuf,
        /// Permissions of the folder.
        mode: u32,
        /// Path of the store.
        root: PathBuf,
    },
    /// Every user could put another store into its place.
    #[error(
        "anybody can rename what is in `{}` (mode {mode:04o}), where the store is; `chmod o-w {}` \
         takes that away, or name another store with --store", path.display(), path.display()
    )]
    WritableParent {
        /// The folder above the store.
        path: PathBuf,
        /// Permissions of the store.
        mode: u32,
    },
    /// A file stands where a folder should be.
    #[error(
        "the store cannot be `{}`, which is not a folder; name another folder with --store",
        .0.display()
    )]
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
        /// Path that the error is about.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

impl StoreError {
    /// Creates the error from the system's error about a path.
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

    /// Returns whether the store, or a folder of it, is not there, as while another process removes it.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            Self::NoParent { .. } => true,
            Self::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }

    /// Returns a function that creates the error, for `map_err`.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::new(path, source)
    }
}
