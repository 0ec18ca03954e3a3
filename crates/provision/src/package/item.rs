//! The values that both formats of packages are read as.

use preemptlab_model::{Digest, Package};

use super::error::PackageFault;

/// The longest path in a package, in bytes.
pub(super) const PATH_BYTES_MAX: usize = 4096;

/// The longest part of a path, in bytes (`NAME_MAX`, include/uapi/linux/limits.h).
const NAME_BYTES_MAX: usize = 255;

/// Bounds on the content of a package.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The most that it may unpack to, in bytes, with the headers of its entries.
    pub(crate) bytes: u64,
    /// The most entries that it may have.
    pub(crate) entries: usize,
}

/// Format of a package's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Of Debian and its kin (deb(5)).
    Deb,
    /// Of Fedora, openSUSE and their kin.
    Rpm,
}

/// The description of a package by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) format: Format,
    pub(crate) name: String,
    /// Version of the package, with its epoch and its release.
    pub(crate) version: String,
    /// Architecture of the package, in the words of its format.
    pub(crate) arch: String,
    /// Names of the packages that it depends on, of alternatives the first.
    pub(crate) needs: Vec<String>,
    /// The source package that it was built from, as the package says it: `NAME` or `NAME (VERSION)` in a
    /// `.deb`, `NAME-VERSION-RELEASE.src.rpm` in an `.rpm`; empty where it says none.
    pub(crate) source: String,
    /// Further source packages from which parts of it are, as `linux (= 6.12.118-1)`; empty for most.
    pub(crate) built_using: String,
    /// Name of the licence, which a `.deb` has in a file alone; empty where it says none.
    pub(crate) licence: String,
    /// Whoever made the package; empty where it says nobody.
    pub(crate) maker: String,
    /// Address of the program's page; empty where it says none.
    pub(crate) home: String,
}

impl Facts {
    /// Describes the package in the words of a recording, which are Debian's: an rpm's name may have capitals,
    /// and its version `_` and `^`, which become `+`.
    pub(crate) fn package(&self, sha256: Digest) -> Result<Package, PackageFault> {
        let (name, version) = match self.format {
            Format::Deb => (self.name.clone(), self.version.clone()),
            Format::Rpm => in_debian_s_words(&self.name, &self.version),
        };
        let word = |text: &str, kind| {
            let text: String = text.chars().take(100).collect();
            PackageFault::Word(text.escape_debug().to_string(), kind)
        };
        Ok(Package {
            name: name.parse().map_err(|_| word(&name, "name"))?,
            version: version.parse().map_err(|_| word(&version, "version"))?,
            sha256,
        })
    }
}

/// Returns an rpm's name and version in the grammar of Debian's.
pub(crate) fn in_debian_s_words(name: &str, version: &str) -> (String, String) {
    (name.to_lowercase(), version.replace(['_', '^'], "+"))
}

/// An entry of a package.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'a> {
    /// Path of the entry, without a slash or a dot before it. None of its parts is `..`.
    pub(crate) path: &'a str,
    pub(crate) kind: Kind,
    /// Permission bits of the entry.
    pub(crate) mode: u32,
    /// Time of the last change, in seconds since 1970.
    pub(crate) modified_unix_s: u64,
    /// Length of the content, in bytes. A link's content is its target, but a hard link's in an rpm is that
    /// of the file.
    pub(crate) bytes: u64,
}

/// Kind of a package's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Symlink,
    Hardlink,
    /// A device, a pipe or the like.
    Special,
}

/// Counts the entries of a package.
pub(super) fn count(entries: &mut usize, entries_max: usize) -> Result<(), PackageFault> {
    *entries += 1;
    match *entries > entries_max {
        true => Err(PackageFault::TooMuch(format!("{entries_max} files"))),
        false => Ok(()),
    }
}

/// Returns the path of an entry, if it leads to a place in the package; an empty one for the root.
pub(super) fn sound(path: &[u8]) -> Result<&str, PackageFault> {
    let refused = |why| PackageFault::Entry { path: shown(path), why };
    if path.len() > PATH_BYTES_MAX {
        return Err(refused("a path that is too long"));
    }
    let text = str::from_utf8(path).map_err(|_| refused("a path that is no text"))?;
    if text.contains(|c: char| c.is_control()) {
        return Err(refused("a path that no reader could see"));
    }
    let text = text.strip_prefix("./").unwrap_or(text);
    let text = text.strip_suffix('/').unwrap_or(text);
    if matches!(text, "" | ".") {
        return Ok("");
    }
    if text.starts_with('/') {
        return Err(refused("a path from the machine's root"));
    }
    if text.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(refused("a path that may lead out of the package"));
    }
    match text.split('/').any(|part| part.len() > NAME_BYTES_MAX) {
        true => Err(refused("a name that is too long")),
        false => Ok(text),
    }
}

/// Returns the beginning of a path for a message.
pub(super) fn shown(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path);
    text.chars().take(200).collect::<String>().escape_debug().to_string()
}
