//! Traces for the tools that people already use.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::ExitCode,
};

use preemptlab_trace::ExportError;
use tempfile::NamedTempFile;

use super::{choice::Chosen, timelines, tracing::Tracing};
use crate::{args::Export, exit};

/// Writes the trace of a cell in another tool's form.
pub fn execute(
    tracing: &Tracing<'_>,
    cell: &Chosen,
    form: Export,
    out: &Path,
) -> exit::Result<ExitCode> {
    // Before anything is executed in vain.
    let mut draft = Draft::new(out)?;
    tracing.ensure(&[cell])?;
    let kernel = tracing.kernel(cell)?;
    let stream = timelines::stream(tracing, cell)?;
    let mut file = BufWriter::new(draft.file());
    let written = match form {
        Export::Perfetto => preemptlab_trace::perfetto(stream, &kernel, None, &mut file),
        Export::Ftrace => preemptlab_trace::ftrace_text(stream, &kernel, None, &mut file),
    };
    written.and_then(|()| Ok(file.flush()?)).map_err(|error| match error {
        ExportError::Trace(error) => tracing.unreadable(cell, error),
        ExportError::Write(error) => unwritable(out, &error),
    })?;
    drop(file);
    draft.publish()?;
    tracing.output.note(format!("wrote {}", out.display()));
    if form == Export::Perfetto {
        tracing.output.note("open it at ui.perfetto.dev; times are virtual");
    }
    Ok(ExitCode::from(exit::OK))
}

/// A file that replaces what has its name once it is whole. What is no regular file, such as
/// `/dev/stdout`, is written to at once.
struct Draft<'a> {
    path: &'a Path,
    file: Result<NamedTempFile, File>,
}

impl<'a> Draft<'a> {
    fn new(path: &'a Path) -> exit::Result<Self> {
        let create = || match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(metadata) if !metadata.is_file() => {
                Ok(Err(File::options().write(true).open(path)?))
            }
            _ => NamedTempFile::new_in(folder_of(path)).map(Ok),
        };
        let file = create().map_err(|error| unwritable(path, &error))?;
        Ok(Self { path, file })
    }

    fn file(&mut self) -> &mut File {
        match &mut self.file {
            Ok(named) => named.as_file_mut(),
            Err(file) => file,
        }
    }

    fn publish(self) -> exit::Result<()> {
        let Ok(named) = self.file else { return Ok(()) };
        // As open(2) makes files, and not private.
        let published = named
            .as_file()
            .set_permissions(fs::Permissions::from_mode(0o644))
            .and_then(|()| named.persist(self.path).map_err(|error| error.error));
        published.map(drop).map_err(|error| unwritable(self.path, &error))
    }
}

fn folder_of(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).to_owned()
}

fn unwritable(path: &Path, error: &io::Error) -> exit::Failure {
    let message = format!("cannot write {}: {error}; choose another file", path.display());
    exit::failure(exit::HOST, message)
}
