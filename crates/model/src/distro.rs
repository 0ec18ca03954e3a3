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
    /// Ubuntu.
    Ubuntu,
    /// Fedora.
    Fedora,
}

impl Distro {
    /// Every distribution.
    pub const ALL: [Self; 3] = [Self::Debian, Self::Ubuntu, Self::Fedora];

    /// Returns its name, as it writes it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Debian => "Debian",
            Self::Ubuntu => "Ubuntu",
            Self::Fedora => "Fedora",
        }
    }

    /// Returns the word before the colon in the names of its kernels: `debian`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Debian => "debian",
            Self::Ubuntu => "ubuntu",
            Self::Fedora => "fedora",
        }
    }

    /// Returns the flavours of its kernels.
    pub const fn flavours(self) -> &'static [Flavour] {
        match self {
            Self::Debian => &[Flavour::Generic, Flavour::Rt, Flavour::Cloud],
            Self::Ubuntu => &[Flavour::Generic, Flavour::Lowlatency],
            Self::Fedora => &[Flavour::Generic],
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
            Self::Debian | Self::Ubuntu => &["apt-get", "install"],
            Self::Fedora => &["dnf", "install"],
        };
        words.iter().chain(packages).map(|&word| word.to_owned()).collect()
    }

    /// Returns a package in exactly this version, as [`Distro::install`] takes it.
    pub fn exactly(self, package: &str, version: &PackageVersion) -> String {
        match self {
            Self::Debian | Self::Ubuntu => format!("{package}={version}"),
            // The name of a kernel's package, as `kernel_package` returns it, holds its version.
            Self::Fedora => package.to_owned(),
        }
    }

    /// Returns the name of the package that installs the kernel of a release, whatever packages the
    /// image itself came from: from 6.19 on Debian's depends on `linux-binary-`, `linux-base-` and
    /// `linux-modules-RELEASE`, all of its version.
    pub fn kernel_package(self, release: &str) -> String {
        match self {
            Self::Debian | Self::Ubuntu => format!("linux-image-{release}"),
            Self::Fedora => {
                // A release is a version with the architecture behind it: `6.14.5-300.fc42.x86_64`.
                let version = release.rsplit_once('.').map_or(release, |(version, _)| version);
                format!("kernel-{version}")
            }
        }
    }

    /// Returns whether a package of this name holds a kernel's image.
    pub fn holds_image(self, package: &str) -> bool {
        match self {
            Self::Debian => {
                package.starts_with("linux-image-") || package.starts_with("linux-binary-")
            }
            Self::Ubuntu => package.starts_with("linux-image-"),
            Self::Fedora => package == "kernel-core",
        }
    }

    /// Returns the name of the package that follows the newest kernel of a flavour on this machine.
    pub fn metapackage(self, flavour: Flavour) -> String {
        match self {
            Self::Debian => {
                format!("linux-image{}-{}", flavour.suffix(), Arch::HOST.platform().debian)
            }
            Self::Ubuntu if flavour == Flavour::Generic => "linux-image-generic".to_owned(),
            Self::Ubuntu => format!("linux-image{}", flavour.suffix()),
            Self::Fedora => "kernel".to_owned(),
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
            Self::Ubuntu | Self::Fedora => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_distribution_names_the_packages_of_a_kernel() {
        let version: PackageVersion = "6.14.5-300.fc42".parse().unwrap();
        for (distribution, release, package, exactly, meta) in [
            (
                Distro::Ubuntu,
                "6.8.0-31-lowlatency",
                "linux-image-6.8.0-31-lowlatency",
                "linux-image-6.8.0-31-lowlatency=6.14.5-300.fc42",
                "linux-image-lowlatency",
            ),
            (
                Distro::Fedora,
                "6.14.5-300.fc42.x86_64",
                "kernel-6.14.5-300.fc42",
                "kernel-6.14.5-300.fc42",
                "kernel",
            ),
        ] {
            let named = distribution.kernel_package(release);
            assert_eq!(named, package);
            assert_eq!(distribution.exactly(&named, &version), exactly);
            let flavour = *distribution.flavours().last().unwrap();
            assert_eq!(distribution.metapackage(flavour), meta);
        }
        assert_eq!(Distro::Ubuntu.metapackage(Flavour::Generic), "linux-image-generic");
        assert!(Distro::Fedora.holds_image("kernel-core"));
        assert!(!Distro::Fedora.holds_image("kernel-modules-core"));
        assert_eq!(Distro::Fedora.install(&["kernel"]), ["dnf", "install", "kernel"]);
    }
}
