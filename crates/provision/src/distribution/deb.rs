//! Reading Debian packages. `dpkg-deb` decompresses them, whatever their compression; the tar
//! inside is read here, where an entry cannot reach outside the folder it is unpacked into.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tar::{Archive, EntryType};

use crate::process::tied;

/// The largest file that is read into memory, in bytes.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// The most that a package may unpack to, in bytes.
const PACKAGE_BYTES_MAX: u64 = 8 << 30;

/// Reason why a package cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DebError {
    /// `dpkg-deb` is not there.
    #[error("`dpkg-deb` cannot be run ({0}); it is part of Debian's package dpkg")]
    Tool(io::Error),
    /// The package is damaged, or the place to unpack it to is.
    #[error("the package `{}` cannot be unpacked: {reason}", path.display())]
    Unreadable {
        /// Path of the package.
        path: PathBuf,
        /// Damage, in words.
        reason: String,
    },
}

/// Something that a package holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Path of the entry, without a slash or a dot before it.
    pub path: String,
    /// Permission bits of the entry.
    pub mode: u32,
    /// Content of the entry.
    pub content: Content,
}

/// Content of a package's entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A folder.
    Folder,
    /// A file with these bytes.
    File(Vec<u8>),
    /// A symbolic link to this.
    Symlink(String),
    /// Another name of the file at this path, which has no slash or dot before it.
    Hardlink(String),
}

/// Reads the wanted entries of a package into memory.
///
/// # Errors
///
/// [`DebError`]
pub fn read(deb: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<Entry>, DebError> {
    let mut entries = Vec::new();
    visit(deb, |path, entry| {
        if !wanted(path) {
            return Ok(());
        }
        let header = entry.header();
        let mode = header.mode()? & 0o7777;
        let content = match header.entry_type() {
            EntryType::Directory => Content::Folder,
            EntryType::Symlink => Content::Symlink(link(entry)?),
            EntryType::Link => Content::Hardlink(plain(&link(entry)?).to_owned()),
            EntryType::Regular => {
                if entry.size() > FILE_BYTES_MAX {
                    return Err(io::Error::other(format!("{path} is too large")));
                }
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes)?;
                Content::File(bytes)
            }
            other => return Err(io::Error::other(format!("{path} is of the type {other:?}"))),
        };
        entries.push(Entry { path: path.to_owned(), mode, content });
        Ok(())
    })?;
    Ok(entries)
}

/// Unpacks a package into a folder.
///
/// # Errors
///
/// [`DebError`]
pub fn unpack(deb: &Path, folder: &Path) -> Result<(), DebError> {
    visit(deb, |_, entry| entry.unpack_in(folder).map(drop))
}

/// The entries of a package as a stream.
pub(crate) type Stream<'a> = tar::Entry<'a, io::Take<std::process::ChildStdout>>;

/// Calls `each` with every entry of a package and its path.
pub(crate) fn visit(
    deb: &Path,
    mut each: impl FnMut(&str, &mut Stream<'_>) -> io::Result<()>,
) -> Result<(), DebError> {
    let unreadable = |reason: String| DebError::Unreadable { path: deb.to_owned(), reason };
    let mut command = Command::new("dpkg-deb");
    command.arg("--fsys-tarfile").arg(deb).env("LC_ALL", "C");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = tied(&mut command).spawn().map_err(DebError::Tool)?;
    let read = child.stdout.take().map_or(Ok(()), |stdout| {
        let mut archive = Archive::new(stdout.take(PACKAGE_BYTES_MAX));
        for entry in archive.entries()? {
            let mut entry = entry?;
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            each(plain(&path), &mut entry)?;
        }
        // The archive's end is followed by padding, and dpkg-deb must not find its reader gone.
        io::copy(&mut archive.into_inner(), &mut io::sink()).map(drop)
    });
    let output = child.wait_with_output().map_err(DebError::Tool)?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    match read {
        // A damaged package shows as a broken archive first; dpkg-deb knows the cause better.
        Err(error) if complaint.trim().is_empty() => Err(unreadable(error.to_string())),
        Ok(()) if output.status.success() => Ok(()),
        _ => Err(unreadable(complaint.trim().to_owned())),
    }
}

fn link(entry: &Stream<'_>) -> io::Result<String> {
    let target =
        entry.link_name_bytes().ok_or_else(|| io::Error::other("a link without target"))?;
    Ok(String::from_utf8_lossy(&target).into_owned())
}

/// Returns a path without the dots and slashes that dpkg puts around it.
fn plain(path: &str) -> &str {
    path.trim_start_matches("./").trim_matches('/')
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// Builds a package that holds one file at `usr/share/NAME`, and a link to it.
    pub(crate) fn build(folder: &Path, name: &str, version: &str, depends: &str) -> PathBuf {
        let tree = folder.join(format!("{name}-{version}"));
        fs::create_dir_all(tree.join("DEBIAN")).unwrap();
        fs::create_dir_all(tree.join("usr/share")).unwrap();
        let control = format!(
            "Package: {name}\nVersion: {version}\nArchitecture: amd64\nDepends: {depends}\n\
             Maintainer: nobody <nobody@invalid>\nDescription: a test\n"
        );
        fs::write(tree.join("DEBIAN/control"), control.replace("Depends: \n", "")).unwrap();
        fs::write(tree.join("usr/share").join(name), version).unwrap();
        symlink(name, tree.join("usr/share/link")).unwrap();
        let deb = folder.join(format!("{name}_{version}_amd64.deb"));
        let built = Command::new("dpkg-deb")
            .args(["--root-owner-group", "--build"])
            .args([&tree, &deb])
            .stdout(Stdio::null())
            .status();
        assert!(built.unwrap().success());
        deb
    }

    #[test]
    fn entries_are_read_and_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let deb = build(folder.path(), "tool", "1.0", "");
        let entries = read(&deb, |path| path.starts_with("usr/share/")).unwrap();
        let contents: Vec<_> = entries.iter().map(|e| (e.path.as_str(), &e.content)).collect();
        assert_eq!(
            contents,
            [
                ("usr/share/tool", &Content::File(b"1.0".into())),
                ("usr/share/link", &Content::Symlink("tool".into())),
            ]
        );
        let tree = folder.path().join("tree");
        fs::create_dir(&tree).unwrap();
        unpack(&deb, &tree).unwrap();
        assert_eq!(fs::read_to_string(tree.join("usr/share/link")).unwrap(), "1.0");
    }

    #[test]
    fn a_damaged_package_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let deb = build(folder.path(), "tool", "1.0", "");
        let bytes = fs::read(&deb).unwrap();
        for damaged in [&bytes[..bytes.len() / 2], b"not a package", b""] {
            fs::write(&deb, damaged).unwrap();
            assert!(matches!(read(&deb, |_| true), Err(DebError::Unreadable { .. })));
        }
    }
}
