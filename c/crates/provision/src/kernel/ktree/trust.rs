//! Whose a kernel's source is. A build runs its scripts, so every user who can write to it can run
//! commands as the user who builds it.

use std::{fs, path::Path};

use super::{Repository, Stranger, TreeError, stranger::who};

/// Files of a source that a build reads first, and that tell which files belong to the source.
const FIRST: [&str; 5] = ["Makefile", "Kconfig", "scripts", ".gitignore", ".gitattributes"];

/// Returns the first file or folder that another user can write to, among those that define a
/// working tree and its repository.
pub(crate) fn stranger_of_tree(folder: &Path) -> Result<Option<Stranger>, TreeError> {
    let of_tree = FIRST.iter().map(|name| folder.join(name));
    let of_tree = [folder.to_owned()].into_iter().chain(of_tree);
    if let Some(stranger) = of_tree.into_iter().find_map(|path| stranger(&path)) {
        return Ok(Some(stranger));
    }
    let repository = Repository::of_tree(folder)?;
    Ok(repository.and_then(|repository| stranger_of_repository(folder, &repository)))
}

/// Does the same for the repository that a folder is in.
pub(crate) fn stranger_of_repository(folder: &Path, repository: &Repository) -> Option<Stranger> {
    let paths = [folder.to_owned()].into_iter().chain(repository.controls());
    paths.into_iter().find_map(|path| stranger(&path))
}

/// Says who else can write to a file or folder. `None` for one that is not there.
fn stranger(path: &Path) -> Option<Stranger> {
    // A link's own mode says nothing.
    let target = fs::metadata(path).ok()?;
    if !target.is_file() && !target.is_dir() {
        // A pipe or a device is refused where it would be read.
        return None;
    }
    let who = [fs::symlink_metadata(path).ok()?, target].iter().find_map(who)?;
    Some(Stranger { path: path.to_owned(), who })
}
