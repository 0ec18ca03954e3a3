use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use preemptlab_experiment::RepeatedFiles;
use preemptlab_files::{FolderError, OutFolder};
use preemptlab_provision::REPEAT;
use preemptlab_workload::Folder;

/// Mode of a program.
const EXECUTABLE: u32 = 0o755;

/// Reason why the files that repeat a command cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The recording's folder has no name that a file beside it can have.
    #[error("no file can have its name beside {}; name another folder with --out", .0.display())]
    Nameless(PathBuf),
    /// A file is there and says something else.
    #[error(
        "{} is there, and repeats something else; name another folder with --out, or run that file as it is",
        .0.display()
    )]
    Other(PathBuf),
    /// Something stands in the place of the workload's folder that is not this user's own.
    #[error(transparent)]
    NotOwn(FolderError),
    /// A file cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
}

/// Files that repeat a command, on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Path of the experiment.
    pub experiment: PathBuf,
    /// Folder of the workload.
    pub folder: PathBuf,
}

/// Writes the experiment and the workload's folder that repeat a command beside the recording `out`. Files that
/// are there already and say the same stay.
///
/// # Errors
///
/// [`WriteError`]
pub fn write_repeated(files: &RepeatedFiles, out: &OutFolder) -> Result<Written, WriteError> {
    let place = &out.path();
    let nameless = || WriteError::Nameless(place.clone());
    let name = place.file_name().and_then(|name| name.to_str()).ok_or_else(nameless)?;
    // A relative path in TOML must not climb or hold invisible characters.
    if name.contains(char::is_control) {
        return Err(nameless());
    }
    let workload = format!("{name}.workload");
    let (experiment, folder) =
        (place.with_file_name(format!("{name}.toml")), place.with_file_name(&workload));
    let text = files.experiment(&workload);
    let program = folder.join(Folder::REPEAT);
    let all: [(&Path, &[u8]); 3] = [
        (&program, REPEAT),
        (&folder.join(Folder::DEFINITION), files.definition.as_bytes()),
        // The last, so that all that it names is there.
        (&experiment, text.as_bytes()),
    ];
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error| WriteError::Io { path, error }
    };
    for (path, bytes) in all {
        check(path, bytes)?;
    }
    out.beside(&workload).make().map_err(|error| match error {
        FolderError::Io { path, error } => WriteError::Io { path, error },
        error => WriteError::NotOwn(error),
    })?;
    for (path, bytes) in all {
        preemptlab_files::write_new(path, bytes).map_err(at(path))?;
        if path == program {
            fs::set_permissions(path, Permissions::from_mode(EXECUTABLE)).map_err(at(path))?;
        }
    }
    Ok(Written { experiment, folder })
}

/// Refuses a file that says something else.
fn check(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    // A link leads to a file that is not this program's to change.
    if path.is_symlink() {
        return Err(WriteError::Other(path.to_owned()));
    }
    match preemptlab_files::read(path, bytes.len() as u64) {
        Ok(present) if present == bytes => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(_) => Err(WriteError::Other(path.to_owned())),
        // It may be longer, too.
        Err(_) if path.is_file() => Err(WriteError::Other(path.to_owned())),
        Err(error) => Err(WriteError::Io { path: path.to_owned(), error }),
    }
}

#[cfg(test)]
mod tests {
    use preemptlab_experiment::{Experiment, Repeated, Replicates};
    use preemptlab_model::PreemptMode;

    use super::*;
    use crate::prepare::embed;

    fn files(command: &str) -> RepeatedFiles {
        Repeated {
            command: &command.parse().unwrap(),
            program: "/usr/bin/xz",
            packages: &["xz-utils".parse().unwrap()],
            window: "1s".parse().unwrap(),
            kernels: &["debian:6.12".parse().unwrap()],
            modes: &[PreemptMode::None],
            replicates: Replicates::default(),
            repeat: REPEAT,
        }
        .files()
        .unwrap()
    }

    #[test]
    fn what_is_written_is_an_experiment_with_its_folder() {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("runs/x.1");
        let written = write_repeated(&files("xz -9"), &OutFolder::named(&out)).unwrap();
        assert_eq!(written.experiment, place.path().join("runs/x.1.toml"));
        let text = fs::read_to_string(&written.experiment).unwrap();
        let experiment = Experiment::parse(&text).unwrap();
        let base = written.experiment.parent().unwrap();
        let (embedded, folders) = embed(experiment, base).unwrap();
        assert!(embedded.workload["xz"].repeats_command());
        let files_of: Vec<_> = folders.values().flat_map(|files| files.iter()).collect();
        let program = preemptlab_files::Node::File { executable: true, bytes: REPEAT.into() };
        assert_eq!(files_of, [("repeat", &program)]);
        // Once more, after a stop in between.
        fs::remove_file(&written.experiment).unwrap();
        fs::set_permissions(written.folder.join("repeat"), Permissions::from_mode(0o644)).unwrap();
        assert_eq!(write_repeated(&files("xz -9"), &OutFolder::named(&out)).unwrap(), written);
        let again = embed(Experiment::parse(&text).unwrap(), base).unwrap();
        assert_eq!(again.1, folders);
    }

    #[test]
    fn files_of_something_else_stay() {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("x");
        let written = write_repeated(&files("xz -9"), &OutFolder::named(&out)).unwrap();
        let before = fs::read(&written.experiment).unwrap();
        let said =
            write_repeated(&files("xz -8"), &OutFolder::named(&out)).unwrap_err().to_string();
        assert!(
            said.contains("x.workload/workload.toml is there, and repeats something else"),
            "{said}"
        );
        assert_eq!(fs::read(&written.experiment).unwrap(), before);
        fs::write(&written.experiment, [&before[..], b"\n"].concat()).unwrap();
        let said =
            write_repeated(&files("xz -9"), &OutFolder::named(&out)).unwrap_err().to_string();
        assert!(said.contains("x.toml is there, and repeats something else"), "{said}");
        for nameless in ["/", "..", "x/.."] {
            let said =
                write_repeated(&files("xz"), &OutFolder::named(nameless)).unwrap_err().to_string();
            assert!(said.starts_with("no file can have its name beside"), "{said}");
        }
    }
}
