use std::{io, path::PathBuf};

use crate::{PackageError, error::from_package_errors};

/// Why one of the project's own modules cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum KmodError {
    /// There is no such module.
    #[error("preemptlab has no module `{name}`; it has {}", known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// Those that there are.
        known: Vec<&'static str>,
    },
    /// The kernel has no headers.
    #[error("no module can be built for the kernel {release}: {reason}")]
    NoHeaders {
        /// Its release.
        release: String,
        /// Why, and what to do.
        reason: String,
    },
    /// What builds it is a stranger's until somebody says otherwise.
    #[error(
        "the module `{name}` would be built by the Makefile in `{}`, which can run any command; look \
         at it, and allow it with --allow-build-scripts", tree.display()
    )]
    NotAllowed {
        /// The module.
        name: &'static str,
        /// The build tree.
        tree: PathBuf,
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
    #[error("the module `{name}` cannot be built for the kernel {release}:\n{output}")]
    Failed {
        /// Its name.
        name: &'static str,
        /// The kernel's release.
        release: String,
        /// The last lines of what they said.
        output: String,
    },
    /// A package cannot be used.
    #[error(transparent)]
    Packages(PackageError),
}

from_package_errors!(KmodError);
