//! Files out of Debian packages, into memory or a folder. No entry reaches outside of the folder that it is
//! unpacked into.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read},
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::package::{self, Bounds, Facts, Format, Item, Kind, Opened, PackageFault, damaged};

/// The largest file that is read into memory, in bytes.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// The bounds of a package. The source of Linux comes as an archive in a package.
const BOUNDS: Bounds = Bounds { bytes: 8 << 30, entries: 500_000 };

/// Reason why a package cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DebError {
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
    visit(deb, |item, content| {
        let path = item.path;
        if !wanted(path) {
            return Ok(());
        }
        if item.bytes > FILE_BYTES_MAX {
            return Err(io::Error::other(format!("{path} is too large")));
        }
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        let text = || String::from_utf8_lossy(&bytes);
        let content = match item.kind {
            Kind::Folder => Content::Folder,
            Kind::Symlink => Content::Symlink(text().into_owned()),
            Kind::Hardlink => Content::Hardlink(plain(&text()).to_owned()),
            Kind::File => Content::File(bytes),
            Kind::Special => return Err(special(path)),
        };
        entries.push(Entry { path: path.to_owned(), mode: item.mode, content });
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
    visit(deb, |item, content| unpack_entry(item, content, folder))
}

/// Unpacks an entry into a folder: files, folders and links, and nothing through a link that leads out of it.
/// A file of an earlier package under the name is replaced, but folders stay.
pub(crate) fn unpack_entry(
    item: &Item<'_>,
    content: &mut dyn Read,
    folder: &Path,
) -> io::Result<()> {
    let root = fs::canonicalize(folder)?;
    let path = Path::new(item.path);
    let permissions = || fs::Permissions::from_mode(item.mode & 0o777);
    if item.kind == Kind::Folder {
        return fs::set_permissions(folder_in(&root, path)?, permissions());
    }
    let above = folder_in(&root, path.parent().unwrap_or(Path::new("")))?;
    let place = above.join(path.file_name().unwrap_or_default());
    match fs::remove_file(&place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut target = Vec::new();
    match item.kind {
        Kind::File => {
            let mut file = File::create_new(&place)?;
            if io::copy(content, &mut file)? != item.bytes {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            file.set_permissions(permissions())?;
            // make(1) compares these times.
            let modified = Duration::from_secs(item.modified_unix_s);
            SystemTime::UNIX_EPOCH.checked_add(modified).map_or(Ok(()), |it| file.set_modified(it))
        }
        Kind::Symlink => {
            content.read_to_end(&mut target)?;
            symlink(OsStr::from_bytes(&target), &place)
        }
        Kind::Hardlink => {
            content.read_to_end(&mut target)?;
            let source = root.join(OsStr::from_bytes(&target));
            let above = fs::canonicalize(source.parent().unwrap_or(&root))?;
            match source.file_name().filter(|_| above.starts_with(&root)) {
                Some(name) => fs::hard_link(above.join(name), &place),
                None => Err(leads_out(item.path)),
            }
        }
        Kind::Folder | Kind::Special => Err(special(item.path)),
    }
}

/// Returns the canonical path of a folder in another, of which it makes what is missing.
fn folder_in(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let mut folder = root.to_owned();
    for name in path {
        folder.push(name);
        match fs::symlink_metadata(&folder) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(metadata) if metadata.is_symlink() => {
                folder = fs::canonicalize(&folder)?;
                if !folder.starts_with(root) {
                    return Err(leads_out(&path.to_string_lossy()));
                }
            }
            Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&folder)?,
            Err(error) => return Err(error),
        }
    }
    Ok(folder)
}

fn leads_out(path: &str) -> io::Error {
    io::Error::other(format!("{path} leads out of the folder"))
}

fn special(path: &str) -> io::Error {
    io::Error::other(format!("{path} is neither file, folder nor link"))
}

/// Returns the description of a package by itself.
///
/// # Errors
///
/// [`DebError`]
pub(crate) fn facts(deb: &Path) -> Result<Facts, DebError> {
    open(deb).map(|opened| opened.facts).map_err(of(deb))
}

/// Calls `each` with every entry of a package and its content.
pub(crate) fn visit(
    deb: &Path,
    mut each: impl FnMut(&Item<'_>, &mut dyn Read) -> io::Result<()>,
) -> Result<(), DebError> {
    let visited = open(deb).and_then(|opened| {
        opened.each(BOUNDS, |item, content| Ok::<_, Reason>(each(item, content)?))
    });
    visited.map_err(of(deb))
}

fn open(deb: &Path) -> Result<Opened<'static>, Reason> {
    let opened = package::open(preemptlab_files::open(deb)?)?;
    match opened.facts.format {
        Format::Deb => Ok(opened),
        Format::Rpm => Err(Reason("it is an .rpm".to_owned())),
    }
}

/// Reason why a package cannot be unpacked, in words.
struct Reason(String);

impl From<PackageFault> for Reason {
    fn from(fault: PackageFault) -> Self {
        Self(format!("it {fault}"))
    }
}

impl From<io::Error> for Reason {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // Of the package's stream, which says its bound alone.
            io::ErrorKind::FileTooLarge => damaged(error).into(),
            _ => Self(error.to_string()),
        }
    }
}

/// Returns a function that says which package a reason is of, for `map_err`.
fn of(deb: &Path) -> impl FnOnce(Reason) -> DebError {
    |Reason(reason)| DebError::Unreadable { path: deb.to_owned(), reason }
}

/// Returns a path without the dots and slashes that dpkg puts around it.
fn plain(path: &str) -> &str {
    path.trim_start_matches("./").trim_matches('/')
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{collections::BTreeMap, io::Write, process::Command};

    use tar::{Builder, EntryType, Header, HeaderMode};

    use super::*;

    const CONTROL: &str = "Package: x\nVersion: 1\nArchitecture: all\n\
        Maintainer: nobody <nobody@invalid>\nDescription: a test\n";

    fn ar(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = b"!<arch>\n".to_vec();
        for (name, bytes) in members {
            let (zero, size) = (0, bytes.len());
            archive.extend(
                format!("{name:<16}{zero:<12}{zero:<6}{zero:<6}{:<8}{size:<10}`\n", 100_644)
                    .bytes(),
            );
            archive.extend(*bytes);
            archive.extend(vec![b'\n'; size % 2]);
        }
        archive
    }

    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut packed = liblzma::write::XzEncoder::new(Vec::new(), 1);
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    /// Makes a package of an archive of files.
    fn of_tar(tar: &[u8]) -> Vec<u8> {
        let mut control = Builder::new(Vec::new());
        let mut header = Header::new_gnu();
        header.set_size(CONTROL.len() as u64);
        header.set_mode(0o644);
        control.append_data(&mut header, "control", CONTROL.as_bytes()).unwrap();
        let control = xz(&control.into_inner().unwrap());
        let data = xz(tar);
        ar(&[("debian-binary", b"2.0\n"), ("control.tar.xz", &control), ("data.tar.xz", &data)])
    }

    /// Makes a package of a folder's files, without those of its folder `DEBIAN`, as `dpkg-deb --build`
    /// does.
    pub(crate) fn pack(tree: &Path, deb: &Path) {
        let control = tree.with_extension("control");
        fs::rename(tree.join("DEBIAN"), &control).unwrap();
        let tar = |folder: &Path| {
            let mut builder = Builder::new(Vec::new());
            builder.mode(HeaderMode::Deterministic);
            builder.follow_symlinks(false);
            builder.append_dir_all(".", folder).unwrap();
            xz(&builder.into_inner().unwrap())
        };
        let (about, data) = (tar(&control), tar(tree));
        let members: [(&str, &[u8]); 3] =
            [("debian-binary", b"2.0\n"), ("control.tar.xz", &about), ("data.tar.xz", &data)];
        fs::write(deb, ar(&members)).unwrap();
        fs::remove_dir_all(control).unwrap();
    }

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
        let _ = symlink(name, tree.join("usr/share/link"));
        let deb = folder.join(format!("{name}_{version}_amd64.deb"));
        pack(&tree, &deb);
        deb
    }

    #[test]
    fn what_a_package_says_of_itself_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let deb = build(folder.path(), "tool", "1.0", "");
        let said = facts(&deb).unwrap();
        assert_eq!((&*said.version, &*said.source), ("1.0", ""));
        for (package, reason) in [
            (
                ar(&[("debian-binary", b"2.0\n"), ("control.tar", b""), ("data.tar", b"")]),
                "`control`",
            ),
            (preemptlab_testkit::packages::Package::new("x", "1-1", "x86_64").rpm(), "an .rpm"),
        ] {
            fs::write(&deb, package).unwrap();
            let error = facts(&deb).unwrap_err().to_string();
            let begin = format!("the package `{}` cannot be unpacked: it ", deb.display());
            assert!(error.starts_with(&begin) && error.contains(reason), "{error}");
        }
    }

    #[test]
    fn entries_are_read_and_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let deb = build(folder.path(), "tool", "1.0", "");
        let mut entries = read(&deb, |path| path.starts_with("usr/share/")).unwrap();
        entries.sort_by(|a, b| b.path.cmp(&a.path));
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
        let mut flipped = bytes.clone();
        let place = bytes.len() - 40;
        flipped[place] ^= 1;
        let endless = ar(&[("debian-binary", b"2.0\n")]);
        let mut long = bytes.clone();
        long[8 + 48..8 + 58].copy_from_slice(b"9999999999");
        for damaged in [
            &bytes[..bytes.len() / 2],
            &bytes[..bytes.len() - 5],
            b"not a package",
            b"",
            b"!<arch>\n",
            &flipped,
            &endless,
            &long,
            &ar(&[("debian-binary", b"3.0\n"), ("data.tar", b"")]),
            &ar(&[("data.tar", b"")]),
            &ar(&[("debian-binary", b"2.0\n"), ("data.tar.lz", b"")]),
        ] {
            fs::write(&deb, damaged).unwrap();
            assert!(matches!(read(&deb, |_| true), Err(DebError::Unreadable { .. })));
        }
        let lzip = of_tar(b"");
        let place = lzip.windows(6).rposition(|it| it == b"\xfd7zXZ\0").unwrap();
        fs::write(&deb, [&lzip[..place], b"LZIP", &lzip[place + 4..]].concat()).unwrap();
        let error = read(&deb, |_| true).unwrap_err().to_string();
        assert!(error.contains("it is compressed with lzip"), "{error}");
    }

    /// Makes an archive with one entry, whatever its path.
    fn one_entry(path: &str, kind: EntryType, target: &str) -> Vec<u8> {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(0);
        header.set_cksum();
        let mut builder = Builder::new(Vec::new());
        builder.append(&header, io::empty()).unwrap();
        builder.into_inner().unwrap()
    }

    #[test]
    fn no_entry_reaches_outside_of_the_folder() {
        use EntryType::{Block, Char, Directory, Fifo, Link, Regular, Symlink};
        let folder = tempfile::tempdir().unwrap();
        let (deb, tree) = (folder.path().join("x.deb"), folder.path().join("tree"));
        let outside = folder.path().join("outside");
        fs::create_dir(&tree).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::create_dir(tree.join("inside")).unwrap();
        symlink(&outside, tree.join("out")).unwrap();
        symlink("inside", tree.join("in")).unwrap();
        fs::write(folder.path().join("secret"), "secret").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        let was = mode(&outside);
        for (path, kind, target) in [
            ("../climbs", Regular, ""),
            ("usr/../../climbs", Regular, ""),
            ("/rooted", Regular, ""),
            ("out/through", Regular, ""),
            ("out/through/far", Regular, ""),
            // Its permissions would be those of the folder outside.
            ("out", Directory, ""),
            ("link", Link, "../secret"),
            ("link", Link, "out/.."),
            ("link", Link, "/etc/hostname"),
            ("null", Char, ""),
            ("disk", Block, ""),
            ("pipe", Fifo, ""),
        ] {
            fs::write(&deb, of_tar(&one_entry(path, kind, target))).unwrap();
            let error = unpack(&deb, &tree).unwrap_err();
            assert!(matches!(error, DebError::Unreadable { .. }), "{path}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4, "{path}");
            assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{path}");
            assert_eq!(mode(&outside), was, "{path}");
        }
        let unpacks = |path: &str, kind, target: &str| {
            fs::write(&deb, of_tar(&one_entry(path, kind, target))).unwrap();
            unpack(&deb, &tree).unwrap();
        };
        // A link alone leads nowhere until something follows it, and a file takes its place.
        unpacks("absolute", Symlink, "/etc/hostname");
        unpacks("secret", Symlink, "../secret");
        unpacks("secret", Regular, "");
        assert_eq!(fs::read_to_string(folder.path().join("secret")).unwrap(), "secret");
        assert!(tree.join("secret").symlink_metadata().unwrap().is_file());
        // A link within the folder is followed, as Debian's `/lib` is one.
        unpacks("in/through/far", Regular, "");
        assert!(tree.join("inside/through/far").is_file());
        unpacks("in", Directory, "");
        assert!(tree.join("in").is_symlink());
        assert_eq!(mode(&tree.join("inside")), 0o644);
        fs::set_permissions(tree.join("inside"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Returns everything in a folder by its path: its type, its permissions, the time of its change, and what it
    /// holds. Links have no permissions, and of folders and links the time is not kept.
    fn listed(folder: &Path) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut open = vec![folder.to_owned()];
        while let Some(path) = open.pop() {
            for entry in fs::read_dir(path).unwrap() {
                let path = entry.unwrap().path();
                let metadata = path.symlink_metadata().unwrap();
                let mode = metadata.permissions().mode();
                let said = if metadata.is_dir() {
                    open.push(path.clone());
                    format!("{mode:o}")
                } else if metadata.is_symlink() {
                    fs::read_link(&path).unwrap().display().to_string()
                } else {
                    let content = fs::read_to_string(&path).unwrap();
                    format!("{mode:o} {:?} {content}", metadata.modified().unwrap())
                };
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), said);
            }
        }
        found
    }

    #[test]
    fn every_compression_gives_what_dpkg_gives() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        fs::create_dir_all(tree.join("DEBIAN")).unwrap();
        fs::create_dir_all(tree.join("usr/share/doc")).unwrap();
        fs::write(tree.join("DEBIAN/control"), CONTROL).unwrap();
        let large = tree.join("usr/share/doc/large");
        fs::write(&large, "0123456789".repeat(300_000)).unwrap();
        fs::set_permissions(&large, fs::Permissions::from_mode(0o750)).unwrap();
        fs::hard_link(&large, tree.join("usr/share/again")).unwrap();
        let long = "n".repeat(150);
        fs::write(tree.join("usr/share/doc").join(&long), "a long name").unwrap();
        symlink("/etc/hostname", tree.join("usr/link")).unwrap();
        symlink(format!("doc/{long}"), tree.join("usr/share/long")).unwrap();
        let deb = folder.path().join("x.deb");
        for compression in ["xz", "zstd", "gzip", "none"] {
            let dpkg = |arguments: &[&str]| {
                let mut command = Command::new("dpkg-deb");
                let output = command.args(arguments).current_dir(folder.path()).output().unwrap();
                assert!(output.status.success(), "{output:?}");
                output.stdout
            };
            let packing = format!("-Z{compression}");
            dpkg(&["--root-owner-group", &packing, "--build", "tree", "x.deb"]);
            let [ours, theirs] = ["ours", "theirs"].map(|name| folder.path().join(name));
            fs::create_dir(&ours).unwrap();
            unpack(&deb, &ours).unwrap();
            dpkg(&["--extract", "x.deb", "theirs"]);
            assert!(listed(&ours) == listed(&theirs), "{compression}");
            assert_eq!(listed(&ours).len(), 8);
            assert_eq!(read(&deb, |_| true).unwrap().len(), 8);
            fs::remove_dir_all(ours).and_then(|()| fs::remove_dir_all(theirs)).unwrap();
        }
    }
}
