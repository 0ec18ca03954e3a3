use std::{io, path::PathBuf};

use preemptlab_model::{
    SymbolValue,
    plain::{BREAK, broken},
};

use crate::{PackageError, TreeError, error::from_package_errors};

/// Reason why a kernel cannot be built from source.
#[derive(Debug, thiserror::Error)]
pub enum KbuildError {
    /// The kernel is not built yet, and must not be built now.
    #[error(
        "it is not built yet; `preemptlab run` builds it first, which takes some 17 minutes on 2 \
         CPUs"
    )]
    NotBuilt,
    /// The kernel has no such symbol.
    #[error("CONFIG_{symbol} is to be {asked}, and Linux {version} has no such symbol")]
    NoSymbol {
        /// Name of the symbol.
        symbol: String,
        /// The value that was asked for.
        asked: SymbolValue,
        /// Version of the kernel.
        version: String,
    },
    /// The kernel's own tools did not leave a symbol at the value that was asked for.
    #[error(
        "CONFIG_{symbol} is to be {asked}, and {} with Linux {version}: its type, its range or \
         what it depends on does not allow it", became.as_ref().map_or_else(
            || "it cannot be set".to_owned(),
            |became| format!("it becomes {became}")
        )
    )]
    Symbol {
        /// Name of the symbol.
        symbol: String,
        /// The value that was asked for.
        asked: SymbolValue,
        /// Value that the symbol got; `None` when it is not there.
        became: Option<String>,
        /// Version of the kernel.
        version: String,
    },
    /// make or the compiler failed.
    #[error("`make {target}` failed: {reason} (the whole log is {log} in the store)")]
    Failed {
        /// Target of make.
        target: &'static str,
        /// First complaint of make.
        reason: String,
        /// The log's path in the store.
        log: String,
    },
    /// make or the compiler failed in a tree of the user's own.
    #[error(
        "`make {target}` failed: {reason} (the whole log is {log} in the store){}{}",
        BREAK,
        broken(end)
    )]
    TreeFailed {
        /// Target of make.
        target: &'static str,
        /// First complaint of make.
        reason: String,
        /// The last lines of the log.
        end: String,
        /// The log's path in the store.
        log: String,
    },
    /// The configuration `lab` is impossible for a kernel.
    #[error(
        "CONFIG_{symbol}, which cells need, cannot be switched on in Linux {version}: what it depends \
         on is missing; name another configuration with `,config=debian` or `,config=FILE`"
    )]
    Lab {
        /// Name of the symbol.
        symbol: String,
        /// Version of the kernel.
        version: String,
    },
    /// A configuration lacks an option that every cell needs.
    #[error(
        "CONFIG_{symbol} is off, and no cell can run without it: add `+{symbol}=y` to the name. A part of \
         a configuration is no whole one: write its symbols after another, as in \
         `,config=lab+PREEMPT=y`"
    )]
    Off {
        /// Name of the symbol.
        symbol: &'static str,
    },
    /// The source of the user's own cannot be read.
    #[error(transparent)]
    Tree(TreeError),
    /// make was ended from outside.
    #[error("the build of a kernel was interrupted")]
    Interrupted,
    /// The system ended the compiler, most likely because memory ran out.
    #[error("the system killed the compiler of a kernel: {0}; free some memory and run it again")]
    Killed(String),
    /// make would take the path for several.
    #[error(
        "no kernel can be built in `{}`, because make takes no path with blanks, colons or other \
         signs with a meaning; choose a store with --store", .0.display()
    )]
    Path(PathBuf),
    /// make cannot be started.
    #[error("make cannot be run: {0}")]
    Tool(io::Error),
    /// A package cannot be used.
    #[error(transparent)]
    Packages(PackageError),
}

from_package_errors!(KbuildError);

impl From<TreeError> for KbuildError {
    fn from(error: TreeError) -> Self {
        match error {
            TreeError::Store(error) => error.into(),
            TreeError::Interrupted => Self::Interrupted,
            error => Self::Tree(error),
        }
    }
}

impl KbuildError {
    /// Returns whether the error concerns this one kernel, so that others can continue.
    pub fn is_of_kernel(&self) -> bool {
        matches!(
            self,
            Self::NotBuilt
                | Self::NoSymbol { .. }
                | Self::Symbol { .. }
                | Self::Failed { .. }
                | Self::TreeFailed { .. }
                | Self::Lab { .. }
                | Self::Off { .. }
        )
    }
}
