use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Arch, Flavour, PackageVersion};

/// A distribution that packages kernels.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Distro {
    /// Debian.
    #[default]
    Debian,
}

impl Distro {
    /// Every distribution.
    const ALL: [Self; 1] = [Self::Debian];

    /// Returns the word before the colon in the names of its kernels: `debian`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Debian => "debian",
        }
    }

    /// Finds the distribution whose kernels' names begin with a word.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|distribution| distribution.word() == word)
    }

    /// Returns whether it is Debian, which recordings and journals do not name.
    pub const fn is_debian(&self) -> bool {
        matches!(self, Self::Debian)
    }

    /// Returns the command that installs packages, to be executed as root and without a shell.
    pub fn install(self, packages: &[&str]) -> Vec<String> {
        let words: &[&str] = match self {
            Self::Debian => &["apt-get", "install"],
        };
        words.iter().chain(packages).map(|&word| word.to_owned()).collect()
    }

    /// Returns a package in exactly this version, as [`Distro::install`] takes it.
    pub fn exactly(self, package: &str, version: &PackageVersion) -> String {
        match self {
            Self::Debian => format!("{package}={version}"),
        }
    }

    /// Returns the name of the package that installs the kernel of a release, whatever packages the
    /// image itself came from: from 6.19 on Debian's depends on `linux-binary-`, `linux-base-` and
    /// `linux-modules-RELEASE`, all of its version.
    pub fn kernel_package(self, release: &str) -> String {
        match self {
            Self::Debian => format!("linux-image-{release}"),
        }
    }

    /// Returns whether a package of this name holds a kernel's image.
    pub fn holds_image(self, package: &str) -> bool {
        match self {
            Self::Debian => {
                package.starts_with("linux-image-") || package.starts_with("linux-binary-")
            }
        }
    }

    /// Returns the name of the package that follows the newest kernel of a flavour on this machine.
    pub fn metapackage(self, flavour: Flavour) -> String {
        match self {
            Self::Debian => {
                format!("linux-image{}-{}", flavour.suffix(), Arch::HOST.platform().debian)
            }
        }
    }

    /// Says which suite a package's version is in, where the version tells.
    pub fn suite(self, version: &PackageVersion) -> Option<String> {
        match self {
            Self::Debian => {
                let (_, rest) = version.as_str().split_once("~bpo")?;
                let debian: String = rest.chars().take_while(char::is_ascii_digit).collect();
                Some(format!("The package is in the backports of Debian {debian}."))
            }
        }
    }
}
