//! A repository beside the user's, which borrows its objects.

use std::path::{Path, PathBuf};

use preemptlab_analysis::bisection::Commit;
use preemptlab_provision::{Git, Repository, alternates};

use super::{
    BisectError, line,
    repository::{self, said, writes},
};

/// The name of the repository in the folder of a search.
pub const NAME: &str = "history.git";

/// Outcome of a revert.
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
    folder: PathBuf,
    /// The repository's git.
    pub git: Git,
}

impl History {
    /// Makes the repository in a folder anew: an earlier search may have been killed, and any user
    /// may have made the folder's content.
    pub fn open(folder: &Path, repository: &Path) -> Result<Self, BisectError> {
        let users = Repository::around(repository)?;
        let shallow = users.shallow()?;
        let own = folder.join(NAME);
        let git = repository::begin(&own)?;
        let info = own.join("objects/info");
        preemptlab_files::create_folder(&info).map_err(writes(&info))?;
        let file = info.join("alternates");
        preemptlab_files::renew(&file, &alternates(&users.objects())).map_err(writes(&file))?;
        // Where the user's history ends, this one does.
        if let Some(bytes) = shallow {
            let file = own.join("shallow");
            preemptlab_files::renew(&file, &bytes).map_err(writes(&file))?;
        }
        Ok(Self { folder: own, git })
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

    /// Ignores git's failure where it only says that the search has ended.
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

    /// Refuses two ends that are not one history.
    pub fn check_related(git: &Git, good: &str, bad: &str) -> Result<(), BisectError> {
        let is_ancestor = |commit: &str, of: &str| -> Result<bool, BisectError> {
            Ok(git.ask(&["merge-base", "--is-ancestor", commit, of])?.is_ok())
        };
        if is_ancestor(good, bad)? {
            return Ok(());
        }
        let (good, bad) = (good.to_owned(), bad.to_owned());
        if said(git.line(&["rev-parse", "--is-shallow-repository"])?)? == "true" {
            return Err(BisectError::Shallow { good, bad });
        }
        let reversed = is_ancestor(&bad, &good)?;
        Err(BisectError::NotRelated { good, bad, reversed })
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
        let tree = said(self.git.line(&["rev-parse", &format!("{parent}^{{tree}}")])?)?;
        let back = self.commit(&tree, commit)?;
        let Ok(tree) = self.git.line(&["merge-tree", "--write-tree", on, &back])? else {
            return Ok(Revert::Conflicts);
        };
        let tree = tree.lines().next().unwrap_or_default().to_owned();
        Ok(Revert::Commit(self.commit(&tree, on)?))
    }

    fn commit(&self, tree: &str, parent: &str) -> Result<String, BisectError> {
        line::commit(&self.git, &self.folder, tree, Some(parent), "preemptlab bisect: revert")
    }
}
