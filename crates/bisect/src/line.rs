//! A made-up history, so that git searches a list as it searches commits.

use std::{fs, path::Path};

use preemptlab_provision::Git;

use crate::BisectError;

/// Makes a repository in a folder with an empty commit for each name, one on top of the other, and
/// returns the commits. Equal lists become equal commits.
///
/// # Errors
///
/// When git fails, or the folder cannot be written to.
pub fn line(folder: &Path, names: &[String]) -> Result<Vec<String>, BisectError> {
    let said = |answer: Result<String, String>| answer.map_err(BisectError::Git);
    let writes = |error| BisectError::Write { path: folder.to_owned(), error };
    preemptlab_durable::create_folder(folder).map_err(writes)?;
    let git = Git::at(folder);
    said(git.line(&["init", "--quiet", "--bare", "--template="])?)?;
    let tree = said(git.line(&["hash-object", "-w", "-t", "tree", "/dev/null"])?)?;
    // `git commit-tree` would put the time into it.
    let draft = folder.join("commit");
    let mut commits: Vec<String> = Vec::new();
    for name in names {
        let parent = commits.last().map(|parent| format!("parent {parent}\n")).unwrap_or_default();
        let person = "preemptlab <preemptlab@localhost.invalid> 0 +0000";
        let text = format!("tree {tree}\n{parent}author {person}\ncommitter {person}\n\n{name}\n");
        fs::write(&draft, text).map_err(writes)?;
        commits.push(said(git.line(&["hash-object", "-w", "-t", "commit", "commit"])?)?);
    }
    fs::remove_file(&draft).map_err(writes)?;
    Ok(commits)
}
