//! The licences of packages, and the places of their sources.

use std::{collections::BTreeMap, path::Path};

use preemptlab_model::{Digest, Package};
use serde::Serialize;

use super::{CapsuleError, form::package_name, own::OwnPackage};
use crate::{
    distribution::deb::{self, Content},
    package::{Facts, Format},
};

/// The most characters of each thing that a package says which is not Debian's.
const SAID_MAX: usize = 1_000;

/// Source of a package, and its licence.
#[derive(Debug, Serialize)]
pub(super) struct Source {
    package: String,
    version: String,
    sha256: Digest,
    /// The source package, and its version; empty where a package says none that is not
    /// Debian's.
    source: String,
    source_version: String,
    /// Further source packages from which parts of it are, as `linux (= 6.12.118-1)`; empty for most.
    built_using: String,
    /// The capsule's file with the licence, or the one in a package; `None` where the package has none.
    licence: Option<String>,
    /// The words of a package that is not Debian's.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    own: Option<OwnWords>,
}

/// The words of a package of the user's own, of Ubuntu or of Fedora about itself, each empty where it has none.
/// Debian's packages need none, since all their sources are in one place.
#[derive(Debug, Serialize)]
struct OwnWords {
    /// Name of the licence.
    licence_name: String,
    maker: String,
    /// Address of the program's page.
    home: String,
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

    /// Adds a package that is not Debian's, of which the capsule holds some files, with its licence and what it says
    /// of its source. Returns whether its file is still there.
    pub(super) fn add_own(&mut self, package: &Package, path: &Path) -> Result<bool, CapsuleError> {
        let fault = |fault| CapsuleError::Own { path: path.to_owned(), fault };
        let mut source = Source {
            package: package.name.to_string(),
            version: package.version.to_string(),
            sha256: package.sha256,
            source: String::new(),
            source_version: String::new(),
            built_using: String::new(),
            licence: None,
            own: None,
        };
        let read = OwnPackage::read(package, path).map_err(fault)?;
        let is_there = read.is_some();
        if let Some(read) = read {
            let (text, facts) = (read.licence(), &read.facts);
            source.licence = match text.is_empty() {
                true => read.link.as_deref().map(|target| format!("that of {}", word(target))),
                false => {
                    let name = format!("licences/{}_{}", package.name, package.version);
                    self.texts.insert(name.clone(), text);
                    Some(name)
                }
            };
            let (name, version) = source_of_own(facts);
            (source.source, source.source_version) = (word(name), word(version));
            source.built_using = word(&facts.built_using);
            let [licence_name, maker, home] =
                [&facts.licence, &facts.maker, &facts.home].map(|it| word(it));
            source.own = Some(OwnWords { licence_name, maker, home });
        }
        self.sources.insert(package.clone(), source);
        Ok(is_there)
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
            own: None,
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

/// Returns the name and the version of the source of a package that is not Debian's. An rpm says them as
/// `NAME-VERSION-RELEASE.src.rpm`, or not at all.
fn source_of_own(facts: &Facts) -> (&str, &str) {
    let Facts { format, name, version, source, .. } = facts;
    if *format == Format::Deb {
        return source_of(source, name, version);
    }
    let file = [".src.rpm", ".nosrc.rpm"].iter().find_map(|end| source.strip_suffix(end));
    let place = file.and_then(|file| file.rmatch_indices('-').nth(1));
    match (file, place) {
        (Some(file), Some((place, _))) => (&file[..place], &file[place + 1..]),
        _ => (source, ""),
    }
}

/// Returns the beginning of what a package says, without what no reader could see.
fn word(said: &str) -> String {
    said.chars().filter(|char| !char.is_control()).take(SAID_MAX).collect()
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

    #[test]
    fn the_source_of_an_rpm_is_told_by_its_file() {
        let of = |source: &str| {
            let mut package =
                preemptlab_testkit::packages::Package::new("k-core", "6.11-1", "x86_64");
            package.source = source.to_owned();
            let facts = crate::package::open(&*package.rpm()).unwrap().facts;
            let (name, version) = source_of_own(&facts);
            (name.to_owned(), version.to_owned())
        };
        let said = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        assert_eq!(of("kernel-6.11.4-301.fc41.src.rpm"), said("kernel", "6.11.4-301.fc41"));
        assert_eq!(of("k-rt-6.11-1.nosrc.rpm"), said("k-rt", "6.11-1"));
        for odd in ["", "kernel", "kernel.src.rpm", "-.src.rpm"] {
            assert_eq!(of(odd), said(odd, ""));
        }
    }
}
