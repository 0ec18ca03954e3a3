//! Files that are written at the end, checked before their content is made.

use std::{io, path::Path};

use preemptlab_model::Results;
use rustix::fs::{Access, access};

use crate::{exit, output::Output};

/// The name and version of the program that makes pages.
pub const GENERATOR: &str = concat!("preemptlab ", env!("CARGO_PKG_VERSION"));

/// Refuses a file that cannot be written.
pub fn check(file: &Path) -> exit::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let checked = match std::fs::metadata(file) {
        Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => access(file, Access::WRITE_OK).map_err(io::Error::from),
        Err(_) if folder.exists() && !folder.is_dir() => Err(io::ErrorKind::NotADirectory.into()),
        Err(_) => access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(io::Error::from),
    };
    checked.map_err(|error| exit::host(refusal(file, &error)))
}

/// Says that a file cannot be written.
pub fn refusal(file: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}; choose another file", file.display())
}

/// Writes pictures into a folder, which is made if there is none: the name of each file, and the SVG.
pub fn write_pictures(
    folder: &Path,
    pictures: impl IntoIterator<Item = (String, String)>,
    output: &Output,
) -> exit::Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| {
        exit::host(format!("cannot make the folder {}: {error}", folder.display()))
    })?;
    for (file, svg) in pictures {
        let file = folder.join(file);
        // The user named the folder, and no file in it.
        told(preemptlab_files::renew(&file, svg.as_bytes()), &file, output)?;
    }
    Ok(())
}

/// Writes a whole file, and reports it.
pub fn write(file: &Path, bytes: &[u8], output: &Output) -> exit::Result<()> {
    told(preemptlab_files::replace(file, bytes), file, output)
}

/// Writes results as a file that `compare` reads.
pub fn write_results(file: &Path, results: &Results, output: &Output) -> exit::Result<()> {
    let text = toml::to_string(results)
        .map_err(|error| exit::host(format!("the results have no TOML form: {error}")))?;
    write(file, text.as_bytes(), output)
}

fn told(written: io::Result<()>, file: &Path, output: &Output) -> exit::Result<()> {
    written.map_err(|error| exit::host(format!("cannot write {}: {error}", file.display())))?;
    output.note(format!("wrote {}", file.display()));
    Ok(())
}
