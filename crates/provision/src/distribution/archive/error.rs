use std::{io, path::PathBuf};

use super::other::Other;
use crate::{SignatureError, Trouble};

/// Reason why a distribution other than Debian gives no kernel.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// No mirror is known.
    #[error(
        "no mirror of {} is known; name one with `--set {}=URL`, or in the file that `preemptlab util config` \
         names",
        .0.distribution().title(), .0.key()
    )]
    NoMirror(Other),
    /// The given text is no address.
    #[error("`{text}` is no mirror's URL; `{}` should look like `{}`", of.key(), of.example())]
    Url {
        /// The distribution.
        of: Other,
        /// The text.
        text: String,
    },
    /// The given text is no suite.
    #[error(
        "`{0}` is no suite of Ubuntu; `ubuntu.suites` should name such as `noble` and `noble-updates`"
    )]
    Suite(String),
    /// A file with keys cannot be read.
    #[error("the keys in `{}` cannot be read: {error}", path.display())]
    KeysUnreadable {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// A file holds no keys that can be used.
    #[error("the keys in `{}` cannot be used: {error}", path.display())]
    Keys {
        /// The file.
        path: PathBuf,
        /// Reason, in words.
        error: SignatureError,
    },
    /// A list cannot be had.
    #[error("the list of kernels in `{name}` of {} cannot be had: {}", of.distribution().title(), of_mirror(*of, trouble))]
    List {
        /// The distribution.
        of: Other,
        /// The suite or the repository.
        name: String,
        /// Cause.
        trouble: Trouble,
    },
    /// A package cannot be had.
    #[error("the package `{file}` of {} cannot be had: {}", of.distribution().title(), of_mirror(*of, trouble))]
    Package {
        /// The distribution.
        of: Other,
        /// Name of the file.
        file: String,
        /// Cause.
        trouble: Trouble,
    },
    /// No list has the package of a recording.
    #[error(
        "the mirror of {} no longer offers the package {name}, and the store lacks it; `{}` may name another",
        of.distribution().title(), of.key()
    )]
    Gone {
        /// The distribution.
        of: Other,
        /// Name and version of the package.
        name: String,
    },
    /// The environment names a proxy that cannot be used.
    #[error("the proxy of the environment cannot be used: {0}")]
    Proxy(Trouble),
    /// The keys that this program brings cannot be read.
    #[error(transparent)]
    Brought(#[from] SignatureError),
}

impl ArchiveError {
    /// Returns whether the user's configuration or the mirror's answer is refused. Else this machine, the
    /// network or the mirror failed.
    pub fn is_refused(&self) -> bool {
        match self {
            Self::NoMirror(_)
            | Self::Url { .. }
            | Self::Suite(_)
            | Self::KeysUnreadable { .. }
            | Self::Keys { .. }
            | Self::Gone { .. } => true,
            Self::List { trouble, .. } | Self::Package { trouble, .. } => {
                trouble.is_refused() || matches!(trouble, Trouble::Other(_))
            }
            Self::Proxy(_) | Self::Brought(_) => false,
        }
    }
}

/// Returns a cause with the advice that fits the distribution's own mirror and keys.
fn of_mirror(of: Other, trouble: &Trouble) -> String {
    let (key, word) = (of.key(), of.distribution().word());
    match trouble {
        Trouble::Signature(text) => format!(
            "its signature cannot be verified ({text}); `--set {word}.keys=FILE` names further keys of {}",
            of.distribution().title()
        ),
        Trouble::Missing => {
            format!("the mirror does not have it; name another with `--set {key}=URL`")
        }
        Trouble::Corrupted(text) => format!(
            "it came corrupted ({text}); try again later, or name another mirror with `--set {key}=URL`"
        ),
        Trouble::Unreachable(text) => format!(
            "the mirror cannot be reached ({text}); check the network and its proxy, or name another mirror \
             with `--set {key}=URL`"
        ),
        Trouble::Expired { .. } | Trouble::NotYetValid | Trouble::DiskFull | Trouble::Other(_) => {
            trouble.to_string()
        }
    }
}
