//! The packages of kernels that a distribution's lists name.

use std::{collections::BTreeMap, path::Path};

use preemptlab_model::{Digest, Distro, KernelRef, Package, kernel_order, series};
use serde::{Deserialize, Serialize};

use crate::{
    Trouble,
    distribution::{Build, web::Client},
};

/// A package that a list names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listed {
    pub(crate) package: Package,
    /// Address of the file.
    pub(crate) url: String,
    /// Size of the file, in bytes.
    pub(crate) bytes: u64,
}

impl Listed {
    /// Returns the name of the file.
    pub(crate) fn file(&self) -> &str {
        self.url.rsplit('/').next().unwrap_or_default()
    }
}

/// A kernel that lists name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) build: Build,
    /// The package of its image, and those of its modules. One of them has the configuration.
    pub(crate) packages: Vec<Listed>,
    /// The smallest package with the configuration.
    pub(crate) config: Option<Listed>,
}

/// The lists of a distribution, and how they are read. Nobody trusts a mirror: something that the distribution
/// signed vouches for every package, be it the list or the package itself.
pub(crate) trait Lists {
    /// Returns the names of the lists, for messages.
    fn names(&self) -> &[String];

    /// Returns the digest of everything that the content of the lists depends on, but for the time.
    fn inputs(&self) -> Digest;

    /// Reads the packages of kernels that a list names. `part` is the path of a file for what is downloaded.
    fn read(&self, client: &Client, name: &str, part: &Path) -> Result<Vec<Listed>, Trouble>;

    /// Returns the kernels that packages make, in any order.
    fn kernels(&self, packages: &Packages<'_>) -> Vec<Found>;

    /// Refuses a downloaded package that nothing vouches for.
    fn vouch(&self, file: &Path, listed: &Listed) -> Result<(), Trouble>;
}

/// Packages by their names, the newest version of each first.
pub(crate) struct Packages<'a>(BTreeMap<&'a str, Vec<&'a Listed>>);

impl<'a> Packages<'a> {
    pub(crate) fn new(all: &'a [Listed]) -> Self {
        let mut by_name: BTreeMap<&str, Vec<&Listed>> = BTreeMap::new();
        for listed in all {
            by_name.entry(listed.package.name.as_str()).or_default().push(listed);
        }
        for versions in by_name.values_mut() {
            versions.sort_by(|a, b| b.package.version.order(&a.package.version));
            // Of two files of one version the first list's counts.
            versions.dedup_by(|a, b| a.package.version == b.package.version);
        }
        Self(by_name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.0.keys().copied()
    }

    /// Returns every version of a package, the newest first.
    pub(crate) fn versions(&self, name: &str) -> impl Iterator<Item = &'a Listed> {
        self.0.get(name).into_iter().flatten().copied()
    }

    /// Returns the newest version of a package.
    pub(crate) fn newest(&self, name: &str) -> Option<&'a Listed> {
        self.versions(name).next()
    }
}

/// Returns the build of a release (`uname -r`); `None` where the release is none of a kernel's in the
/// distribution's grammar.
pub(crate) fn build_of(distribution: Distro, release: &str) -> Option<Build> {
    let name: KernelRef = format!("{}:{release}", distribution.word()).parse().ok()?;
    let (version, flavour) = (name.version()?.to_owned(), name.flavour()?);
    let is_exact = series(&version) != version;
    is_exact.then(|| Build { distribution, version, flavour, release: release.to_owned() })
}

/// Sorts kernels, the oldest first.
pub(crate) fn sort(kernels: &mut [Found]) {
    kernels.sort_by(|Found { build: a, .. }, Found { build: b, .. }| {
        kernel_order(&a.version, &b.version).then(a.flavour.cmp(&b.flavour))
    });
}

/// Returns the address of a file that a list names below an address; `None` where its path leads elsewhere.
pub(crate) fn below(address: &str, path: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+~^%-/".contains(c);
    let is_part = |part: &str| !matches!(part, "" | "." | "..");
    let is_sound = path.chars().all(is_plain) && path.split('/').all(is_part);
    (is_sound && path.len() <= 1024).then(|| format!("{address}/{path}"))
}
