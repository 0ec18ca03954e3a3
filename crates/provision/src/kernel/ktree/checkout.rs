//! A working tree or a revision, as it is named.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use preemptlab_model::{Arch, Digest, plain};

use super::{
    Git, Repository, Stranger, TreeError,
    changes::{self, Change},
    commit,
    listing::{Known, Listing, Origin},
    object_id::ObjectId,
    repository::empty,
};

/// Files of every kernel's source.
const MARKS: [&str; 3] = ["Makefile", "Kconfig", "kernel/sched/core.c"];

/// The longest name that a recording holds, in characters.
const NAME_CHARS_MAX: usize = 200;

/// A source whose files can be listed.
pub(crate) struct Checkout {
    /// The folder as it was named, and without links.
    named: PathBuf,
    folder: PathBuf,
    git: Git,
    /// `None` for a tree in no repository.
    repository: Option<Repository>,
    /// The commit that the source is, or that the working tree began with. A new repository has none.
    commit: Option<ObjectId>,
    is_tree: bool,
}

/// The files of a source as they are now.
pub(crate) struct Listed {
    pub(crate) listing: Listing,
    pub(crate) origin: Origin,
    /// The first file of a working tree that another user can write to.
    pub(crate) stranger: Option<Stranger>,
    /// Files of a working tree that differ from its commit.
    changes: Vec<Change>,
}

/// Description of a source in a recording.
#[derive(Clone, Debug, Default)]
pub(crate) struct Provenance {
    pub(crate) revision: Option<String>,
    pub(crate) describe: Option<String>,
    pub(crate) dirty: bool,
    pub(crate) diff: Option<String>,
}

impl Checkout {
    /// Opens a working tree as it is.
    pub(crate) fn of_tree(path: &Path) -> Result<Self, TreeError> {
        let folder = canonical(path)?;
        for lacks in MARKS {
            if !folder.join(lacks).is_file() {
                return Err(TreeError::NotAKernel { path: path.to_owned(), lacks });
            }
        }
        // A source that was unpacked somewhere in another repository is not one of its working
        // trees.
        let repository = Repository::of_tree(&folder)?;
        let git = match &repository {
            Some(repository) => {
                let git = repository.git("")?;
                repository.lend_index(&git)?;
                git
            }
            None => empty(&folder)?,
        };
        let git = git.with_work_tree(&folder);
        let commit = git.line(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
        let commit = commit.ok().and_then(|commit| commit.parse().ok());
        let named = path.to_owned();
        Ok(Self { named, folder, git, repository, commit, is_tree: true })
    }

    /// Opens a revision of a repository.
    pub(crate) fn of_revision(path: &Path, revision: &str) -> Result<Self, TreeError> {
        let folder = canonical(path)?;
        let repository = Repository::around(path)?;
        let git = repository.git(revision)?;
        let commit = git.commit(revision)?;
        let commit = commit.parse().map_err(|()| TreeError::Forged(commit))?;
        let (named, repository) = (path.to_owned(), Some(repository));
        let checkout =
            Self { named, folder, git, repository, commit: Some(commit), is_tree: false };
        for lacks in MARKS {
            match checkout.file(lacks) {
                Err(TreeError::Read { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(TreeError::NotAKernel { path: path.to_owned(), lacks });
                }
                file => drop(file?),
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
        let place = self.repository.as_ref().map_or(&*self.folder, Repository::common);
        Digest::of(place.as_os_str().as_encoded_bytes())
    }

    /// Reads a file of the source.
    pub(crate) fn file(&self, path: &str) -> Result<Vec<u8>, TreeError> {
        match self.commit.filter(|_| !self.is_tree) {
            Some(commit) => commit::file(&self.git, commit, path),
            None => {
                let place = self.folder.join(path);
                let read = preemptlab_files::read(&place, 16 << 20);
                read.map_err(|error| TreeError::Read { path: place, error })
            }
        }
    }

    /// Lists the files, and says where they are.
    pub(crate) fn listing(&self, known: &mut Known) -> Result<Listed, TreeError> {
        if let Some(commit) = self.commit.filter(|_| !self.is_tree) {
            let (listing, origin) = Listing::of_commit(&self.git, commit, known)?;
            return Ok(Listed { listing, origin, stranger: None, changes: Vec::new() });
        }
        let origin = Origin::Folder(self.folder.clone());
        let committed = match (&self.repository, self.commit) {
            (Some(_), Some(commit)) => Some(commit::files(&self.git, commit)?),
            (Some(_), None) => Some(commit::Files::new()),
            (None, _) => None,
        };
        let present = Listing::of_folder(&self.git, &self.folder, committed.as_ref(), known)?;
        let changes = committed.map(|committed| changes::changes(&committed, &present));
        let changes = changes.unwrap_or_default();
        Ok(Listed { listing: present.listing, origin, stranger: present.stranger, changes })
    }

    /// Returns the description of the source in a recording.
    pub(crate) fn provenance(&self, listed: &Listed) -> Result<Provenance, TreeError> {
        if self.repository.is_none() {
            return Ok(Provenance::default());
        }
        // A new repository has no commit.
        let Some(commit) = self.commit.map(|commit| commit.to_string()) else {
            return Ok(Provenance { dirty: true, ..Provenance::default() });
        };
        let text =
            |text: String| -> String { plain::line(&text).chars().take(NAME_CHARS_MAX).collect() };
        let describe = ["describe", "--always", "--tags", "--abbrev=12", &commit];
        let describe = self.git.line(&describe)?;
        let read = |path: &str, entry| Origin::Folder(self.folder.clone()).bytes(path, entry);
        let diff = changes::diff(&self.git, &listed.changes, read)?;
        Ok(Provenance {
            revision: Some(commit),
            describe: describe.ok().map(text),
            dirty: !listed.changes.is_empty(),
            diff,
        })
    }

    /// Refuses a source without the folder of the guests' architecture.
    pub(crate) fn check_guest(&self, guest: Arch) -> Result<(), TreeError> {
        let mark = |arch: Arch| format!("arch/{}/Makefile", arch.platform().kernel_folder);
        let has = |arch| match self.file(&mark(arch)) {
            Err(TreeError::Read { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                Ok(false)
            }
            file => file.map(|_| true),
        };
        if has(guest)? {
            return Ok(());
        }
        let mut others = Vec::new();
        for other in Arch::ALL {
            if other != guest && has(other)? {
                others.push(other.platform().debian);
            }
        }
        let (path, lacks) = (self.named.clone(), mark(guest));
        Err(TreeError::NotOfGuest { path, guest: guest.platform().debian, lacks, others })
    }

    /// Refuses a working tree whose files are not those of its commit.
    pub(crate) fn check_clean(&self, listed: &Listed) -> Result<(), TreeError> {
        if self.repository.is_none() {
            return Err(TreeError::NeverClean { path: self.named.clone() });
        }
        let changed = match &listed.changes[..] {
            [] if self.commit.is_some() => return Ok(()),
            [] => "there is no commit yet".to_owned(),
            [only] => only.path.clone(),
            [first, others @ ..] => format!("{} and {} more", first.path, others.len()),
        };
        Err(TreeError::Dirty { path: self.named.clone(), changed })
    }
}

fn canonical(path: &Path) -> Result<PathBuf, TreeError> {
    fs::canonicalize(path).map_err(|error| TreeError::Read { path: path.to_owned(), error })
}
