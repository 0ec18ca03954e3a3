//! Folders that this program chose itself, at paths that every user can foresee.

use std::{
    error, fmt, fs, io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{FileType, Mode, OFlags, RawMode, Stat, fstat, mkdirat, openat},
    io::Errno,
    process::geteuid,
};

use crate::create_folder;

/// Bits of a mode that let other users write.
const OTHERS_WRITE: u32 = 0o022;

/// The bit of a folder in which users cannot remove the files of others.
const STICKY: u32 = 0o1000;

/// Folder to write to: one that the user named, or one below it that this program chose.
///
/// Nothing that stands at a chosen path is trusted: the folder above may be another user's archive or
/// clone. Each folder on the way from the named one must be a folder and no symbolic link, of this user
/// or of the owner of the named one, and no more open to the writes of others than that is. The chosen
/// folder itself must be of this user. Links on the way to the named folder are the user's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutFolder {
    named: PathBuf,
    /// Empty where the user named the folder itself.
    below: PathBuf,
}

impl OutFolder {
    /// Takes a folder that the user named.
    pub fn named(path: impl Into<PathBuf>) -> Self {
        Self { named: path.into(), below: PathBuf::new() }
    }

    /// Chooses a folder below one that the user named, or stands in (`.`).
    pub fn chosen(named: impl Into<PathBuf>, below: impl Into<PathBuf>) -> Self {
        Self { named: named.into(), below: below.into() }
    }

    /// Chooses a folder beside one of this kind that has `name` for its own name, such as
    /// `runs/quick.shards` beside `runs/quick`.
    #[must_use]
    pub fn beside(&self, name: &str) -> Self {
        match self.below.as_os_str().is_empty() {
            true => Self::chosen(folder_above(&self.named), name),
            false => Self { below: self.below.with_file_name(name), ..self.clone() },
        }
    }

    /// Chooses a folder below this one.
    #[must_use]
    pub fn join(&self, name: impl AsRef<Path>) -> Self {
        Self { below: self.below.join(name), ..self.clone() }
    }

    /// Returns the path.
    pub fn path(&self) -> PathBuf {
        match (self.named == Path::new("."), self.below.as_os_str().is_empty()) {
            (_, true) => self.named.clone(),
            (true, _) => self.below.clone(),
            _ => self.named.join(&self.below),
        }
    }

    /// Makes the folder and those on the way that are not there.
    ///
    /// # Errors
    ///
    /// [`FolderError`]
    pub fn make(&self) -> Result<(), FolderError> {
        if self.below.as_os_str().is_empty() {
            return create_folder(&self.named).map_err(FolderError::at(&self.named));
        }
        descend(&self.named, &self.below, Leaf::OfThisUser)
    }
}

/// Makes a folder of a fixed name in a folder that the user named, such as `cells` in a recording, or
/// checks that the one there is one: no symbolic link, of this user or of the named folder's owner, and no
/// more open to the writes of others than the named one.
///
/// # Errors
///
/// [`FolderError`]
pub fn make_below(named: &Path, below: impl AsRef<Path>) -> Result<(), FolderError> {
    descend(named, below.as_ref(), Leaf::OfEither)
}

/// Reason why a folder is not written to.
#[derive(Debug)]
pub enum FolderError {
    /// A symbolic link stands there.
    Link(PathBuf),
    /// A file stands there.
    NotAFolder(PathBuf),
    /// It belongs to another user.
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Number of its owner.
        owner: u32,
        /// Number of this user.
        user: u32,
    },
    /// Others can write to it.
    Writable {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The system refuses it.
    Io {
        /// The folder.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
}

impl FolderError {
    fn at(path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { path: path.clone(), error }
    }

    /// Returns the folder that the error is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Link(path) | Self::NotAFolder(path) => path,
            Self::Foreign { path, .. } | Self::Writable { path, .. } | Self::Io { path, .. } => {
                path
            }
        }
    }
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path().display();
        match self {
            Self::Link(_) => write!(
                f,
                "`{path}` is a symbolic link, and preemptlab writes only through links that you name \
                 yourself: remove the link, or name another folder"
            ),
            Self::NotAFolder(_) => {
                write!(f, "`{path}` is no folder: remove it, or name another folder")
            }
            Self::Foreign { owner, user, .. } => write!(
                f,
                "`{path}` belongs to the user with the number {owner}, and you are {user}: name another \
                 folder"
            ),
            Self::Writable { mode, .. } => write!(
                f,
                "other users can write to `{path}` (mode {mode:o}): take that right away with `chmod go-w`, \
                 or name another folder"
            ),
            Self::Io { error, .. } => write!(f, "cannot make the folder `{path}`: {error}"),
        }
    }
}

impl error::Error for FolderError {}

/// Owner that the last folder must have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaf {
    OfThisUser,
    /// Of this user, or of the owner of the named folder.
    OfEither,
}

/// Goes down folder by folder, each opened in the one before it, so that none can be exchanged for a link
/// meanwhile.
fn descend(named: &Path, below: &Path, leaf: Leaf) -> Result<(), FolderError> {
    let named = if named.as_os_str().is_empty() { Path::new(".") } else { named };
    create_folder(named).map_err(FolderError::at(named))?;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = rustix::fs::open(named, flags | OFlags::DIRECTORY, Mode::empty());
    let mut folder = opened.map_err(|error| FolderError::at(named)(error.into()))?;
    let base = stat_of(&folder, named)?;
    let mut path = if named == Path::new(".") { PathBuf::new() } else { named.to_owned() };
    let mut names = below.components().peekable();
    while let Some(name) = names.next() {
        let Component::Normal(name) = name else {
            return Err(FolderError::at(below)(io::ErrorKind::InvalidInput.into()));
        };
        path.push(name);
        let at = |error: Errno| FolderError::at(&path)(error.into());
        let is_new = match mkdirat(&folder, name, Mode::from_raw_mode(0o755)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(at(error)),
        };
        folder = openat(&folder, name, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(at)?;
        let is_leaf = names.peek().is_none();
        let owners =
            (is_leaf && leaf == Leaf::OfThisUser).then_some(()).map_or(Some(&base), |()| None);
        let found = stat_of(&folder, &path)?;
        check_kind(&found, &path)?;
        if !is_new {
            check_owner(folder.as_fd(), &found, owners, &path)?;
            check_mode(&found, &base, &path)?;
        }
    }
    Ok(())
}

fn stat_of(folder: &OwnedFd, path: &Path) -> Result<Stat, FolderError> {
    fstat(folder).map_err(|error| FolderError::at(path)(error.into()))
}

fn check_kind(found: &Stat, path: &Path) -> Result<(), FolderError> {
    match FileType::from_raw_mode(found.st_mode as RawMode) {
        FileType::Directory => Ok(()),
        FileType::Symlink => Err(FolderError::Link(path.to_owned())),
        _ => Err(FolderError::NotAFolder(path.to_owned())),
    }
}

fn check_owner(
    folder: BorrowedFd<'_>,
    found: &Stat,
    base: Option<&Stat>,
    path: &Path,
) -> Result<(), FolderError> {
    let (owner, user) = (found.st_uid, geteuid().as_raw());
    let is_allowed = owner == user || base.is_some_and(|base| base.st_uid == owner);
    // Some filesystems, of networks and of other systems, give every file of this user another number.
    if is_allowed || number_in(folder).is_ok_and(|number| number == owner) {
        return Ok(());
    }
    Err(FolderError::Foreign { path: path.to_owned(), owner, user })
}

/// Returns the number that a filesystem gives to this user.
fn number_in(folder: BorrowedFd<'_>) -> io::Result<u32> {
    let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
    Ok(tempfile::tempfile_in(path)?.metadata()?.uid())
}

/// Refuses a folder that others can write to, unless the named one is as open to them: a group that
/// shares a folder, or a filesystem without modes.
fn check_mode(found: &Stat, base: &Stat, path: &Path) -> Result<(), FolderError> {
    let (mode, open) = (found.st_mode & 0o7777, base.st_mode & 0o7777);
    let mut allowed = if open & STICKY == 0 { open & OTHERS_WRITE } else { 0 };
    if base.st_gid != found.st_gid {
        allowed &= !0o020;
    }
    match mode & OTHERS_WRITE & !allowed {
        0 => Ok(()),
        _ => Err(FolderError::Writable { path: path.to_owned(), mode }),
    }
}

/// Removes a folder with all that is in it, where it is one and no link.
///
/// # Errors
///
/// When something of it cannot be removed. A missing folder is not an error.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn folder_above(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn chosen_folders_are_made_and_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let out = OutFolder::chosen(folder.path(), "runs/a");
        for _ in 0..2 {
            out.make().unwrap();
            make_below(&out.path(), "cells").unwrap();
        }
        assert!(folder.path().join("runs/a/cells").is_dir());
        assert_eq!(OutFolder::chosen(".", "runs/a").path(), Path::new("runs/a"));
        assert_eq!(OutFolder::chosen(".", "runs/a").beside("b").path(), Path::new("runs/b"));
        assert_eq!(OutFolder::named("x/a").beside("b").path(), Path::new("x/b"));
        assert_eq!(OutFolder::named("a").beside("b").path(), Path::new("b"));
    }

    #[test]
    fn links_are_followed_where_the_user_named_them() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("disk")).unwrap();
        let link = folder.path().join("link");
        symlink("disk", &link).unwrap();
        OutFolder::named(link.join("mine")).make().unwrap();
        OutFolder::named(&link).make().unwrap();
        make_below(&link, "cells").unwrap();
        OutFolder::chosen(&link, "runs/a").make().unwrap();
        assert!(folder.path().join("disk/mine").is_dir());
        assert!(folder.path().join("disk/runs/a").is_dir());
    }

    #[test]
    fn what_others_left_at_a_chosen_path_is_refused() {
        type Leave = fn(&Path);
        let cases: [(&str, Leave, &str); 11] = [
            (
                "a link on the way",
                |it| symlink("target", it.join("runs")).unwrap(),
                "symbolic link",
            ),
            ("a link out", |it| symlink("/tmp", it.join("runs")).unwrap(), "symbolic link"),
            ("a dangling link", |it| symlink("nowhere", it.join("runs")).unwrap(), "symbolic link"),
            ("a link to itself", |it| symlink("runs", it.join("runs")).unwrap(), "symbolic link"),
            ("a file", |it| fs::write(it.join("runs"), "").unwrap(), "no folder"),
            ("a pipe", |it| pipe(&it.join("runs")), "no folder"),
            (
                "a link at the end",
                |it| leaf(it, |at| symlink("../target", at).unwrap()),
                "symbolic",
            ),
            ("a file at the end", |it| leaf(it, |at| fs::write(at, "").unwrap()), "no folder"),
            ("all write on the way", |it| dir(&it.join("runs"), 0o777), "mode 777"),
            ("all write at the end", |it| leaf(it, |at| dir(at, 0o1777)), "mode 1777"),
            ("a group writes", |it| leaf(it, |at| dir(at, 0o775)), "mode 775"),
        ];
        for (name, leave, said) in cases {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("target")).unwrap();
            leave(folder.path());
            let error = OutFolder::chosen(folder.path(), "runs/a").make().unwrap_err();
            assert!(error.to_string().contains(said), "{name}: {error}");
            assert_eq!(fs::read_dir(folder.path().join("target")).unwrap().count(), 0, "{name}");
        }
        for below in ["../a", "/a", "runs/../../a", "."] {
            let folder = tempfile::tempdir().unwrap();
            assert!(OutFolder::chosen(folder.path(), below).make().is_err(), "{below}");
        }
    }

    fn dir(path: &Path, bits: u32) {
        fs::create_dir(path).unwrap();
        mode(path, bits);
    }

    fn leaf(folder: &Path, leave: fn(&Path)) {
        fs::create_dir(folder.join("runs")).unwrap();
        leave(&folder.join("runs/a"));
    }

    fn pipe(path: &Path) {
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    }

    #[test]
    fn a_shared_folder_may_hold_what_is_as_shared() {
        let folder = tempfile::tempdir().unwrap();
        mode(folder.path(), 0o775);
        dir(&folder.path().join("runs"), 0o775);
        dir(&folder.path().join("runs/a"), 0o775);
        OutFolder::chosen(folder.path(), "runs/a").make().unwrap();
        mode(folder.path(), 0o755);
        assert!(OutFolder::chosen(folder.path(), "runs/a").make().is_err());
        // Every user can write to such a folder, and none can replace another's entry.
        mode(folder.path(), 0o1777);
        assert!(OutFolder::chosen(folder.path(), "runs/a").make().is_err());
    }

    #[test]
    fn the_folder_of_another_user_is_refused() {
        if !geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("runs/a")).unwrap();
        let own = |path: &str| chown(folder.path().join(path), Some(65534), None).unwrap();
        own("runs/a");
        let said = OutFolder::chosen(folder.path(), "runs/a").make().unwrap_err().to_string();
        assert!(
            said.contains("belongs to the user with the number 65534, and you are 0"),
            "{said}"
        );
        own("runs");
        let said = OutFolder::chosen(folder.path(), "runs/b").make().unwrap_err().to_string();
        assert!(said.contains("/runs` belongs to the user"), "{said}");
        // Root in a user's folder: the folders on the way may be the user's, and the last one is
        // root's.
        own("");
        OutFolder::chosen(folder.path(), "runs/b").make().unwrap();
        assert!(OutFolder::chosen(folder.path(), "runs/a").make().is_err());
        make_below(&folder.path().join("runs/a"), "cells").unwrap();
    }
}
