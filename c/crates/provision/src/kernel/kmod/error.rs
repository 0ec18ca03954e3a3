use std::{io, path::PathBuf};

use preemptlab_model::plain::{BREAK, broken};

use crate::{PackageError, error::from_package_errors};

/// Reason why one of the project's own modules cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum KmodError {
    /// preemptlab has no such module.
    #[error("preemptlab has no module `{name}`; it has {}", known.join(", "))]
    Unknown {
        /// Name of the module.
        name: String,
        /// Those that there are.
        known: Vec<&'static str>,
    },
    /// The kernel has no headers.
    #[error("no module can be built for the kernel {release}: {reason}")]
    NoHeaders {
        /// Release of the kernel.
        release: String,
        /// Reason, with a remedy.
        reason: String,
    },
    /// The Makefile that builds the module is a stranger's, and the user has not allowed it.
    #[error(
        "the module `{name}` would be built by the Makefile in `{}`, which can run any command; look \
         at it, and allow it with --allow-build-scripts", tree.display()
    )]
    NotAllowed {
        /// Name of the module.
        name: &'static str,
        /// Path of the build tree.
        tree: PathBuf,
    },
    /// The Makefile of a kernel's source is another user's, and is not allowed.
    #[error(
        "`{}` belongs to the user with the number {owner}, and you are {user}: `{name}` would be built \
         by its Makefile, which can run any command; look at it, and allow it with \
         --allow-build-scripts", tree.display()
    )]
    Foreign {
        /// Name of the kernel.
        name: String,
        /// Path of the source.
        tree: PathBuf,
        /// User that owns it.
        owner: u32,
        /// User of this process.
        user: u32,
    },
    /// make would take the path for several.
    #[error(
        "no module can be built in `{}`, because make takes no path with blanks, colons or other \
         signs with a meaning; choose a store with --store", .0.display()
    )]
    Path(PathBuf),
    /// make is not there.
    #[error("`make` cannot be run ({0}); install Debian's packages make and gcc")]
    Tool(io::Error),
    /// make or the compiler failed.
    #[error(
        "the module `{name}` cannot be built for the kernel {release}:{}{}",
        BREAK,
        broken(output)
    )]
    Failed {
        /// Name of the module.
        name: &'static str,
        /// Release of the kernel.
        release: String,
        /// Last lines of the build's output.
        output: String,
    },
    /// A package cannot be used.
    #[error(transparent)]
    Packages(PackageError),
}

from_package_errors!(KmodError);
