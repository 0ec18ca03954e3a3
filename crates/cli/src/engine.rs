//! Engines that people have already, which execute cells.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
};

use clap::Args;
use preemptlab_cluster::{
    emit::{self, Line},
    engine::{Engine, EngineError, EngineKind, RoundError},
    kubernetes::{Kubernetes, Options},
    slurm::{Arguments, Slurm},
};
use preemptlab_lab::{Blame, Error, OnEngine, OrBlame, Place};
use rustix::process::{getegid, geteuid};

use crate::exit::{self, OrExit};

/// An engine that executes cells.
#[derive(Args, Debug)]
pub struct EngineArgs {
    /// The engine: slurm, or kubernetes with --volume and --image. Its machines share the recording's
    /// folder, and need no network
    #[arg(value_name = "ENGINE")]
    pub engine: EngineKind,
    #[command(flatten)]
    pub tasks: TaskArgs,
}

/// Tasks of an engine.
#[derive(Args, Debug)]
#[command(next_help_heading = "On the engine")]
pub struct TaskArgs {
    /// Number of tasks that share the cells [default: some four a CPU, of 10 to 100 cells]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub tasks: Option<u32>,
    /// An option for the engine's own command, such as --partition=short for sbatch; may be repeated
    #[arg(long = "engine-arg", value_name = "ARG", allow_hyphen_values = true)]
    pub arguments: Vec<String>,
    /// The claim of Kubernetes that holds the recording, and the folder where it is mounted here
    /// [default folder: the one that the recording is in]
    #[arg(long, value_name = "CLAIM[=FOLDER]")]
    pub volume: Option<Volume>,
    /// The image that pods execute: `make image` builds one
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<Line>,
}

impl TaskArgs {
    /// Returns Slurm, with the user's options for it.
    pub fn slurm(&self) -> exit::Result<Box<dyn Engine>> {
        let arguments = Arguments::new(&self.arguments).or_exit(exit::UNUSABLE)?;
        Ok(Box::new(Slurm::new(arguments)))
    }

    /// Returns Kubernetes, with the user's options for it. Pods mount a claim and execute an image, and
    /// their files are this user's.
    fn kubernetes(&self, claim: &Line, image: &Line) -> exit::Result<Box<dyn Engine>> {
        let options = Options::new(&self.arguments).or_exit(exit::UNUSABLE)?;
        let user = (geteuid().as_raw(), getegid().as_raw());
        Ok(Box::new(Kubernetes::new(claim.clone(), image.clone(), user, options)))
    }
}

impl EngineArgs {
    /// Returns the engine with the user's options for it, once it has answered. The command waits for the
    /// tasks, and neither leaves nor resumes earlier ones.
    pub fn on(&self) -> exit::Result<OnEngine<'_>> {
        let line = |path: &Path| Line::of_path(path).or_blame(Blame::User);
        let (engine, place): (_, Box<Place<'_>>) = match self.engine {
            EngineKind::Slurm => {
                let program = line(&std::env::current_exe().or_exit(exit::HOST)?)?;
                let place = move |recording: &Path| Ok((program.clone(), line(recording)?));
                (self.tasks.slurm()?, Box::new(place))
            }
            EngineKind::Kubernetes => {
                let (volume, image) = pods(self.tasks.volume.as_ref(), self.tasks.image.as_ref())?;
                let program: Line = "preemptlab".parse().or_exit(exit::UNUSABLE)?;
                let place = move |recording: &Path| Ok((program.clone(), volume.place(recording)?));
                (self.tasks.kubernetes(volume.claim(), image)?, Box::new(place))
            }
        };
        // Before anything is downloaded. An engine that does not answer now is waited for.
        match engine.cluster() {
            Ok(_) | Err(EngineError::Away(_)) => {}
            Err(error) => return Err(RoundError::from(error).into()),
        }
        let user = std::env::var("USER").ok();
        let tasks = self.tasks.tasks;
        Ok(OnEngine { engine, place, tasks, detach: false, attach: false, twice: None, user })
    }
}

/// A claim, and where it is mounted here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    claim: Line,
    folder: Option<PathBuf>,
}

impl FromStr for Volume {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (claim, folder) = match text.split_once('=') {
            Some((claim, folder)) => (claim, Some(PathBuf::from(folder))),
            None => (text, None),
        };
        let is_name = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.')
        };
        match !claim.is_empty() && claim.len() <= 253 && claim.bytes().all(is_name) {
            true => Ok(Self { claim: claim.parse().map_err(|error| format!("{error}"))?, folder }),
            false => Err(format!("`{text}` is no claim: write CLAIM or CLAIM=FOLDER")),
        }
    }
}

impl Volume {
    /// Returns the claim.
    pub fn claim(&self) -> &Line {
        &self.claim
    }

    /// Returns where pods find a recording.
    pub fn place(&self, recording: &Path) -> preemptlab_lab::Result<Line> {
        let recording = recording.canonicalize().or_blame(Blame::User)?;
        let folder = match &self.folder {
            Some(folder) => folder.canonicalize().map_err(|error| {
                Error::user(format!("cannot open {}: {error}", folder.display()))
            })?,
            None => recording.parent().unwrap_or(Path::new("/")).to_owned(),
        };
        emit::place(&recording, &folder).or_blame(Blame::User)
    }
}

/// Returns the claim and the image, both of which Kubernetes needs.
pub fn pods<'a>(
    volume: Option<&'a Volume>,
    image: Option<&'a Line>,
) -> exit::Result<(&'a Volume, &'a Line)> {
    let volume = volume.ok_or_else(|| {
        exit::unusable("pods share the recording on a claim: name it with --volume CLAIM=FOLDER")
    })?;
    let image = image.ok_or_else(|| {
        exit::unusable("pods execute an image: `make image` builds one; name it with --image IMAGE")
    })?;
    Ok((volume, image))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_has_a_name_and_perhaps_a_folder() {
        let volume = |text: &str| text.parse::<Volume>();
        assert_eq!(volume("lab").unwrap().folder, None);
        assert_eq!(volume("lab=/mnt/a=b").unwrap().folder, Some("/mnt/a=b".into()));
        for text in ["", "=x", "Lab", "a b", "a/b", "a\n"] {
            assert!(volume(text).unwrap_err().contains("no claim"), "{text:?}");
        }
    }
}
