//! From the user's words to an experiment.

use std::{io, path::Path};

use preemptlab_analysis::meant;
use preemptlab_experiment::{
    Experiment, KernelLevel, Overrides, ParseKernelLevelError, Recording, split_label,
};
use preemptlab_files::Folders;
use preemptlab_recording::Override;

use crate::{EmbedError, Error, Mistake, Result, embed};

/// The most bytes of a file that people write; experiments and scenarios have some kilobytes.
pub(crate) const TEXT_BYTES_MAX: u64 = 1 << 20;

/// An experiment as it is to be run.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The experiment.
    pub experiment: Experiment,
    /// The folders of its workloads.
    pub folders: Folders,
    /// Values that differ from those of the file.
    pub overrides: Vec<Override>,
}

impl Wanted {
    /// Reads an experiment, puts values in the place of its own, and reads the folders of its
    /// workloads.
    ///
    /// # Errors
    ///
    /// When a file cannot be read, or has a mistake.
    pub fn read(path: &Path, overrides: &Overrides) -> Result<Self> {
        Self::parse(read(path, meant::Kind::Experiment)?, path, overrides)
    }

    /// Does the same with the text of an experiment.
    ///
    /// # Errors
    ///
    /// When the text has a mistake, or a folder that it names cannot be read.
    pub fn parse(text: String, path: &Path, overrides: &Overrides) -> Result<Self> {
        let mut experiment = match Experiment::parse(&text) {
            Ok(experiment) => experiment,
            Err(error) => {
                let path = path.to_owned();
                return Err(match meant::no_experiment(&text, &path) {
                    Some(other) => Error::user(other),
                    None => Mistake {
                        path,
                        text,
                        message: error.message,
                        help: error.help,
                        span: error.span,
                    }
                    .into(),
                });
            }
        };
        let overrides = overrides.apply(&mut experiment).map_err(Error::user)?;
        let base = path.parent().unwrap_or(Path::new(""));
        let (experiment, folders) = embed(experiment, base).map_err(not_embedded)?;
        Ok(Self { experiment, folders, overrides })
    }

    /// Returns the experiment of a recording, to continue it.
    ///
    /// # Errors
    ///
    /// When there is no recording, or values are to differ from those that it began with.
    pub fn recorded(path: &Path, overrides: &Overrides) -> Result<Self> {
        let recording = Recording::open(path)?;
        if *overrides != Overrides::default() {
            return Err(Error::user(format!(
                "{} is a recording and cannot be changed; to use other values, run the experiment's \
                 file",
                path.display()
            )));
        }
        let manifest = recording.manifest();
        let (experiment, overrides) = (manifest.experiment.clone(), manifest.overrides.clone());
        Ok(Self { experiment, folders: recording.folders()?, overrides })
    }
}

fn not_embedded(error: EmbedError) -> Error {
    match error {
        EmbedError::Definition { path, text, error } => {
            let preemptlab_experiment::SpecError { message, help, span, .. } = error;
            Mistake { path, text, message, help, span }.into()
        }
        error => Error::user(error),
    }
}

/// Reads a file of a kind that the user names.
///
/// # Errors
///
/// When it cannot be read, or is not a text.
pub fn read(path: &Path, kind: meant::Kind) -> Result<String> {
    let text = preemptlab_files::read(path, TEXT_BYTES_MAX).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    });
    text.map_err(|error| {
        let kinds = [io::ErrorKind::NotFound, io::ErrorKind::IsADirectory];
        let near = kinds.contains(&error.kind()).then(|| meant::file(path, kind)).flatten();
        let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        Error::user(format!("cannot read {}: {error}{hint}", path.display()))
    })
}

/// Reads a kernel with its label. Where a path stands for a kernel, it is that of a package or of a source
/// tree.
///
/// # Errors
///
/// When it is neither.
pub fn kernel_level(text: &str) -> Result<KernelLevel, ParseKernelLevelError> {
    let (label, kernel) = split_label(text);
    let is_folder = |text: &str| text != "host" && Path::new(text).is_dir();
    let is_path = kernel.starts_with(['.', '/']) || !kernel.contains(':') && is_folder(kernel);
    let word =
        if kernel.ends_with(".deb") || kernel.ends_with(".rpm") { "package" } else { "tree" };
    match (is_path, label) {
        (false, _) => text.parse(),
        (true, None) => format!("{word}:{kernel}").parse(),
        (true, Some(label)) => format!("{label}={word}:{kernel}").parse(),
    }
}
