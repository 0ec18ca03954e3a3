use std::{
    fs::{File, Permissions},
    io::{self, Write},
    os::{
        fd::{AsFd, AsRawFd},
        unix::fs::PermissionsExt,
    },
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags},
    io::Errno,
};
use tempfile::NamedTempFile;

use crate::{Owner, owner::serial};

/// Begins the name of every draft on a filesystem without `O_TMPFILE`.
const DRAFT_PREFIX: &str = ".draft-";

/// A file that does not exist yet.
#[derive(Debug)]
pub struct Draft {
    file: File,
    named: Option<NamedTempFile>,
}

impl Draft {
    /// Opens a draft on the filesystem of `folder`, for writing only.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written to.
    pub fn new_in(folder: &Path) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        match rustix::fs::open(folder, flags, Mode::from_raw_mode(0o644)) {
            Ok(fd) => Ok(Self { file: fd.into(), named: None }),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => {
                let named = tempfile::Builder::new()
                    .prefix(&draft_name())
                    .permissions(Permissions::from_mode(0o644))
                    .tempfile_in(folder)?;
                Ok(Self { file: named.reopen()?, named: Some(named) })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the file to write to.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Flushes the content to the disk and gives the file its name. Returns whether the name was
    /// new: an existing file stays as it is.
    ///
    /// # Errors
    ///
    /// When the disk is full or the folder refuses the name.
    pub fn publish(self, path: &Path) -> io::Result<bool> {
        self.file.sync_all()?;
        let published = match self.named {
            Some(named) => named.persist_noclobber(path).map(drop).map_err(|error| error.error),
            None => {
                let source = format!("/proc/self/fd/{}", self.file.as_fd().as_raw_fd());
                rustix::fs::linkat(CWD, source, CWD, path, AtFlags::SYMLINK_FOLLOW)
                    .map_err(io::Error::from)
            }
        };
        match published {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Writes a new file. Returns whether its name was new: an existing file stays as it is.
///
/// # Errors
///
/// When the disk is full or the folder cannot be written to; then there is no file.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let mut draft = Draft::new_in(folder_of(path))?;
    draft.file().write_all(bytes)?;
    draft.publish(path)
}

/// File that takes the place of one that may be there, once it is whole: at any moment it is the
/// old one or the new one. A path that is not a regular file, such as a terminal or a pipe, is
/// written to directly.
#[derive(Debug)]
pub struct Replacement<'a> {
    path: &'a Path,
    draft: Result<Draft, File>,
}

impl<'a> Replacement<'a> {
    /// Begins a file.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written to; for a path that is not a regular file, when the file
    /// itself cannot be.
    pub fn begin(path: &'a Path) -> io::Result<Self> {
        if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            let file = File::options().write(true).open(path)?;
            return Ok(Self { path, draft: Err(file) });
        }
        Self::of_file(path)
    }

    /// Begins a file that takes the place of anything that has its name.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written to.
    pub fn of_file(path: &'a Path) -> io::Result<Self> {
        let folder = folder_of(path);
        // A draft that cannot be removed disturbs no other.
        let _ = sweep(folder);
        Ok(Self { path, draft: Ok(Draft::new_in(folder)?) })
    }

    /// Returns the file to write to.
    pub fn file(&mut self) -> &mut File {
        self.draft.as_mut().map_or_else(|file| file, |draft| &mut draft.file)
    }

    /// Flushes the content to the disk and puts the file in its place.
    ///
    /// # Errors
    ///
    /// When the disk is full; then the old file is still there.
    pub fn publish(self) -> io::Result<()> {
        let Ok(draft) = self.draft else { return Ok(()) };
        // A name is needed for a moment, since only a named file can take another one's place.
        let named = folder_of(self.path).join(draft_name());
        if !draft.publish(&named)? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        std::fs::rename(&named, self.path).inspect_err(|_| drop(std::fs::remove_file(&named)))
    }
}

/// Writes a file, or replaces an existing one: at any moment the path names the old or the new file.
/// Writes to a terminal, a pipe and other special files directly.
///
/// # Errors
///
/// When the disk is full or the folder cannot be written to; the existing file then stays.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut replacement = Replacement::begin(path)?;
    replacement.file().write_all(bytes)?;
    replacement.publish()
}

/// Writes a file of a fixed name, or replaces the entry of that name: a symbolic link or a device
/// there is replaced, and its target stays as it was.
///
/// # Errors
///
/// When the disk is full or the folder cannot be written to; the old entry then stays.
pub fn renew(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut replacement = Replacement::of_file(path)?;
    replacement.file().write_all(bytes)?;
    replacement.publish()
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Removes the drafts of processes that have ended from a folder whose filesystem has no
/// `O_TMPFILE`. Keeps the drafts of other machines that share the folder: those may still be
/// written to.
///
/// # Errors
///
/// When the folder cannot be read or written to.
pub fn sweep(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| Owner::parse(name.strip_prefix(DRAFT_PREFIX)?));
        if owner.is_some_and(|owner| owner.is_gone()) {
            match std::fs::remove_file(entry.path()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Returns whether a file name is that of a draft.
pub fn is_draft(name: &str) -> bool {
    name.starts_with(DRAFT_PREFIX)
}

/// Returns the name of this process's next draft.
fn draft_name() -> String {
    match Owner::this() {
        Some(owner) => format!("{DRAFT_PREFIX}{owner}-{}-", serial()),
        None => format!("{DRAFT_PREFIX}{}-{}-", std::process::id(), serial()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_is_the_new_one_and_nothing_else_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        for text in ["first", "second, and longer", "3rd"] {
            replace(&path, text.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(replace(folder.path(), b"").is_err());
        assert!(replace(&folder.path().join("absent/report.html"), b"").is_err());
        replace(Path::new("/dev/null"), b"gone").unwrap();
    }

    #[test]
    fn a_renewed_file_takes_the_place_of_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["file", "other"].map(|name| folder.path().join(name));
        for target in [other.as_path(), Path::new("/dev/null"), Path::new("nowhere")] {
            std::fs::write(&other, b"another").unwrap();
            let _ = std::fs::remove_file(&path);
            std::os::unix::fs::symlink(target, &path).unwrap();
            renew(&path, b"new").unwrap();
            assert!(std::fs::symlink_metadata(&path).unwrap().is_file());
            assert_eq!(std::fs::read(&path).unwrap(), b"new");
            assert_eq!(std::fs::read(&other).unwrap(), b"another");
        }
    }

    #[test]
    fn a_published_file_is_whole_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cell.json");
        assert!(write_new(&path, b"first").unwrap());
        assert!(!write_new(&path, b"second").unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
    }

    #[test]
    fn an_unpublished_draft_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut draft = Draft::new_in(folder.path()).unwrap();
        draft.file().write_all(b"half").unwrap();
        drop(draft);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn sweeping_removes_the_drafts_of_those_who_are_gone_only() {
        let folder = tempfile::tempdir().unwrap();
        let this = Owner::this().unwrap().to_string();
        let (before, _) = this.rsplit_once('-').unwrap();
        let gone = format!(".draft-{before}-1-0-abc");
        let here = draft_name();
        let elsewhere = format!(".draft-1-{}-2-3-4-0-abc", "0".repeat(32));
        for name in [&gone, &here, &elsewhere, "cell.json"] {
            std::fs::write(folder.path().join(name), b"").unwrap();
        }
        sweep(folder.path()).unwrap();
        let mut left: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let mut expected = [here, elsewhere, "cell.json".to_owned()];
        expected.sort();
        assert_eq!(left, expected);
    }
}
