use std::{
    io,
    path::{Path, PathBuf},
};

use preemptlab_experiment::{CostSource, Experiment, INSTRUCTIONS, SpecError, shipped_profiles};
use preemptlab_files::{Files, FilesError, Folders, Node};
use preemptlab_model::{Profile, nearest};
use preemptlab_workload::{Folder, Workload};

/// The most bytes of a profile's file; the longest that makes sense has a few thousand.
const PROFILE_BYTES_MAX: u64 = 64 << 10;

/// Reason why a file or a folder that an experiment names cannot be used.
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
    /// A profile cannot be read.
    #[error(
        "the profile {} cannot be read: {error}; {}preemptlab has {}, and \
         `preemptlab system calibrate` makes one of this machine",
        path.display(),
        meant(path),
        shipped_profiles().collect::<Vec<_>>().join(", ")
    )]
    Profile {
        /// Path of the profile.
        path: PathBuf,
        /// Error of reading the file.
        error: io::Error,
    },
    /// `[machine] caches` is asked for, and the profile does not describe any.
    #[error(
        "the profile {} of [machine] cost has no section [caches], which `caches = true` needs: \
         docs/cost-model.md describes it", path.display()
    )]
    NoCaches {
        /// Path of the profile.
        path: PathBuf,
    },
    /// The machines of the experiment cannot be compared.
    #[error("{0}")]
    Machines(String),
    /// The definition of a folder, or a profile, makes no sense.
    #[error("{}: {error}", path.display())]
    Definition {
        /// Path of the file.
        path: PathBuf,
        /// Text of the file.
        text: String,
        /// Error in the text.
        error: SpecError,
    },
}

/// Puts the content of the workloads' folders and of the machine's profile in the place of their
/// paths, which are relative to `base`, and returns the folders' files.
///
/// # Errors
///
/// [`EmbedError`] when a folder or the profile cannot be used.
pub fn embed(mut experiment: Experiment, base: &Path) -> Result<(Experiment, Folders), EmbedError> {
    let has_caches = experiment.machine.caches;
    for cost in experiment.costs_mut() {
        let CostSource::File(file) = cost else { continue };
        let path = base.join(file);
        let profile = profile(path.clone())?;
        if has_caches && profile.caches.is_none() {
            return Err(EmbedError::NoCaches { path });
        }
        *cost = CostSource::Profile(Box::new(profile));
    }
    // Profiles of two files may have one name.
    experiment.check_again().map_err(EmbedError::Machines)?;
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

/// Puts a profile in the place of its path, which is relative to `base`.
///
/// # Errors
///
/// [`EmbedError`] when the profile cannot be used.
pub fn cost(cost: CostSource, base: &Path) -> Result<CostSource, EmbedError> {
    match cost {
        CostSource::File(path) => Ok(CostSource::Profile(Box::new(profile(base.join(path))?))),
        cost => Ok(cost),
    }
}

/// Asks whether another name was meant, where a file that is not there has nearly the name of a profile.
fn meant(path: &Path) -> String {
    let named = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let known = shipped_profiles().chain([INSTRUCTIONS]);
    let nearest = nearest(named, known).filter(|_| !path.exists());
    nearest.map(|nearest| format!("did you mean `{nearest}`? ")).unwrap_or_default()
}

fn profile(path: PathBuf) -> Result<Profile, EmbedError> {
    let read = preemptlab_files::read(&path, PROFILE_BYTES_MAX).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    });
    let text = match read {
        Ok(text) => text,
        Err(error) => return Err(EmbedError::Profile { path, error }),
    };
    preemptlab_experiment::profile(&text).map_err(|error| EmbedError::Definition {
        path,
        text,
        error,
    })
}

fn read(workload: &str, path: PathBuf) -> Result<(Folder, Files), EmbedError> {
    let workload = workload.to_owned();
    let mut files = match Files::read(&path) {
        Ok(files) => files,
        Err(error) => return Err(EmbedError::Files { workload, path, error }),
    };
    // The definition says how the files are used. It is not one of them: the guest does not see it.
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

    /// Returns an experiment that needs no folder.
    fn idle() -> Experiment {
        let text = "format = 1\nname = \"mine\"\n[factors]\nkernel = [\"debian:6.12\"]\n\
                    preempt = [\"none\"]\n[workload.idle]\nkind = \"cyclictest\"\n";
        Experiment::parse(text).unwrap()
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
        assert_eq!(
            embedded.workload["mine"].packages(preemptlab_model::Arch::Amd64),
            ["dash", "rt-tests"]
        );

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
    fn a_profile_is_embedded_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let priced = |path: &str| {
            let mut experiment = idle();
            experiment.machine.prices = CostSource::File(path.to_owned());
            embed(experiment, folder.path())
        };
        let mut text = "format = 2\nname = \"x\"\narch = \"amd64\"\nmachine = \"y\"\n\
                        [prices]\n"
            .to_owned();
        for class in preemptlab_protocol::prices::Class::X86_64 {
            text += &format!("{class} = 100\n");
        }
        fs::write(folder.path().join("x.toml"), &text).unwrap();
        let (embedded, _) = priced("x.toml").unwrap();
        assert_eq!(
            embedded
                .machine
                .prices
                .profile()
                .unwrap()
                .prices
                .of(preemptlab_protocol::prices::Class::Halt)
                .get(),
            100
        );
        let json = serde_json::to_string(&embedded).unwrap();
        assert!(!json.contains("x.toml"), "{json}");
        assert_eq!(serde_json::from_str::<Experiment>(&json).unwrap(), embedded);

        fs::write(folder.path().join("bad.toml"), text.replace("halt = 100", "halt = 0")).unwrap();
        fs::write(folder.path().join("long.toml"), "#".repeat(65 << 10)).unwrap();
        fs::write(folder.path().join("binary.toml"), [0xff, 0xfe]).unwrap();
        // Neither a pipe without a writer nor a device without an end is waited for.
        let socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket"));
        for (path, said) in [
            ("socket", "cannot be read: it is no regular file"),
            ("/dev/zero", "cannot be read: it is no regular file"),
            ("none.toml", "none.toml cannot be read: No such file"),
            (".", "cannot be read: Is a directory"),
            ("bad.toml", "a price must be 1 to"),
            ("long.toml", "larger than 64 KiB"),
            ("binary.toml", "invalid utf-8"),
        ] {
            let refused = priced(path).unwrap_err().to_string();
            assert!(refused.contains(said), "{refused}");
        }
        drop(socket);
        let refused = priced("desktop").unwrap_err().to_string();
        let shipped =
            "preemptlab has amd-epyc, desktop-x86, server-x86, raspberry-pi-4, server-arm64, and";
        assert!(refused.contains(shipped), "{refused}");
        let mut with_caches = idle();
        with_caches.machine.prices = CostSource::File("x.toml".to_owned());
        with_caches.machine.caches = true;
        let refused = embed(with_caches, folder.path()).unwrap_err().to_string();
        assert!(refused.contains("x.toml of [machine] cost has no section [caches]"), "{refused}");
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
