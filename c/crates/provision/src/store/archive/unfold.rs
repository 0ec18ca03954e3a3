//! The entries of an archive, which may be a stranger's: plain files, folders and links, each of them part
//! of the wanted content, within bounds on names, depth and number.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{DirBuilder, OpenOptions},
    io::{self, Read},
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, OpenOptionsExt, symlink},
    },
    path::Path,
};

use tar::{Archive, Entry, EntryType};

/// Most bytes of a path or a link's target; QEMU's have 130.
const PATH_BYTES_MAX: u64 = 1_000;

/// Most levels of folders; QEMU's have 10.
const DEPTH_MAX: usize = 32;

/// Most files, folders and links; QEMU's packages have 2,300.
const ENTRIES_MAX: usize = 30_000;

/// Reads the first file of an archive, if it has this name and is not larger.
pub(crate) fn first(
    archive: &mut Archive<impl Read>,
    name: &str,
    bytes_max: u64,
) -> io::Result<Option<Vec<u8>>> {
    // An archive of tar's own reader reads the headers of long names whole, however long.
    let Some(mut entry) = archive.entries()?.raw(true).next().transpose()? else { return Ok(None) };
    let header = entry.header();
    if header.entry_type() != EntryType::Regular
        || *header.path_bytes() != *name.as_bytes()
        || entry.size() > bytes_max
    {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Unpacks an archive into an empty folder. All of the archive is part of the wanted files.
pub(crate) fn unfold(
    archive: &mut Archive<impl Read>,
    folder: &Path,
    is_wanted: impl Fn(&str, EntryType) -> bool,
) -> io::Result<()> {
    let mut place = Place { folder, folders: BTreeSet::new(), entries: 0 };
    let mut long = Long::default();
    for entry in archive.entries()?.raw(true) {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        match kind {
            EntryType::GNULongName => long.read(&mut entry, |long| &mut long.path)?,
            EntryType::GNULongLink => long.read(&mut entry, |long| &mut long.target)?,
            EntryType::Regular | EntryType::Directory | EntryType::Symlink => {
                let long = std::mem::take(&mut long);
                let path = long.path.unwrap_or_else(|| entry.header().path_bytes().into_owned());
                let path = sound(&path)?;
                if !is_wanted(path, kind) {
                    return Err(refused(path, "which is no part of what is wanted"));
                }
                match kind {
                    EntryType::Directory => place.folder(path)?,
                    EntryType::Regular => place.file(path, &mut entry)?,
                    _ => {
                        let target = || entry.header().link_name_bytes().map(|it| it.into_owned());
                        let target = long.target.or_else(target).unwrap_or_default();
                        place.link(path, &target)?;
                    }
                }
            }
            _ => {
                let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
                return Err(refused(&path, "which is neither file, folder nor link"));
            }
        }
    }
    Ok(())
}

/// Name and target of the next entry, where they are longer than its header has room for.
#[derive(Default)]
struct Long {
    path: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
}

impl Long {
    fn read(
        &mut self,
        entry: &mut Entry<'_, impl Read>,
        which: impl FnOnce(&mut Self) -> &mut Option<Vec<u8>>,
    ) -> io::Result<()> {
        let which = which(self);
        if which.is_some() {
            return Err(io::Error::other("an entry has two names"));
        }
        // A byte of zero ends it.
        if entry.size() > PATH_BYTES_MAX + 1 {
            return Err(too_long(entry.size()));
        }
        let mut text = Vec::new();
        entry.read_to_end(&mut text)?;
        if text.last() == Some(&0) {
            text.pop();
        }
        *which = Some(text);
        Ok(())
    }
}

/// Returns a path as text, if it leads to a place in the folder and to no other.
fn sound(path: &[u8]) -> io::Result<&str> {
    if path.len() as u64 > PATH_BYTES_MAX {
        return Err(too_long(path.len() as u64));
    }
    let shown = || String::from_utf8_lossy(path).into_owned();
    let text = str::from_utf8(path).map_err(|_| refused(&shown(), "which is no text"))?;
    let text = text.strip_suffix('/').unwrap_or(text);
    if text.contains(|c: char| c.is_control()) {
        return Err(refused(text, "which no reader could see"));
    }
    if text.split('/').any(|name| matches!(name, "" | "." | "..")) {
        return Err(refused(text, "which may lead out of it"));
    }
    if text.split('/').count() > DEPTH_MAX {
        return Err(io::Error::other(format!("it has more than {DEPTH_MAX} levels of folders")));
    }
    Ok(text)
}

/// Folder that is filled, with the folders in it that were made here: none of them is a link.
struct Place<'a> {
    folder: &'a Path,
    folders: BTreeSet<String>,
    entries: usize,
}

impl Place<'_> {
    fn count(&mut self) -> io::Result<()> {
        self.entries += 1;
        if self.entries > ENTRIES_MAX {
            let reason = format!("it has more than {ENTRIES_MAX} files, folders and links");
            return Err(io::Error::other(reason));
        }
        Ok(())
    }

    fn folder(&mut self, path: &str) -> io::Result<()> {
        // The same folder any number of times takes time, too.
        self.count()?;
        let ends = path.match_indices('/').map(|(slash, _)| slash).chain([path.len()]);
        for end in ends {
            let path = &path[..end];
            if !self.folders.contains(path) {
                self.count()?;
                DirBuilder::new().mode(0o755).create(self.folder.join(path)).map_err(at(path))?;
                self.folders.insert(path.to_owned());
            }
        }
        Ok(())
    }

    fn above(&mut self, path: &str) -> io::Result<()> {
        match path.rsplit_once('/') {
            Some((above, _)) => self.folder(above),
            None => self.count(),
        }
    }

    fn file(&mut self, path: &str, entry: &mut Entry<'_, impl Read>) -> io::Result<()> {
        self.above(path)?;
        let mode = if entry.header().mode()? & 0o100 == 0 { 0o644 } else { 0o755 };
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(mode).open(self.folder.join(path));
        let copied = io::copy(entry, &mut file.map_err(at(path))?)?;
        match copied == entry.size() {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn link(&mut self, path: &str, target: &[u8]) -> io::Result<()> {
        self.above(path)?;
        if target.len() as u64 > PATH_BYTES_MAX {
            return Err(too_long(target.len() as u64));
        }
        symlink(OsStr::from_bytes(target), self.folder.join(path)).map_err(at(path))
    }
}

fn at(path: &str) -> impl FnOnce(io::Error) -> io::Error {
    move |error| match error.kind() {
        io::ErrorKind::AlreadyExists => refused(path, "and another entry of that name"),
        _ => error,
    }
}

fn refused(path: &str, why: &str) -> io::Error {
    let shown: String = path.chars().take(200).collect();
    io::Error::other(format!("it holds `{}`, {why}", shown.escape_debug()))
}

fn too_long(bytes: u64) -> io::Error {
    io::Error::other(format!("it has a path of {bytes} bytes, more than {PATH_BYTES_MAX}"))
}
