//! The files of tables: a folder that is new or empty, and all of them or none.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use preemptlab_analysis::{Error, Keep};
use preemptlab_experiment::Recording;
use preemptlab_files::{Draft, FolderError, OutFolder};
use preemptlab_model::NoResult;

use super::{
    error::ExportError,
    recorded::{for_each_exported, names},
    table::{Format, Table},
    writer::Export,
};

/// Tables that were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Paths of the tables.
    pub files: Vec<PathBuf>,
    /// Number of cells of each status.
    pub statuses: BTreeMap<&'static str, usize>,
}

/// Writes tables of every cell of recordings into a folder that is new or empty; without one its
/// name follows from that of the recording.
///
/// # Errors
///
/// Where a recording cannot be read, the folder cannot be written to, or there is no name for it.
pub fn export_tables(
    recordings: &[Recording],
    format: Format,
    out: Option<&Path>,
) -> Result<Tables, Error> {
    let names = names(recordings)?;
    let folder = match (out, names.as_slice()) {
        (Some(out), _) => OutFolder::named(out),
        (None, [name]) => OutFolder::chosen(".", format!("{name}-export")),
        (None, _) => {
            let message = "several recordings are exported; name the folder with --out FOLDER";
            return Err(Error::Unusable(message.to_owned()));
        }
    };
    let is_new = prepare(&folder)?;
    let folder = folder.path();
    write(recordings, &names, format, &folder).inspect_err(|_| {
        if is_new {
            // Only an empty folder can be removed so.
            let _ = fs::remove_dir(&folder);
        }
    })
}

/// Sees to it that the folder is there and empty. Returns whether it was made.
fn prepare(out: &OutFolder) -> Result<bool, Error> {
    let folder = &out.path();
    let host = |action: &str, error: io::Error| {
        Error::Machine(format!("cannot {action} {}: {error}; see --out", folder.display()))
    };
    match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => made(out).map(|()| false),
        Ok(false) => Err(Error::Unusable(format!(
            "{0} is not empty, and nothing is overwritten; `rm -r {0}` if it is an earlier export, \
             or choose another folder with --out",
            folder.display()
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => made(out).map(|()| true),
        Err(error) => Err(host("read", error)),
    }
}

fn made(out: &OutFolder) -> Result<(), Error> {
    out.make().map_err(|error| match error {
        FolderError::Io { path, error } => {
            Error::Machine(format!("cannot create {}: {error}; see --out", path.display()))
        }
        error => Error::Unusable(error.to_string()),
    })
}

fn write(
    recordings: &[Recording],
    names: &[String],
    format: Format,
    folder: &Path,
) -> Result<Tables, Error> {
    let unwritten = |error| write_failure(error, folder);
    let draft =
        |table| Draft::new_in(folder).map_err(|error| unwritten(ExportError::Io { table, error }));
    let mut drafts = Vec::new();
    for table in Table::ALL {
        drafts.push((table, draft(table)?));
    }
    let files = drafts.iter_mut().map(|(table, draft)| (*table, draft.file()));
    let mut export = Export::new(format, files).map_err(unwritten)?;
    let mut statuses = BTreeMap::new();
    for_each_exported(recordings, names, Keep::Sections, |exported| {
        let status = NoResult::status(exported.cell.result.as_ref().err());
        *statuses.entry(status).or_default() += 1;
        export.write(&exported).map_err(unwritten)
    })?;
    export.finish().map_err(unwritten)?;

    let files = publish(drafts, format, folder).map_err(unwritten)?;
    Ok(Tables { files, statuses })
}

/// Gives the tables their names, all or none of them.
fn publish(
    drafts: Vec<(Table, Draft)>,
    format: Format,
    folder: &Path,
) -> Result<Vec<PathBuf>, ExportError> {
    let mut files = Vec::new();
    for (table, draft) in drafts {
        let file = folder.join(format!("{table}.{}", format.extension()));
        let published = match draft.publish(&file) {
            Ok(true) => Ok(()),
            Ok(false) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) => Err(error),
        };
        if let Err(error) = published {
            files.iter().for_each(|file| drop(fs::remove_file(file)));
            return Err(ExportError::Io { table, error });
        }
        files.push(file);
    }
    Ok(files)
}

/// Returns the error of a table: a full disk is the machine's fault, an impossible value the
/// recording's.
fn write_failure(error: ExportError, folder: &Path) -> Error {
    let kind = match &error {
        ExportError::Io { error, .. } => Some(error.kind()),
        ExportError::Value { .. } | ExportError::Parquet { .. } => None,
    };
    let advice = match kind {
        Some(
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge,
        ) => {
            "; free some space and run the same command again, or choose another folder with --out"
        }
        Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {
            "; choose a folder that you may write to with --out"
        }
        _ => "",
    };
    let message = format!("in {}: {error}{advice}", folder.display());
    match error {
        ExportError::Value { .. } => Error::Unusable(message),
        ExportError::Io { .. } | ExportError::Parquet { .. } => Error::Machine(message),
    }
}
