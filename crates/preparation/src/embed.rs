use std::path::{Path, PathBuf};

use preemptlab_experiment::{Experiment, SpecError};
use preemptlab_files::{Files, FilesError, Folders, Node};
use preemptlab_workload::{Folder, Workload};

/// Reason why the folder of a workload cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The folder itself cannot be read.
    #[error("the workload `{workload}` cannot be read from {}: {error}", path.display())]
    Files {
        /// Name of the workload.
        workload: String,
        /// Folder of the workload.
        path: PathBuf,
        /// Error of reading the files.
        error: FilesError,
    },
    /// The folder has no definition.
    #[error("the workload `{workload}` cannot be read from {}: there is no {}", path.display(), Folder::DEFINITION)]
    Undefined {
        /// Name of the workload.
        workload: String,
        /// Folder of the workload.
        path: PathBuf,
    },
    /// The folder's definition makes no sense.
    #[error("{}: {error}", path.display())]
    Definition {
        /// Path of the definition.
        path: PathBuf,
        /// Text of the definition.
        text: String,
        /// Error in the text.
        error: SpecError,
    },
}

/// Puts the content of the workloads' folders in the place of their paths, which are relative to
/// `base`, and returns their files.
///
/// # Errors
///
/// [`EmbedError`] when a folder cannot be used.
pub fn embed(mut experiment: Experiment, base: &Path) -> Result<(Experiment, Folders), EmbedError> {
    let mut folders = Folders::new();
    for (name, workload) in &mut experiment.workload {
        let Workload::Folder(folder) = workload else { continue };
        let Some(path) = folder.path().map(|path| base.join(path)) else { continue };
        let (read, files) = read(name, path)?;
        *folder = read;
        folders.extend(folder.files_sha256().map(|sha256| (sha256, files)));
    }
    Ok((experiment, folders))
}

fn read(workload: &str, path: PathBuf) -> Result<(Folder, Files), EmbedError> {
    let workload = workload.to_owned();
    let mut files = match Files::read(&path) {
        Ok(files) => files,
        Err(error) => return Err(EmbedError::Files { workload, path, error }),
    };
    // It says how the files are used and is none of them: the guest does not see it.
    let Some(Node::File { bytes, .. }) = files.remove(Folder::DEFINITION) else {
        return Err(EmbedError::Undefined { workload, path });
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match preemptlab_experiment::definition(&text) {
        Ok(definition) => Ok((Folder::with_content(files.digest(), definition), files)),
        Err(error) => {
            let path = path.join(Folder::DEFINITION);
            Err(EmbedError::Definition { path, text, error })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const DEFINITION: &str = "format = 1\npackages = [\"dash\"]\ncyclictest = \"fifo\"\n";

    fn experiment(path: &str) -> Experiment {
        let text = format!(
            "format = 1\nname = \"mine\"\n[factors]\nkernel = [\"debian:6.12\"]\n\
             preempt = [\"none\"]\n[workload.mine]\nkind = \"folder\"\npath = \"{path}\"\n"
        );
        Experiment::parse(&text).unwrap()
    }

    /// Returns a folder of experiments with `mine`, the folder of a workload.
    fn folder(definition: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("mine")).unwrap();
        fs::write(folder.path().join("mine/run"), "#!/bin/sh\n").unwrap();
        fs::write(folder.path().join("mine/workload.toml"), definition).unwrap();
        folder
    }

    fn refused(folder: &Path, path: &str) -> String {
        embed(experiment(path), folder).unwrap_err().to_string()
    }

    #[test]
    fn what_is_embedded_needs_no_folder_and_tells_no_path() {
        let folder = folder(DEFINITION);
        let (embedded, folders) = embed(experiment("mine"), folder.path()).unwrap();
        let absolute = folder.path().join("mine");
        let (other, _) = embed(experiment(absolute.to_str().unwrap()), Path::new("/")).unwrap();
        assert_eq!(embedded, other);

        let [(sha256, files)] = folders.iter().collect::<Vec<_>>()[..] else { panic!() };
        assert_eq!(embedded.workload["mine"].files_sha256(), Some(*sha256));
        assert_eq!(files.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["run"]);
        assert_eq!(embedded.workload["mine"].packages(), ["dash", "rt-tests"]);

        let json = serde_json::to_string(&embedded).unwrap();
        assert!(!json.contains("path"), "{json}");
        assert_eq!(serde_json::from_str::<Experiment>(&json).unwrap(), embedded);
    }

    #[test]
    fn files_and_definition_make_the_workload() {
        let folder = folder(DEFINITION);
        let embedded = || embed(experiment("mine"), folder.path()).unwrap().0;
        let before = embedded();
        fs::write(folder.path().join("mine/run"), "#!/bin/bash\n").unwrap();
        let other_files = embedded();
        assert_ne!(other_files, before);
        fs::write(folder.path().join("mine/workload.toml"), DEFINITION.replace("fifo", "other"))
            .unwrap();
        assert_ne!(embedded(), other_files);
    }

    #[test]
    fn a_folder_that_cannot_be_used_says_why() {
        let folder = folder("format = 1\ncyclictets = \"both\"\n");
        let said = refused(folder.path(), "mine");
        assert!(said.contains("mine/workload.toml: line 2: unknown field `cyclictets`"), "{said}");
        let said = refused(folder.path(), "yours");
        assert!(said.contains("the workload `mine` cannot be read from"), "{said}");
        assert!(said.contains("No such file or directory"), "{said}");
        fs::remove_file(folder.path().join("mine/workload.toml")).unwrap();
        let said = refused(folder.path(), "mine");
        assert!(said.contains("there is no workload.toml"), "{said}");
    }

    #[test]
    fn a_recorded_definition_is_checked_again() {
        let folder = folder(DEFINITION);
        let (embedded, _) = embed(experiment("mine"), folder.path()).unwrap();
        let json = serde_json::to_string(&embedded).unwrap().replace("\"fifo\"", "\"none\"");
        let error = serde_json::from_str::<Experiment>(&json).unwrap_err().to_string();
        assert!(error.contains("nothing would end a cell"), "{error}");
    }
}
