//! Empty repositories of this program.

use std::{io, path::Path};

use preemptlab_provision::Git;

use super::BisectError;

/// Makes an empty repository in a folder below that of a search, whatever was there before.
pub fn begin(folder: &Path) -> Result<Git, BisectError> {
    let (Some(above), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Err(writes(folder)(io::ErrorKind::InvalidInput.into()));
    };
    preemptlab_files::make_below(above, name)?;
    preemptlab_files::remove_folder(folder).map_err(writes(folder))?;
    preemptlab_files::make_below(above, name)?;
    let git = Git::at(folder);
    said(git.ask(&["init", "--quiet", "--bare", "--template="])?)?;
    Ok(git)
}

/// Returns git's output.
pub fn said<T>(answer: Result<T, String>) -> Result<T, BisectError> {
    answer.map_err(BisectError::Git)
}

/// Returns the error of a file or folder that cannot be written.
pub fn writes(path: &Path) -> impl Fn(io::Error) -> BisectError {
    move |error| BisectError::Write { path: path.to_owned(), error }
}
