//! A working tree or a revision, as it is named.

use std::{
    fs,
    path::{Path, PathBuf},
};

use preemptlab_model::{Digest, plain};

use super::{
    Git, TreeError,
    git::common_folder,
    listing::{Known, Listing, Origin},
};

/// Files of every kernel's source.
const MARKS: [&str; 3] = ["Makefile", "Kconfig", "kernel/sched/core.c"];

/// The most of a difference that a recording holds, in bytes.
const DIFF_BYTES_MAX: usize = 64 << 10;

/// The longest name that a recording holds, in characters.
const NAME_CHARS_MAX: usize = 200;

/// A source whose files can be listed.
pub(crate) struct Checkout {
    folder: PathBuf,
    git: Git,
    /// The common folder of the repository; `None` for a tree in none.
    repository: Option<PathBuf>,
    /// The commit, where a revision is asked for.
    commit: Option<String>,
}

/// What a recording says about a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Provenance {
    pub(crate) revision: Option<String>,
    pub(crate) describe: Option<String>,
    pub(crate) dirty: bool,
    pub(crate) diff: Option<String>,
}

impl Checkout {
    /// Opens a working tree as it is.
    pub(crate) fn of_tree(path: &Path, clean: bool) -> Result<Self, TreeError> {
        let folder = canonical(path)?;
        for lacks in MARKS {
            if !folder.join(lacks).is_file() {
                return Err(TreeError::NotAKernel { path: path.to_owned(), lacks });
            }
        }
        let git = Git::at(&folder);
        // A source that was unpacked somewhere in another repository is none of its working trees.
        let top = match git.line(&["rev-parse", "--show-toplevel"]) {
            Ok(top) => top.ok().and_then(|top| fs::canonicalize(top).ok()),
            Err(error) => return Err(error),
        };
        let repository = match top == Some(folder.clone()) {
            true => common_folder(&git, &folder)?,
            false => None,
        };
        let checkout = Self { folder, git, repository, commit: None };
        if clean {
            checkout.check_clean(path)?;
        }
        Ok(checkout)
    }

    /// Opens a revision of a repository.
    pub(crate) fn of_revision(path: &Path, revision: &str) -> Result<Self, TreeError> {
        let folder = canonical(path)?;
        let git = Git::at(&folder);
        let not = |complaint| TreeError::NotARepository { path: path.to_owned(), complaint };
        git.line(&["rev-parse", "--git-dir"])?.map_err(not)?;
        let repository = common_folder(&git, &folder)?;
        let asked = format!("{revision}^{{commit}}");
        let Ok(commit) = git.line(&["rev-parse", "--verify", "--quiet", &asked])? else {
            let shallow = git.line(&["rev-parse", "--is-shallow-repository"])?;
            return Err(TreeError::NoRevision {
                path: path.to_owned(),
                revision: revision.to_owned(),
                shallow: shallow.is_ok_and(|said| said == "true"),
            });
        };
        let checkout = Self { folder, git, repository, commit: Some(commit) };
        for lacks in MARKS {
            if checkout.file(lacks).is_err() {
                return Err(TreeError::NotAKernel { path: path.to_owned(), lacks });
            }
        }
        Ok(checkout)
    }

    /// Returns the folder that was named.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the digest of the place: the working trees and the revisions of one repository have
    /// the same.
    pub(crate) fn place(&self) -> Digest {
        let place = self.repository.as_ref().unwrap_or(&self.folder);
        Digest::of(place.as_os_str().as_encoded_bytes())
    }

    /// Reads a file of the source.
    pub(crate) fn file(&self, path: &str) -> Result<Vec<u8>, TreeError> {
        let Some(commit) = &self.commit else {
            let place = self.folder.join(path);
            let read = preemptlab_durable::read(&place, 16 << 20);
            return read.map_err(|error| TreeError::Read { path: place, error });
        };
        let name = format!("{commit}:{path}");
        self.git.ask(&["cat-file", "blob", &name])?.map_err(TreeError::Git)
    }

    /// Lists the files, and says where they are. `scratch` is a folder of this place's own.
    pub(crate) fn listing(
        &self,
        scratch: &Path,
        known: &mut Known,
    ) -> Result<(Listing, Origin), TreeError> {
        if let Some(commit) = &self.commit {
            return Listing::of_commit(&self.git, commit, known);
        }
        let origin = Origin::Folder(self.folder.clone());
        let listing = match &self.repository {
            Some(_) => Listing::of_folder(&self.git, &self.folder, true, known)?,
            None => {
                let git = Git::without_repository(&self.folder, scratch.join("empty.git"))?;
                Listing::of_folder(&git, &self.folder, false, known)?
            }
        };
        Ok((listing, origin))
    }

    /// Returns what a recording says about the source.
    pub(crate) fn provenance(&self) -> Result<Provenance, TreeError> {
        if self.repository.is_none() {
            return Ok(Provenance::default());
        }
        let text =
            |text: String| -> String { plain::line(&text).chars().take(NAME_CHARS_MAX).collect() };
        let asked = self.commit.as_deref().unwrap_or("HEAD");
        // A new repository has no commit.
        let Ok(revision) = self.git.line(&["rev-parse", "--verify", "--quiet", asked])? else {
            return Ok(Provenance { dirty: true, ..Provenance::default() });
        };
        let describe = self.git.line(&["describe", "--always", "--tags", "--abbrev=12", asked])?;
        let changed = match self.commit {
            Some(_) => Vec::new(),
            None => self.changed()?,
        };
        let diff = match changed.is_empty() {
            true => None,
            false => {
                let arguments = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD"];
                let said = self.git.ask(&arguments)?.unwrap_or_default();
                let whole = said.len() <= DIFF_BYTES_MAX && !said.is_empty();
                whole.then(|| plain::lines(&String::from_utf8_lossy(&said)).into_owned())
            }
        };
        Ok(Provenance {
            revision: Some(text(revision)),
            describe: describe.ok().map(text),
            dirty: !changed.is_empty(),
            diff,
        })
    }

    fn check_clean(&self, path: &Path) -> Result<(), TreeError> {
        if self.repository.is_none() {
            return Err(TreeError::NeverClean { path: path.to_owned() });
        }
        let changed = self.changed()?;
        let Some(first) = changed.first() else { return Ok(()) };
        let others = changed.len() - 1;
        let changed = match others {
            0 => first.clone(),
            others => format!("{first} and {others} more"),
        };
        Err(TreeError::Dirty { path: path.to_owned(), changed })
    }

    /// Returns the files that differ from the commit, and those that git does not know.
    fn changed(&self) -> Result<Vec<String>, TreeError> {
        let arguments = ["status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all"];
        let said = self.git.ask(&arguments)?.map_err(TreeError::Git)?;
        let rows = said.split(|byte| *byte == 0).filter(|row| row.len() > 3);
        Ok(rows.map(|row| plain::line(&String::from_utf8_lossy(&row[3..])).into_owned()).collect())
    }
}

fn canonical(path: &Path) -> Result<PathBuf, TreeError> {
    fs::canonicalize(path).map_err(|error| TreeError::Read { path: path.to_owned(), error })
}
