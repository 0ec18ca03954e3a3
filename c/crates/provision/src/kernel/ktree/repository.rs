//! A user's repository, as files that are read, and the folder that stands for it before git.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, symlink},
    },
    path::{Path, PathBuf},
    sync::Once,
};

use preemptlab_files::Owner;
use rustix::process::geteuid;

use super::{
    Git, TreeError,
    config::{self, Config},
    refs::{Refs, Target, read, target_of},
    watched::Bounds,
};
use crate::StoreError;

/// The largest files of a repository that say one thing, that hold configuration or patterns, that
/// say where the history ends, and that list a working tree, in bytes.
const WORD_BYTES_MAX: u64 = 8 << 10;
const TEXT_BYTES_MAX: u64 = 1 << 20;
const SHALLOW_BYTES_MAX: u64 = 16 << 20;
const INDEX_BYTES_MAX: u64 = 256 << 20;

/// The largest files of former values of references, together, and the most of them.
const LOGS_BYTES_MAX: u64 = 16 << 20;
const LOGS_MAX: usize = 4_096;

/// First letters of the folders that stand for repositories.
const PREFIX: &str = "preemptlab-git-";

/// Bounds of reading: one object has at most 256 MiB.
const OF_READING: Bounds = Bounds { cpu_s: 60, memory_mib: 400 };

/// A repository of a user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The folder that was named, or the one above it that has the repository.
    found: PathBuf,
    /// Folder of the working tree's own files.
    own: PathBuf,
    /// Folder that all working trees share.
    common: PathBuf,
}

impl Repository {
    /// Returns the repository whose working tree a folder is.
    pub(crate) fn of_tree(folder: &Path) -> Result<Option<Self>, TreeError> {
        let dot = folder.join(".git");
        let metadata = match fs::metadata(&dot) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(TreeError::Read { path: dot, error }),
        };
        if metadata.is_dir() {
            return Self::at(folder, &dot);
        }
        // A working tree beside others, or a submodule: `gitdir: PATH`.
        let Some(bytes) = read(&dot, WORD_BYTES_MAX)? else { return Ok(None) };
        match bytes.strip_prefix(b"gitdir: ") {
            Some(path) => Self::at(folder, &folder.join(path_of(path))),
            None => Ok(None),
        }
    }

    /// Returns the repository that a folder is in, or is.
    ///
    /// # Errors
    ///
    /// [`TreeError::NotARepository`], and when something cannot be read.
    pub fn around(path: &Path) -> Result<Self, TreeError> {
        let at = |error| TreeError::Read { path: path.to_owned(), error };
        let folder = fs::canonicalize(path).map_err(at)?;
        let device = fs::metadata(&folder).map_err(at)?.dev();
        for folder in folder.ancestors() {
            // As git does, it stays on one filesystem.
            if fs::metadata(folder).map_or(true, |metadata| metadata.dev() != device) {
                break;
            }
            if let Some(found) = Self::of_tree(folder)?.or(Self::at(folder, folder)?) {
                return Ok(found);
            }
        }
        Err(TreeError::NotARepository { path: path.to_owned() })
    }

    /// Returns the repository whose files are in a folder, if they are.
    fn at(found: &Path, own: &Path) -> Result<Option<Self>, TreeError> {
        let Ok(own) = fs::canonicalize(own) else { return Ok(None) };
        let common = match read(&own.join("commondir"), WORD_BYTES_MAX)? {
            Some(path) => match fs::canonicalize(own.join(path_of(&path))) {
                Ok(common) => common,
                Err(_) => return Ok(None),
            },
            None => own.clone(),
        };
        let has_head = fs::symlink_metadata(own.join("HEAD")).is_ok();
        let is_one = has_head && common.join("objects").is_dir() && common.join("refs").is_dir();
        Ok(is_one.then(|| Self { found: found.to_owned(), own, common }))
    }

    /// Returns the folder that all working trees share.
    pub(crate) fn common(&self) -> &Path {
        &self.common
    }

    /// Returns the files that define a repository, as far as they are there.
    pub(crate) fn controls(&self) -> Vec<PathBuf> {
        let own = ["HEAD", "commondir", "config.worktree", "index"];
        let common = [
            "config",
            "objects",
            "objects/pack",
            "refs",
            "packed-refs",
            "shallow",
            "info",
            "info/attributes",
            "info/exclude",
        ];
        let mut paths = vec![self.found.join(".git"), self.own.clone(), self.common.clone()];
        paths.extend(own.iter().map(|name| self.own.join(name)));
        paths.extend(common.iter().map(|name| self.common.join(name)));
        paths
    }

    /// Returns the folder with its objects.
    pub fn objects(&self) -> PathBuf {
        self.common.join("objects")
    }

    /// Returns the commits at which its history ends before its beginning, as git keeps them.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn shallow(&self) -> Result<Option<Vec<u8>>, TreeError> {
        let bytes = read(&self.common.join("shallow"), SHALLOW_BYTES_MAX)?;
        let is_plain = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b'\n';
        match bytes {
            Some(bytes) if !bytes.iter().all(is_plain) => {
                Err(TreeError::Refused("its file `shallow` holds something that is no commit"))
            }
            bytes => Ok(bytes),
        }
    }

    /// Returns a git that reads it and executes nothing of it. `revision` says which former values of
    /// references are needed.
    ///
    /// # Errors
    ///
    /// When one of its files is not in git's form, or the folder that stands for it cannot be made.
    pub fn git(&self, revision: &str) -> Result<Git, TreeError> {
        let git = empty(&self.found)?;
        let config = match read(&self.common.join("config"), TEXT_BYTES_MAX)? {
            Some(text) => config::read(&git, &text)?,
            None => Config::default(),
        };
        let put = |name: &str, bytes: &[u8]| write(&git.gitdir().join(name), bytes);
        put("config", config.text().as_bytes())?;
        put("objects/info/alternates", &alternates(&self.objects()))?;
        let (packed, others) = Refs::read(&self.common, &self.own)?.split();
        put("packed-refs", packed.as_bytes())?;
        for (name, other) in others {
            put(&name, format!("ref: {other}\n").as_bytes())?;
        }
        self.copy_heads(&put)?;
        if let Some(bytes) = self.shallow()? {
            put("shallow", &bytes)?;
        }
        if let Some(bytes) = read(&self.common.join("info/exclude"), TEXT_BYTES_MAX)? {
            put("info/exclude", &bytes)?;
        }
        if revision.contains("@{") {
            let mut left = (LOGS_MAX, LOGS_BYTES_MAX);
            copy_logs(&self.common, "logs", &put, &mut left)?;
            if self.own != self.common {
                copy_logs(&self.own, "logs", &put, &mut left)?;
            }
        }
        Ok(git.of(config.format, config.is_partial))
    }

    /// Copies `HEAD`, `ORIG_HEAD` and the like.
    fn copy_heads(&self, put: &Put<'_>) -> Result<(), TreeError> {
        let at = |error| TreeError::Read { path: self.own.clone(), error };
        for entry in fs::read_dir(&self.own).map_err(at)? {
            let Ok(name) = entry.map_err(at)?.file_name().into_string() else { continue };
            let is_plain = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
            if !name.ends_with("HEAD") || !name.bytes().all(is_plain) {
                continue;
            }
            match target_of(&self.own.join(&name))? {
                Some(Target::Id(id)) => put(&name, format!("{id}\n").as_bytes())?,
                Some(Target::Ref(other)) => put(&name, format!("ref: {other}\n").as_bytes())?,
                None if name == "HEAD" => {
                    return Err(TreeError::Refused("its HEAD names no commit and no branch"));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Puts git's list of a working tree's files where git looks for it.
    pub(super) fn lend_index(&self, git: &Git) -> Result<(), TreeError> {
        let at = |error| TreeError::Read { path: self.own.clone(), error };
        for entry in fs::read_dir(&self.own).map_err(at)? {
            let entry = entry.map_err(at)?;
            let name = entry.file_name();
            if name != "index" && !name.as_bytes().starts_with(b"sharedindex.") {
                continue;
            }
            let path = entry.path();
            let at = |error| TreeError::Read { path: path.clone(), error };
            let bytes = preemptlab_files::open(&path).and_then(|file| file.metadata());
            if bytes.map_err(at)?.len() > INDEX_BYTES_MAX {
                let what = format!("`{}`", path.display());
                return Err(TreeError::TooLarge { what, mib: INDEX_BYTES_MAX >> 20 });
            }
            let place = git.gitdir().join(&name);
            symlink(&path, &place).map_err(StoreError::at(&place))?;
        }
        Ok(())
    }
}

type Put<'a> = dyn Fn(&str, &[u8]) -> Result<(), TreeError> + 'a;

/// Copies former values of references.
fn copy_logs(
    from: &Path,
    name: &str,
    put: &Put<'_>,
    left: &mut (usize, u64),
) -> Result<(), TreeError> {
    let folder = from.join(name);
    let at = |error| TreeError::Read { path: folder.clone(), error };
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(at(error)),
    };
    for entry in entries {
        let entry = entry.map_err(at)?;
        let Ok(last) = entry.file_name().into_string() else { continue };
        let name = format!("{name}/{last}");
        if entry.file_type().map_err(at)?.is_dir() && name.matches('/').count() < 32 {
            copy_logs(from, &name, put, left)?;
            continue;
        }
        let bytes = read(&entry.path(), left.1)?.unwrap_or_default();
        *left = (left.0.saturating_sub(1), left.1 - bytes.len() as u64);
        if left.0 == 0 {
            return Err(TreeError::Refused("it has too many former values of references"));
        }
        put(&name, &bytes)?;
    }
    Ok(())
}

/// Removes the folders of this user's processes that were killed.
fn sweep() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| Owner::parse(name.strip_prefix(PREFIX)?));
        let is_mine = |found: fs::Metadata| found.is_dir() && found.uid() == geteuid().as_raw();
        if owner.is_some_and(|owner| owner.is_gone()) && entry.metadata().is_ok_and(is_mine) {
            // One that stays takes some kilobytes, and is met again.
            let _ = preemptlab_files::remove_folder(&entry.path());
        }
    }
}

/// Returns the git of a folder that stands for no repository, or for none yet.
pub(super) fn empty(named: &Path) -> Result<Git, TreeError> {
    static SWEPT: Once = Once::new();
    SWEPT.call_once(sweep);
    let owner = Owner::this().map(|owner| format!("{owner}-")).unwrap_or_default();
    let own = tempfile::Builder::new().prefix(&format!("{PREFIX}{owner}")).tempdir();
    let own = own.map_err(StoreError::at(&std::env::temp_dir()))?;
    let git = Git::for_users(own, named, OF_READING);
    write(&git.gitdir().join("config"), Config::default().text().as_bytes())?;
    write(&git.gitdir().join("HEAD"), b"ref: refs/heads/main\n")?;
    for folder in ["refs", "objects/info"] {
        let path = git.gitdir().join(folder);
        fs::create_dir_all(&path).map_err(StoreError::at(&path))?;
    }
    Ok(git)
}

/// Returns the row that names another repository's objects: quoted, because a row that begins with
/// `#` is a comment, and a path may hold the end of a row.
pub fn alternates(objects: &Path) -> Vec<u8> {
    quoted(objects.as_os_str())
}

/// Returns a row with a path as git quotes it.
pub(super) fn quoted(path: &OsStr) -> Vec<u8> {
    let mut row = b"\"".to_vec();
    for byte in path.as_bytes() {
        match byte {
            b'"' | b'\\' => row.extend([b'\\', *byte]),
            b' '..=b'~' => row.push(*byte),
            byte => row.extend(format!("\\{byte:03o}").as_bytes()),
        }
    }
    row.extend(b"\"\n");
    row
}

fn path_of(bytes: &[u8]) -> PathBuf {
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    PathBuf::from(OsStr::from_bytes(text.strip_suffix(b"\r").unwrap_or(text)))
}

/// Writes a file of the folder that stands for a repository.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), TreeError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(StoreError::at(parent))?;
    }
    Ok(fs::write(path, bytes).map_err(StoreError::at(path))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_killed_processes_are_removed_and_no_others() {
        let this = Owner::this().unwrap().to_string();
        let (process, _) = this.rsplit_once('-').unwrap();
        let folder = |owner: &str| std::env::temp_dir().join(format!("{PREFIX}{owner}-test"));
        // A process with this number that began at another time.
        let (gone, mine) = (folder(&format!("{process}-1")), folder(&this));
        let names = [&gone, &mine, &folder("unnamed")];
        names.iter().for_each(|path| fs::create_dir_all(path.join("refs")).unwrap());
        sweep();
        assert_eq!(names.map(|path| path.exists()), [false, true, true]);
        names[1..].iter().for_each(|path| fs::remove_dir_all(path).unwrap());
    }
}
