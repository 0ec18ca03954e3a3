//! A repository beside the user's, which borrows its objects.

use std::{fs, io, path::Path};

use preemptlab_provision::{Git, Repository, alternates};
use serde::Serialize;

use crate::BisectError;

/// The name of the repository in the folder of a search.
pub const NAME: &str = "history.git";

/// Who makes the commits of this repository.
const AUTHOR: [&str; 4] =
    ["-c", "user.name=preemptlab", "-c", "user.email=preemptlab@localhost.invalid"];

/// A commit, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Commit {
    /// Its name in git.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
    /// Its author, without an address.
    pub author: String,
    /// The day on which it was written.
    pub date: String,
}

/// What becomes of a revert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revert {
    /// A commit on top of another one, which takes a commit back.
    Commit(String),
    /// Later commits changed the same lines.
    Conflicts,
    /// A merge cannot be reverted without saying which side stays.
    Merge,
}

/// The history that is searched.
pub struct History {
    git: Git,
}

impl History {
    /// Makes the repository in a folder. Objects that it had stay.
    pub fn open(folder: &Path, repository: &Path) -> Result<Self, BisectError> {
        let users = Repository::around(repository)?;
        let shallow = users.shallow()?;
        let own = folder.join(NAME);
        let git = Git::at(&own);
        preemptlab_durable::create_folder(&own).map_err(writes(&own))?;
        forget(&own).map_err(writes(&own))?;
        said(git.ask(&["init", "--quiet", "--bare", "--template="])?)?;
        let info = own.join("objects/info");
        preemptlab_durable::create_folder(&info).map_err(writes(&info))?;
        let file = info.join("alternates");
        preemptlab_durable::replace(&file, &alternates(&users.objects())).map_err(writes(&file))?;
        // Where the user's history ends, this one does.
        if let Some(bytes) = shallow {
            let file = own.join("shallow");
            preemptlab_durable::replace(&file, &bytes).map_err(writes(&file))?;
        }
        Ok(Self { git })
    }

    /// Starts the search, with answers that are known.
    pub fn start<'a>(
        &self,
        good: &str,
        bad: &str,
        answers: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), BisectError> {
        // `git bisect` wants to know where it began.
        said(self.git.ask(&["update-ref", "--no-deref", "HEAD", bad])?)?;
        said(self.git.ask(&["bisect", "start", "--no-checkout", bad, good])?)?;
        for (commit, answer) in answers {
            self.answer(commit, answer)?;
        }
        Ok(())
    }

    /// Tells git an answer.
    pub fn answer(&self, commit: &str, answer: &str) -> Result<(), BisectError> {
        let answered = self.git.ask(&["bisect", answer, commit])?;
        // git fails where only commits are left that were skipped; the caller looks for that.
        if answer == "skip" {
            Ok(())
        } else {
            said(answered).map(drop).or_else(|error| self.end(error))
        }
    }

    /// Takes git's failure for no error where it only says that the search has ended.
    fn end(&self, error: BisectError) -> Result<(), BisectError> {
        match self.candidates() {
            Ok(_) => Ok(()),
            Err(_) => Err(error),
        }
    }

    /// Returns the commit that git wants to be tested next.
    pub fn wanted(&self) -> Result<String, BisectError> {
        said(self.git.line(&["rev-parse", "--verify", "--quiet", "BISECT_HEAD"])?)
    }

    /// Lists the commits that may be the first bad one; the one that is known to be bad is the first.
    pub fn candidates(&self) -> Result<Vec<String>, BisectError> {
        let good = said(self.git.line(&[
            "for-each-ref",
            "--format=^%(objectname)",
            "refs/bisect/good-*",
        ])?)?;
        let mut arguments = vec!["rev-list", "refs/bisect/bad"];
        arguments.extend(good.lines());
        let commits = said(self.git.line(&arguments)?)?;
        Ok(commits.lines().map(str::to_owned).collect())
    }

    /// Returns whether a commit is an ancestor of another one.
    pub fn is_ancestor(&self, commit: &str, of: &str) -> Result<bool, BisectError> {
        Ok(self.git.ask(&["merge-base", "--is-ancestor", commit, of])?.is_ok())
    }

    /// Returns whether a part of the history is missing.
    pub fn is_shallow(&self) -> Result<bool, BisectError> {
        Ok(said(self.git.line(&["rev-parse", "--is-shallow-repository"])?)? == "true")
    }

    /// Describes a commit.
    pub fn describe(&self, commit: &str) -> Result<Commit, BisectError> {
        let format = "--format=%H%x00%s%x00%an%x00%ad";
        let shown =
            said(self.git.line(&["show", "--no-patch", "--date=short", format, commit])?)?;
        let mut parts = shown.split('\0').map(str::to_owned);
        let mut part = || parts.next().unwrap_or_default();
        Ok(Commit { id: part(), subject: part(), author: part(), date: part() })
    }

    /// Returns the first parent of a commit.
    pub fn parent(&self, commit: &str) -> Result<Option<String>, BisectError> {
        let parent = format!("{commit}^");
        Ok(self.git.line(&["rev-parse", "--verify", "--quiet", &parent])?.ok())
    }

    /// Makes a commit on top of another one that takes a commit back.
    pub fn revert(&self, commit: &str, on: &str) -> Result<Revert, BisectError> {
        let parents = said(self.git.line(&["rev-list", "--parents", "-n", "1", commit])?)?;
        let parents: Vec<&str> = parents.split_whitespace().skip(1).collect();
        let [parent] = parents[..] else { return Ok(Revert::Merge) };
        // A commit with the tree of the parent, whose merge with the other one has the commit as base.
        let back = self.commit(&format!("{parent}^{{tree}}"), commit)?;
        let Ok(tree) = self.git.line(&["merge-tree", "--write-tree", on, &back])? else {
            return Ok(Revert::Conflicts);
        };
        let tree = tree.lines().next().unwrap_or_default().to_owned();
        Ok(Revert::Commit(self.commit(&tree, on)?))
    }

    fn commit(&self, tree: &str, parent: &str) -> Result<String, BisectError> {
        let mut arguments = AUTHOR.to_vec();
        arguments.extend(["commit-tree", tree, "-p", parent, "-m", "preemptlab bisect: revert"]);
        said(self.git.line(&arguments)?)
    }
}

/// Removes everything but objects: a search that was killed may have left half of something.
fn forget(repository: &Path) -> io::Result<()> {
    for entry in fs::read_dir(repository)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true if entry.file_name() == "objects" => {}
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

fn said<T>(answer: Result<T, String>) -> Result<T, BisectError> {
    answer.map_err(BisectError::Git)
}

fn writes(path: &Path) -> impl Fn(io::Error) -> BisectError {
    move |error| BisectError::Write { path: path.to_owned(), error }
}
