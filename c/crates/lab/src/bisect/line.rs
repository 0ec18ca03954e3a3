//! Commits whose bytes follow from what they say: no time and no name of this machine is in them.

use std::{fs, path::Path};

use preemptlab_provision::Git;

use super::{
    BisectError,
    repository::{self, said, writes},
};

/// Makes a repository in a folder with an empty commit for each name, one on top of the other, and
/// returns the commits. Equal lists become equal commits.
pub fn line(folder: &Path, names: &[String]) -> Result<Vec<String>, BisectError> {
    let git = repository::begin(folder)?;
    let tree = said(git.line(&["hash-object", "-w", "-t", "tree", "/dev/null"])?)?;
    let mut commits: Vec<String> = Vec::new();
    for name in names {
        let made = commit(&git, folder, &tree, commits.last().map(String::as_str), name)?;
        commits.push(made);
    }
    Ok(commits)
}

/// Makes a commit in the repository of a folder. `git commit-tree` would put the time into it.
pub fn commit(
    git: &Git,
    folder: &Path,
    tree: &str,
    parent: Option<&str>,
    message: &str,
) -> Result<String, BisectError> {
    let draft = folder.join("commit");
    let parent = parent.map(|parent| format!("parent {parent}\n")).unwrap_or_default();
    let person = "preemptlab <preemptlab@localhost.invalid> 0 +0000";
    let text = format!("tree {tree}\n{parent}author {person}\ncommitter {person}\n\n{message}\n");
    preemptlab_files::renew(&draft, text.as_bytes()).map_err(writes(folder))?;
    let made = git.line(&["hash-object", "-w", "-t", "commit", "commit"])?;
    fs::remove_file(&draft).map_err(writes(folder))?;
    said(made)
}
