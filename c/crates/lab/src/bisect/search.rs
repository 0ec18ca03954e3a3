use std::path::{Path, PathBuf};

use preemptlab_analysis::bisection::{Answer, Commit, Tested};
use preemptlab_files::{FolderLock, Lock, OutFolder};
use preemptlab_provision::Repository;

use super::{BisectError, Ends, Revert, history::History, journal::Journal, line};

/// The name of the journal in the folder of a search.
const JOURNAL: &str = "bisect.json";

/// Next step of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// This commit is to be tested.
    Test {
        /// The commit.
        commit: String,
        /// Number of commits that may be the first bad one.
        candidates: usize,
    },
    /// This is the first bad commit.
    Found(String),
    /// Commits that were skipped hide the first bad one: it is one of these.
    Hidden(Vec<String>),
}

/// The name of the made-up repository in the folder of a search among names.
const NAMES: &str = "kernels.git";

/// A folder for a search, which no other process has.
pub struct Claim {
    folder: PathBuf,
    is_new: bool,
    lock: Option<FolderLock>,
}

impl Claim {
    /// Claims a folder, which is made if there is none.
    ///
    /// # Errors
    ///
    /// When it is not a folder, or not this user's where this program chose it; when another process has
    /// it, or it cannot be written to.
    pub fn new(folder: &OutFolder) -> Result<Self, BisectError> {
        let path = folder.path();
        let is_new = !path.exists();
        folder.make()?;
        let writes = |error| BisectError::Write { path: path.clone(), error };
        let lock = match preemptlab_files::lock(&path).map_err(writes)? {
            Lock::Taken(lock) => lock,
            Lock::Held(by) => return Err(BisectError::Busy { path, by }),
        };
        Ok(Self { folder: path, is_new, lock: Some(lock) })
    }

    /// Makes a history of names in the folder: a repository with a commit for each, one on top of the
    /// other. Returns the repository and the commits.
    ///
    /// # Errors
    ///
    /// When git fails, or the folder cannot be written to.
    pub fn line(&self, names: &[String]) -> Result<(PathBuf, Vec<String>), BisectError> {
        let repository = self.folder.join(NAMES);
        let commits = line::line(&repository, names)?;
        Ok((repository, commits))
    }
}

impl Drop for Claim {
    /// Removes the folder that was made for a search that did not begin.
    fn drop(&mut self) {
        let lock = self.lock.take();
        if self.is_new && lock.is_some() {
            let _ = preemptlab_files::remove_folder(&self.folder);
        }
    }
}

/// A search, in a folder of its own.
pub struct Search {
    folder: PathBuf,
    history: History,
    journal: Journal,
    _lock: Option<FolderLock>,
}

impl Search {
    /// Returns the full names of two revisions of a repository, good and bad.
    ///
    /// # Errors
    ///
    /// When the folder is not a repository or lacks one of them, and when the two are not one
    /// history.
    pub fn ends(repository: &Path, good: &str, bad: &str) -> Result<[String; 2], BisectError> {
        let git = Repository::around(repository)?.git(&format!("{good} {bad}"))?;
        let [good, bad] = [git.commit(good)?, git.commit(bad)?];
        if good == bad {
            return Err(BisectError::Same(good));
        }
        History::check_related(&git, &good, &bad)?;
        Ok([good, bad])
    }

    /// Begins a search in a folder, or continues the one that is there.
    ///
    /// # Errors
    ///
    /// When the two ends are not one history, the folder holds another search, or something cannot be read
    /// or written. A folder that was made for it is removed then.
    pub fn open(mut claim: Claim, repository: &Path, ends: Ends) -> Result<Self, BisectError> {
        let folder = &claim.folder.clone();
        let journal = match Journal::read(&folder.join(JOURNAL))? {
            Some(journal) if journal.ends != ends => {
                return Err(BisectError::Other { path: folder.to_owned() });
            }
            Some(journal) => journal,
            None => Journal::new(ends),
        };
        let history = History::open(folder, repository)?;
        let Ends { good, bad, .. } = &journal.ends;
        History::check_related(&history.git, good, bad)?;
        let answers = journal.steps.iter().map(|step| (step.commit.as_str(), step.answer.as_str()));
        history.start(good, bad, answers)?;
        journal.write(&folder.join(JOURNAL))?;
        Ok(Self { folder: folder.clone(), history, journal, _lock: claim.lock.take() })
    }

    /// Returns the ends of the search.
    pub fn ends_of(&self) -> &Ends {
        &self.journal.ends
    }

    /// Returns the answers so far.
    pub fn steps(&self) -> &[Tested] {
        &self.journal.steps
    }

    /// Returns the mechanism that the search follows, if it is known.
    pub fn mechanism(&self) -> Option<&str> {
        self.journal.mechanism.as_deref()
    }

    /// Keeps the mechanism that the search follows.
    ///
    /// # Errors
    ///
    /// When the journal cannot be written.
    pub fn follow(&mut self, mechanism: String) -> Result<(), BisectError> {
        self.journal.mechanism = Some(mechanism);
        self.journal.write(&self.folder.join(JOURNAL))
    }

    /// Returns the next step.
    ///
    /// # Errors
    ///
    /// When git fails.
    pub fn next(&self) -> Result<Next, BisectError> {
        let candidates = self.history.candidates()?;
        let is_skipped = |commit: &String| {
            let mut skipped = self.journal.steps.iter().filter(|step| step.answer == Answer::Skip);
            skipped.any(|step| step.commit == *commit)
        };
        match &candidates[..] {
            [] => Err(BisectError::Git("no commit is left".to_owned())),
            [first] => Ok(Next::Found(first.clone())),
            [_, others @ ..] if others.iter().all(is_skipped) => Ok(Next::Hidden(candidates)),
            _ => {
                let commit = self.history.wanted()?;
                Ok(Next::Test { commit, candidates: candidates.len() })
            }
        }
    }

    /// Writes an answer down and tells git.
    ///
    /// # Errors
    ///
    /// When the journal cannot be written, or git fails.
    pub fn answer(&mut self, step: Tested) -> Result<(), BisectError> {
        let Tested { commit, answer, .. } = step.clone();
        self.journal.steps.push(step);
        self.journal.write(&self.folder.join(JOURNAL))?;
        self.history.answer(&commit, answer.as_str())
    }

    /// Describes a commit.
    ///
    /// # Errors
    ///
    /// When git fails.
    pub fn describe(&self, commit: &str) -> Result<Commit, BisectError> {
        self.history.describe(commit)
    }

    /// Returns the first parent of a commit.
    ///
    /// # Errors
    ///
    /// When git fails.
    pub fn parent(&self, commit: &str) -> Result<Option<String>, BisectError> {
        self.history.parent(commit)
    }

    /// Takes a commit back on top of the bad one.
    ///
    /// # Errors
    ///
    /// When git fails.
    pub fn reverted(&self, commit: &str) -> Result<Revert, BisectError> {
        self.history.revert(commit, &self.journal.ends.bad)
    }

    /// Returns the repository that holds what [`Self::reverted`] makes.
    pub fn repository(&self) -> PathBuf {
        self.folder.join(super::history::NAME)
    }
}
