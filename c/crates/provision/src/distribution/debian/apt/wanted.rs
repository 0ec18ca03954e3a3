use std::fmt;

use preemptlab_model::{Package, PackageName, PackageVersion, ParseTextError};

/// A package to ask apt for: the version that it prefers, or this one. The one thing that reaches
/// apt's command line from outside of this crate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wanted {
    pub(super) name: PackageName,
    pub(super) version: Option<PackageVersion>,
}

impl Wanted {
    /// Reads names of packages, each of which may carry a version: `zlib1g=1:1.3`.
    pub(super) fn all<N: AsRef<str>>(names: &[N]) -> Result<Vec<Self>, ParseTextError> {
        let wanted = names.iter().map(|name| match name.as_ref().split_once('=') {
            Some((name, version)) => {
                Ok(Self { name: name.parse()?, version: Some(version.parse()?) })
            }
            None => Ok(Self { name: name.as_ref().parse()?, version: None }),
        });
        wanted.collect()
    }

    /// Returns the request for the very version of a package.
    pub(super) fn exactly(package: &Package) -> Self {
        Self { name: package.name.clone(), version: Some(package.version.clone()) }
    }

    /// Returns whether a package meets the request.
    pub(super) fn is(&self, package: &Package) -> bool {
        package.name == self.name
            && self.version.as_ref().is_none_or(|version| package.version == *version)
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Some(version) => write!(f, "{}={version}", self.name),
            None => self.name.fmt(f),
        }
    }
}
