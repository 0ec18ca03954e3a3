//! The licence in a package of the user's own or of another distribution than Debian, and what the package says
//! of itself.

use std::{
    fs::File,
    io::{self, Read, Seek},
    path::Path,
};

use preemptlab_model::{Digest, Package};

use crate::{
    PackageFault,
    package::{self, Facts, Item, Kind, OWN_BOUNDS, damaged},
};

/// The most bytes of all licences in a package. Fedora's kernels have some 600 kB of them.
const LICENCES_BYTES_MAX: u64 = 16 << 20;

/// A package, as far as its licence goes.
pub(super) struct OwnPackage {
    pub(super) facts: Facts,
    /// Texts of the licence by their paths in the package.
    texts: Vec<(String, Vec<u8>)>,
    /// Target of a link in the licence's place.
    pub(super) link: Option<String>,
}

impl OwnPackage {
    /// Reads the package of a kernel out of its file; `None` where the file is no longer that package.
    pub(super) fn read(package: &Package, path: &Path) -> Result<Option<Self>, PackageFault> {
        let Some(file) = the_same(package, path)? else { return Ok(None) };
        let opened = package::open(file)?;
        let mut own = Self { facts: opened.facts.clone(), texts: Vec::new(), link: None };
        let mut left = LICENCES_BYTES_MAX;
        opened.each(OWN_BOUNDS, |item, content| own.take(item, content, &mut left))?;
        Ok(Some(own))
    }

    fn take(
        &mut self,
        item: &Item<'_>,
        content: &mut dyn Read,
        left: &mut u64,
    ) -> Result<(), PackageFault> {
        if !is_licence(item) {
            return Ok(());
        }
        let too_much = || {
            let mib = LICENCES_BYTES_MAX >> 20;
            PackageFault::TooMuch(format!("{mib} MiB of licences"))
        };
        *left = left.checked_sub(item.bytes).ok_or_else(too_much)?;
        let mut text = Vec::new();
        content.read_to_end(&mut text).map_err(damaged)?;
        match item.kind {
            Kind::File => self.texts.push((item.path.to_owned(), text)),
            _ => self.link = Some(String::from_utf8_lossy(&text).into_owned()),
        }
        Ok(())
    }

    /// Returns the text of the licence, of several each behind its path; empty where the package has none.
    pub(super) fn licence(&self) -> Vec<u8> {
        match self.texts.as_slice() {
            [(_, text)] => text.clone(),
            texts => {
                let headed = texts
                    .iter()
                    .map(|(path, text)| [path.as_bytes(), b":\n\n", text, b"\n"].concat());
                headed.collect::<Vec<_>>().concat()
            }
        }
    }
}

/// Opens a file, if it is this package.
fn the_same(package: &Package, path: &Path) -> Result<Option<File>, PackageFault> {
    let mut file = match preemptlab_files::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(damaged)?,
    };
    let is_same = Digest::of_reader(&file).map_err(damaged)? == package.sha256;
    file.rewind().map_err(damaged)?;
    Ok(is_same.then_some(file))
}

/// Returns whether an entry is a licence, where distributions have them (Debian Policy Manual, 12.5; Fedora
/// Packaging Guidelines, "License Text"), or a link in its place. In a `.deb` the whole folder may be one.
fn is_licence(item: &Item<'_>) -> bool {
    let is_of_fedora = item.path.starts_with("usr/share/licenses/");
    let below = item.path.strip_prefix("usr/share/doc/").unwrap_or_default();
    let is_of_debian = match below.split_once('/') {
        Some((_, name)) => name == "copyright",
        None => item.kind == Kind::Symlink && !below.is_empty(),
    };
    matches!(item.kind, Kind::File | Kind::Symlink | Kind::Hardlink)
        && (is_of_fedora || is_of_debian)
}
