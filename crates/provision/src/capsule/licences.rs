//! The licences of packages, and the places of their sources.

use std::{collections::BTreeMap, path::Path};

use preemptlab_model::{Digest, Package};
use serde::Serialize;

use super::{CapsuleError, form::package_name};
use crate::distribution::deb::{self, Content};

/// Source of a package, and its licence.
#[derive(Debug, Serialize)]
pub(super) struct Source {
    package: String,
    version: String,
    sha256: Digest,
    /// The source package, and its version.
    source: String,
    source_version: String,
    /// Further source packages from which parts of it are, as `linux (= 6.12.118-1)`; empty for most.
    built_using: String,
    /// The capsule's file with the licence, or the one in a package; `None` where the package has none.
    licence: Option<String>,
}

/// The licences by their names in a capsule, and the sources by package.
#[derive(Debug, Default)]
pub(super) struct Licences {
    pub(super) texts: BTreeMap<String, Vec<u8>>,
    sources: BTreeMap<Package, Source>,
}

impl Licences {
    /// Adds a package that the capsule holds itself.
    pub(super) fn add_packed(&mut self, package: &Package, deb: &Path) -> Result<(), CapsuleError> {
        let (at, name) = (package_name(package.sha256), &package.name);
        let licence = format!("usr/share/doc/{name}/copyright in {at}");
        self.add_source(package, deb, Some(licence))
    }

    /// Adds a package of which the capsule holds some files, with its licence.
    pub(super) fn add_licence(
        &mut self,
        package: &Package,
        deb: &Path,
    ) -> Result<(), CapsuleError> {
        if self.sources.contains_key(package) {
            return Ok(());
        }
        let folder = format!("usr/share/doc/{}", package.name);
        let file = format!("{folder}/copyright");
        let entries = deb::read(deb, |path| path == folder || path == file)?;
        let mut licence = None;
        for entry in entries {
            match entry.content {
                Content::File(text) => {
                    let name = format!("licences/{}_{}", package.name, package.version);
                    self.texts.insert(name.clone(), text);
                    licence = Some(name);
                }
                // Packages of one source share a folder.
                Content::Symlink(target) | Content::Hardlink(target) => {
                    licence = Some(format!("that of {target}"));
                }
                Content::Folder => {}
            }
        }
        self.add_source(package, deb, licence)
    }

    fn add_source(
        &mut self,
        package: &Package,
        deb: &Path,
        licence: Option<String>,
    ) -> Result<(), CapsuleError> {
        let facts = deb::facts(deb)?;
        let version = package.version.to_string();
        let (source, source_version) = source_of(&facts.source, &package.name, &version);
        let source = Source {
            package: package.name.to_string(),
            version: version.clone(),
            sha256: package.sha256,
            source: source.to_owned(),
            source_version: source_version.to_owned(),
            built_using: facts.built_using,
            licence,
        };
        self.sources.insert(package.clone(), source);
        Ok(())
    }

    /// Returns the sources, sorted by package.
    pub(super) fn sources(&self) -> Vec<&Source> {
        self.sources.values().collect()
    }
}

/// Returns the name and the version of the source in a field `NAME` or `NAME (VERSION)`; those of the package
/// where it says none (Debian Policy Manual, 5.6.1).
fn source_of<'a>(said: &'a str, name: &'a str, version: &'a str) -> (&'a str, &'a str) {
    match said.trim().split_once(" (") {
        Some((source, version)) => (source, version.trim_end_matches(')')),
        None if said.trim().is_empty() => (name, version),
        None => (said.trim(), version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_its_own_version_where_it_says_one() {
        assert_eq!(source_of("", "zlib1g", "1:1.3"), ("zlib1g", "1:1.3"));
        assert_eq!(source_of("zlib\n", "zlib1g", "1:1.3"), ("zlib", "1:1.3"));
        assert_eq!(source_of("linux-signed (6.12+1)\n", "l", "6.12-1"), ("linux-signed", "6.12+1"));
    }
}
