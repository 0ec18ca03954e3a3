use std::{io, path::PathBuf};

use crate::{AptError, DebError, PackageFault, StoreError};

/// Reason why a capsule cannot be made or opened.
#[derive(Debug, thiserror::Error)]
pub enum CapsuleError {
    /// The file cannot be read or written.
    #[error("cannot {action} the capsule {}: {error}", path.display())]
    Io {
        /// Action that failed, as a verb.
        action: &'static str,
        /// Path of the capsule.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The file is damaged, or no capsule.
    #[error("{} is no whole capsule: {reason}; get another copy of it", path.display())]
    Damaged {
        /// Path of the capsule.
        path: PathBuf,
        /// Damage, in words.
        reason: String,
    },
    /// A newer preemptlab packed it.
    #[error(
        "the capsule {} has format {found}, and this preemptlab reads {known}: it needs a newer preemptlab",
        path.display()
    )]
    Newer {
        /// Path of the capsule.
        path: PathBuf,
        /// Format of the capsule.
        found: u32,
        /// The format that is known.
        known: u32,
    },
    /// Nothing shows that Debian made the QEMU in it.
    #[error(
        "the QEMU in the capsule {} is not executed, because nothing shows that it is Debian's: {reason}. Whoever \
         made the capsule could do with your rights whatever you can: give --trust-qemu only if you would \
         take a program from them", path.display()
    )]
    NotVouched {
        /// Path of the capsule.
        path: PathBuf,
        /// Lack, in words.
        reason: String,
    },
    /// A file of the store is not what the recording names.
    #[error(
        "{} in the store is damaged: remove it, and run the same command again", .0.display()
    )]
    Store(PathBuf),
    /// The store cannot be used.
    #[error(transparent)]
    Folder(#[from] StoreError),
    /// A package cannot be read.
    #[error(transparent)]
    Deb(#[from] DebError),
    /// A package of a kernel that is not Debian's cannot be read.
    #[error("the package `{}` {fault}", path.display())]
    Own {
        /// Path of the package.
        path: PathBuf,
        /// Reason, a sentence about the package.
        fault: PackageFault,
    },
    /// A package cannot be had.
    #[error(transparent)]
    Apt(#[from] AptError),
}
