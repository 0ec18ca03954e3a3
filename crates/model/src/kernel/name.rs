//! The name of a kernel as a value, and what it tells of the kernel.

use std::{cmp::Ordering, path::PathBuf};

use crate::{ConfigBase, Configured, Distro, Flavour, Symbols, kernel_order, plain};

/// A kernel as a person names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelRef {
    /// `debian:VERSION[-rt|-cloud]`, `ubuntu:VERSION[-lowlatency]`, `fedora:VERSION`: a series (`6.12`) or
    /// an exact version (`6.12.107+deb13`, `6.8.0-31`, `6.14.5-300.fc42`) of a distribution's packages.
    Packaged {
        /// The distribution, whose word the name begins with.
        distribution: Distro,
        /// The series or the exact version.
        version: String,
        /// Flavour of the kernel.
        flavour: Flavour,
    },
    /// `source:VERSION[-rt|-cloud][,config=BASE][+SYMBOL=VALUE...]`: Debian's source, built with
    /// Debian's configuration of the flavour, or with another one, but for these symbols.
    Source {
        /// The series (`6.12`) or the kernel's own version (`6.12.107`).
        version: String,
        /// Configuration of the kernel.
        configured: Box<Configured>,
    },
    /// `file:BZIMAGE[,modules=FOLDER]`.
    File {
        /// Path of the bzImage.
        image: PathBuf,
        /// A folder with the kernel's modules, as in `/lib/modules/RELEASE`.
        modules: Option<PathBuf>,
    },
    /// `package:FILE[,FILE...]`: a kernel in packages that somebody downloaded, `.deb` or `.rpm`.
    Package {
        /// Paths of the packages. One of them holds the kernel's image, the others its modules.
        files: Vec<PathBuf>,
    },
    /// `tree:PATH[,config=BASE][,clean][,nodiff][+SYMBOL=VALUE...]`: a working tree as it is, built
    /// outside of the tree.
    Tree {
        /// Path of the tree.
        path: PathBuf,
        /// Configuration of the kernel.
        configured: Box<Configured>,
        /// Whether a tree with changes that are not committed is refused.
        clean: bool,
        /// Whether the recording is to hold no difference from the commit.
        nodiff: bool,
    },
    /// `git:PATH@REVISION[,config=BASE][+SYMBOL=VALUE...]`: a revision of a repository.
    Git {
        /// Path of the repository or of one of its working trees.
        path: PathBuf,
        /// The revision, as git reads it.
        revision: String,
        /// Configuration of the kernel.
        configured: Box<Configured>,
    },
    /// `host[:RELEASE]`: a kernel that is installed on the machine itself, by its `uname -r`; without
    /// one, that which runs.
    Host {
        /// Release of the installed kernel; `None` for the running one.
        release: Option<String>,
    },
}

impl KernelRef {
    /// Returns the flavour that the name says; `None` where it says none.
    pub const fn flavour(&self) -> Option<Flavour> {
        match self {
            Self::Packaged { flavour, .. } => Some(*flavour),
            Self::Source { configured, .. } => match configured.base {
                ConfigBase::Debian(flavour) => Some(flavour),
                ConfigBase::Lab | ConfigBase::File(_) => None,
            },
            Self::File { .. }
            | Self::Package { .. }
            | Self::Tree { .. }
            | Self::Git { .. }
            | Self::Host { .. } => None,
        }
    }

    /// Returns the distribution whose package installs the kernel; `None` where none does.
    pub const fn packager(&self) -> Option<Distro> {
        match self {
            Self::Packaged { distribution, .. } => Some(*distribution),
            Self::Source { .. }
            | Self::File { .. }
            | Self::Package { .. }
            | Self::Tree { .. }
            | Self::Git { .. }
            | Self::Host { .. } => None,
        }
    }

    /// Returns the distribution whose source the kernel is built from, by the distribution or here;
    /// `None` where the name does not tell.
    pub const fn source_of(&self) -> Option<Distro> {
        match self {
            Self::Packaged { distribution, .. } => Some(*distribution),
            Self::Source { .. } => Some(Distro::Debian),
            Self::File { .. }
            | Self::Package { .. }
            | Self::Tree { .. }
            | Self::Git { .. }
            | Self::Host { .. } => None,
        }
    }

    /// Returns the version or the series in the name; `None` where it has none that is ordered.
    pub fn version(&self) -> Option<&str> {
        match self {
            Self::Packaged { version, .. } | Self::Source { version, .. } => Some(version),
            Self::File { .. }
            | Self::Package { .. }
            | Self::Tree { .. }
            | Self::Git { .. }
            | Self::Host { .. } => None,
        }
    }

    /// Compares the versions in two names, the older one first. Names without a version are equal,
    /// and after those with one.
    pub fn version_order(&self, other: &Self) -> Ordering {
        match (self.version(), other.version()) {
            (Some(one), Some(other)) => kernel_order(one, other),
            (one, other) => one.is_none().cmp(&other.is_none()),
        }
    }

    /// Returns the line of the kernel, along which versions are neighbours: its flavour, behind the word of
    /// another distribution than Debian, or the name of the built kernel without its version. Kernels without
    /// a version are one line.
    pub fn line(&self) -> String {
        match self {
            Self::Packaged { distribution, flavour, .. } if !distribution.is_debian() => {
                format!("{}{}", distribution.word(), flavour.suffix())
            }
            Self::Packaged { flavour: Flavour::Generic, .. } => "generic".to_owned(),
            Self::Packaged { flavour, .. } => flavour.suffix().to_owned(),
            Self::Source { version, .. } => {
                let name = self.to_string().replacen(version, "", 1).replacen("source:", "", 1);
                format!("source {name}").trim_end().to_owned()
            }
            Self::File { .. }
            | Self::Package { .. }
            | Self::Tree { .. }
            | Self::Git { .. }
            | Self::Host { .. } => "others".to_owned(),
        }
    }

    /// Returns the part of the name that [`KernelRef::line`] does not tell: the version, or the end of
    /// a path, a revision or a release.
    pub fn place_in_line(&self) -> String {
        match self.version() {
            Some(version) => version.to_owned(),
            None => {
                // The end of a path or of a revision tells more than its beginning.
                let name = match self {
                    Self::Package { files } => {
                        files.first().map_or_else(String::new, |file| file.display().to_string())
                    }
                    _ => self.to_string(),
                };
                let end = name.rsplit(['/', '@', ':']).next().unwrap_or(&name);
                plain::line(end).into_owned()
            }
        }
    }

    /// Returns whether it is a kernel of the machine itself.
    pub const fn is_host(&self) -> bool {
        matches!(self, Self::Host { .. })
    }

    /// Returns whether it is the kernel that runs on the machine, whichever that is.
    pub const fn is_running(&self) -> bool {
        matches!(self, Self::Host { release: None })
    }

    /// Returns the release of a kernel of the machine itself; `None` for the running one and for
    /// every other kernel.
    pub fn host_release(&self) -> Option<&str> {
        match self {
            Self::Host { release } => release.as_deref(),
            Self::Packaged { .. }
            | Self::Source { .. }
            | Self::File { .. }
            | Self::Package { .. }
            | Self::Tree { .. }
            | Self::Git { .. } => None,
        }
    }

    /// Returns the symbols that the name sets, where its kernel is built.
    pub fn symbols(&self) -> Option<&Symbols> {
        match self {
            Self::Source { configured, .. }
            | Self::Tree { configured, .. }
            | Self::Git { configured, .. } => Some(&configured.symbols),
            Self::Packaged { .. }
            | Self::File { .. }
            | Self::Package { .. }
            | Self::Host { .. } => None,
        }
    }

    /// Returns the same version and symbols in another flavour. A kernel in a file or in
    /// packages of the user's own, one from a tree, an installed kernel, one whose configuration is not
    /// Debian's and one of a distribution without that flavour stay the same.
    #[must_use]
    pub fn in_flavour(&self, flavour: Flavour) -> Self {
        match self.clone() {
            Self::Packaged { distribution, version, .. }
                if distribution.flavours().contains(&flavour) =>
            {
                Self::Packaged { distribution, version, flavour }
            }
            Self::Source { version, mut configured } => {
                if matches!(configured.base, ConfigBase::Debian(_)) {
                    configured.base = ConfigBase::Debian(flavour);
                }
                Self::Source { version, configured }
            }
            other @ (Self::Packaged { .. }
            | Self::File { .. }
            | Self::Package { .. }
            | Self::Tree { .. }
            | Self::Git { .. }
            | Self::Host { .. }) => other,
        }
    }
}
