//! The cells of recordings as the tables have them.

use std::{ffi::OsStr, fs, path::Path};

use preemptlab_analysis::{Error, Keep, cells::for_each_cell};
use preemptlab_experiment::Recording;

use super::ExportedCell;

/// Returns the names of the recordings in the tables: those of their folders, wherever these are.
///
/// # Errors
///
/// When two have one name.
pub fn names(recordings: &[Recording]) -> Result<Vec<String>, Error> {
    let mut names: Vec<String> = Vec::new();
    for recording in recordings {
        let path = fs::canonicalize(recording.path());
        let name = path.as_deref().ok().and_then(Path::file_name).map(OsStr::to_string_lossy);
        let name =
            name.map_or_else(|| recording.manifest().experiment.name.to_string(), Into::into);
        if names.contains(&name) {
            return Err(Error::Unusable(format!(
                "two recordings are called `{name}`, which would be one in the tables; rename a \
                 folder, or export each by itself"
            )));
        }
        names.push(name);
    }
    Ok(names)
}

/// Gives every cell of recordings to `visit`, in the order of the recordings and of their plans.
///
/// # Errors
///
/// When a cell cannot be read, and the first error of `visit`.
pub fn for_each_exported(
    recordings: &[Recording],
    names: &[String],
    keep: Keep,
    mut visit: impl FnMut(ExportedCell) -> Result<(), Error>,
) -> Result<(), Error> {
    for (recording, name) in recordings.iter().zip(names) {
        let mut visited = Ok(());
        for_each_cell(&[recording], keep, |_, reading| {
            if visited.is_ok() {
                visited = visit(ExportedCell::new(reading, name));
            }
        })?;
        visited?;
    }
    Ok(())
}
