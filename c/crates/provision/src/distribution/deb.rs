//! Reading Debian packages (deb(5)): an archive of `ar` whose member `data.tar` holds the files. No entry
//! reaches outside of the folder that it is unpacked into.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use flate2::bufread::MultiGzDecoder;
use liblzma::{
    bufread::XzDecoder,
    stream::{CONCATENATED, Stream as XzStream},
};
use tar::{Archive, EntryType};

/// The largest file that is read into memory, in bytes.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// The most that a package may unpack to, in bytes.
const PACKAGE_BYTES_MAX: u64 = 8 << 30;

/// The most that the control files of a package may unpack to, in bytes.
const CONTROL_BYTES_MAX: u64 = 64 << 20;

/// The most entries of a package. The source of Linux comes as an archive in a package.
const ENTRIES_MAX: usize = 500_000;

/// The most memory for unpacking with xz, in bytes. `xz -9` needs 65 MiB.
const XZ_BYTES_MAX: u64 = 512 << 20;

/// The first bytes of an archive of `ar` (ar(5)).
const AR_MAGIC: &[u8; 8] = b"!<arch>\n";

/// The size of a member's header in such an archive, in bytes.
const AR_HEADER_BYTES: usize = 60;

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
    visit(deb, |path, entry| unpack_entry(path, entry, folder))
}

/// Unpacks an entry into a folder: files, folders and links, and nothing through a link that leads out of it.
pub(crate) fn unpack_entry(path: &str, entry: &mut Stream<'_>, folder: &Path) -> io::Result<()> {
    use EntryType::{Directory, Link, Regular, Symlink};
    match entry.header().entry_type() {
        Directory | Link | Regular | Symlink if entry.unpack_in(folder)? => Ok(()),
        Directory | Link | Regular | Symlink => {
            Err(io::Error::other(format!("{path} leads out of the folder")))
        }
        other => Err(io::Error::other(format!("{path} is of the type {other:?}"))),
    }
}

/// Returns the text of a field of a package's control file, which fits on a line; empty where it has none.
///
/// # Errors
///
/// [`DebError`]
pub fn field(deb: &Path, name: &str) -> Result<String, DebError> {
    let read = || -> io::Result<String> {
        let mut archive = Archive::new(member_of(deb, "control.tar")?.take(CONTROL_BYTES_MAX));
        for entry in archive.entries()? {
            let mut entry = entry?;
            if plain(&String::from_utf8_lossy(&entry.path_bytes())) == "control" {
                let mut control = String::new();
                entry.read_to_string(&mut control)?;
                let value = |line: &str| {
                    Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned())
                };
                return Ok(control.lines().find_map(value).unwrap_or_default());
            }
        }
        Err(io::Error::other("it has no control file"))
    };
    read().map_err(|error| DebError::Unreadable { path: deb.to_owned(), reason: error.to_string() })
}

/// The entries of a package as a stream.
pub(crate) type Stream<'a> = tar::Entry<'a, io::Take<Box<dyn Read>>>;

/// Calls `each` with every entry of a package and its path.
pub(crate) fn visit(
    deb: &Path,
    mut each: impl FnMut(&str, &mut Stream<'_>) -> io::Result<()>,
) -> Result<(), DebError> {
    let mut read = || -> io::Result<()> {
        let mut archive = Archive::new(member_of(deb, "data.tar")?.take(PACKAGE_BYTES_MAX));
        for (number, entry) in archive.entries()?.enumerate() {
            let mut entry = entry?;
            if number >= ENTRIES_MAX {
                return Err(io::Error::other("it has too many entries"));
            }
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            each(plain(&path), &mut entry)?;
        }
        // The checksum stands at the end, behind padding.
        let mut rest = archive.into_inner();
        io::copy(&mut rest, &mut io::sink())?;
        if rest.limit() == 0 {
            return Err(io::Error::other("it is too large"));
        }
        Ok(())
    };
    read().map_err(|error| DebError::Unreadable { path: deb.to_owned(), reason: error.to_string() })
}

/// Opens an archive in a package, decompressed: `data.tar`, which holds the files, or `control.tar`.
fn member_of(deb: &Path, archive: &str) -> io::Result<Box<dyn Read>> {
    let mut file = preemptlab_files::open(deb)?;
    let mut left = file.metadata()?.len();
    let mut magic = [0; AR_MAGIC.len()];
    file.read_exact(&mut magic).map_err(|_| io::Error::other("it is no Debian package"))?;
    left -= magic.len() as u64;
    let (first, bytes) = member(&mut file, &mut left)?;
    if magic != *AR_MAGIC || first != "debian-binary" || bytes > 64 {
        return Err(io::Error::other("it is no Debian package"));
    }
    let mut version = String::new();
    (&file).take(bytes).read_to_string(&mut version)?;
    if !version.starts_with("2.") {
        return Err(io::Error::other("it is of a newer format"));
    }
    left -= bytes;
    pass(&mut file, bytes % 2, &mut left)?;
    loop {
        let (name, bytes) = member(&mut file, &mut left)?;
        let Some(compression) = name.strip_prefix(archive) else {
            pass(&mut file, bytes + bytes % 2, &mut left)?;
            continue;
        };
        let packed = BufReader::new(file.take(bytes));
        return Ok(match compression {
            "" => Box::new(packed),
            ".xz" => {
                let stream = XzStream::new_stream_decoder(XZ_BYTES_MAX, CONCATENATED);
                Box::new(XzDecoder::new_stream(packed, stream.map_err(io::Error::other)?))
            }
            ".zst" => Box::new(zstd::Decoder::with_buffer(packed)?),
            ".gz" => Box::new(MultiGzDecoder::new(packed)),
            other => return Err(io::Error::other(format!("{archive}{other} cannot be unpacked"))),
        });
    }
}

/// Passes over bytes of an archive, of which so many are left.
fn pass(file: &mut File, bytes: u64, left: &mut u64) -> io::Result<()> {
    *left = left.checked_sub(bytes).ok_or_else(|| io::Error::other("it is cut off"))?;
    file.seek(SeekFrom::Current(bytes.try_into().map_err(io::Error::other)?)).map(drop)
}

/// Reads the header of the next member of an archive: its name, and its size in bytes, which are all there.
fn member(file: &mut File, left: &mut u64) -> io::Result<(String, u64)> {
    let mut header = [0; AR_HEADER_BYTES];
    file.read_exact(&mut header).map_err(|_| io::Error::other("it holds no files"))?;
    *left = left.saturating_sub(AR_HEADER_BYTES as u64);
    let text = |range: std::ops::Range<usize>| std::str::from_utf8(&header[range]).ok();
    let fields = text(0..16).zip(text(48..58)).filter(|_| header[58..] == *b"`\n");
    let fields = fields.and_then(|(name, bytes)| {
        // GNU's `ar` ends names with a slash.
        let name = name.trim_end().trim_end_matches('/');
        Some((name.to_owned(), bytes.trim_end().parse::<u64>().ok()?))
    });
    let (name, bytes) = fields.ok_or_else(|| io::Error::other("a header of it is damaged"))?;
    if bytes > *left {
        return Err(io::Error::other("it is cut off"));
    }
    Ok((name, bytes))
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
    use std::{fs, io::Write, os::unix::fs::symlink, process::Command};

    use tar::{Builder, Header, HeaderMode};

    use super::*;

    fn ar(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = AR_MAGIC.to_vec();
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
        ar(&[("debian-binary", b"2.0\n"), ("control.tar.xz", b"odd"), ("data.tar.xz", &xz(tar))])
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
    fn a_field_is_read_out_of_the_control_file() {
        let folder = tempfile::tempdir().unwrap();
        let deb = build(folder.path(), "tool", "1.0", "");
        assert_eq!(field(&deb, "Version").unwrap(), "1.0");
        assert_eq!(field(&deb, "Source").unwrap(), "");
        fs::write(&deb, of_tar(b"")).unwrap();
        assert!(matches!(field(&deb, "Version"), Err(DebError::Unreadable { .. })));
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
            AR_MAGIC,
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
        use EntryType::{Block, Char, Fifo, Link, Regular, Symlink};
        let folder = tempfile::tempdir().unwrap();
        let (deb, tree) = (folder.path().join("x.deb"), folder.path().join("tree"));
        let outside = folder.path().join("outside");
        fs::create_dir(&tree).unwrap();
        fs::create_dir(&outside).unwrap();
        symlink(&outside, tree.join("out")).unwrap();
        fs::write(folder.path().join("secret"), "secret").unwrap();
        for (path, kind, target) in [
            ("../climbs", Regular, ""),
            ("usr/../../climbs", Regular, ""),
            ("out/through", Regular, ""),
            ("link", Link, "../secret"),
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
        }
        // A link alone leads nowhere until something follows it.
        fs::write(&deb, of_tar(&one_entry("absolute", Symlink, "/etc/hostname"))).unwrap();
        unpack(&deb, &tree).unwrap();
        // A path from the root is one from the folder.
        fs::write(&deb, of_tar(&one_entry("/rooted", Regular, ""))).unwrap();
        unpack(&deb, &tree).unwrap();
        assert!(tree.join("rooted").is_file());
    }

    #[test]
    fn every_compression_gives_what_dpkg_gives() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        fs::create_dir_all(tree.join("DEBIAN")).unwrap();
        fs::create_dir_all(tree.join("usr/share/doc")).unwrap();
        let control = "Package: x\nVersion: 1\nArchitecture: all\nMaintainer: n <n@invalid>\n\
                       Description: a test\n";
        fs::write(tree.join("DEBIAN/control"), control).unwrap();
        fs::write(tree.join("usr/share/doc/large"), "0123456789".repeat(300_000)).unwrap();
        fs::write(tree.join("usr/share/doc").join("n".repeat(150)), "a long name").unwrap();
        symlink("/etc/hostname", tree.join("usr/link")).unwrap();
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
            let mut ours = Vec::new();
            member_of(&deb, "data.tar").unwrap().read_to_end(&mut ours).unwrap();
            assert!(ours == dpkg(&["--fsys-tarfile", "x.deb"]), "{compression}");
            assert!(read(&deb, |_| true).unwrap().len() >= 6);
        }
    }
}
