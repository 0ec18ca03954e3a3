//! `run --emit`: prints scripts and manifests that execute a prepared recording's shards.

use std::{
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
    process::ExitCode,
    str::FromStr,
};

use clap::{Args, ValueEnum};
use preemptlab_cluster::{
    Workplace,
    emit::{self, GITHUB_JOBS_MAX, Line, Pods, Workers},
    engine::EngineKind,
    newest, shards_for,
};
use preemptlab_experiment::RecordingWriter;
use preemptlab_lab::{Blame, Error, Execution, Lab, OrBlame, PrepareError, prepare_for_workers};

use crate::{
    engine::EngineArgs,
    exit::{self, OrExit},
    output::Output,
};

/// CPUs that shards are cut for where no number of tasks is given.
const CPUS: u32 = 32;

/// Memory that a task takes besides its virtual machine's, in MiB.
const BESIDE_MIB: u32 = 512;

/// Scripts and manifests.
#[derive(Args, Debug)]
#[command(next_help_heading = "On machines of your own choice")]
pub struct EmitArgs {
    /// Prepare, and print what executes the shards instead of executing them: a script, a manifest or a
    /// workflow [default kind: that of --engine, or slurm]
    #[arg(long, value_name = "KIND", num_args = 0..=1, require_equals = true,
        conflicts_with_all = ["shard", "prepare", "until", "retry_failed", "no_cache", "jobs",
            "detach", "attach"])]
    pub emit: Option<Option<Kind>>,
    /// The claim of Kubernetes that holds the recording, and the folder where it is mounted here
    /// [default folder: the one that the recording is in]
    #[arg(long, value_name = "CLAIM[=FOLDER]")]
    pub volume: Option<Volume>,
    /// The image that pods execute: `make image` builds one
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<Line>,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A script that submits an array to Slurm, and a job that joins the parts
    Slurm,
    /// The manifest of an Indexed Job
    Kubernetes,
    /// A workflow of GitHub, whose jobs prepare, execute and join
    Github,
    /// A script that calls GNU parallel
    Parallel,
    /// A script for machines that share no folder
    Ssh,
}

impl Kind {
    /// Returns what is printed for an engine; for none, Slurm's.
    pub fn of(engine: Option<EngineKind>) -> Self {
        match engine {
            Some(EngineKind::Kubernetes) => Self::Kubernetes,
            Some(EngineKind::Slurm) | None => Self::Slurm,
        }
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

impl EmitArgs {
    /// Returns the claim and the image, both of which Kubernetes needs.
    fn pods(&self) -> exit::Result<(&Volume, &Line)> {
        pods(self.volume.as_ref(), self.image.as_ref())
    }
}

/// Returns the user and the group of a recording's files.
pub fn owner(recording: &Path) -> exit::Result<(u32, u32)> {
    let metadata = recording.metadata().or_exit(exit::UNUSABLE)?;
    Ok((metadata.uid(), metadata.gid()))
}

/// What is emitted, and for what.
pub struct Emission<'a> {
    /// The options.
    pub args: &'a EmitArgs,
    /// What is printed.
    pub kind: Kind,
    /// The number of tasks, and options for the engine.
    pub engine: &'a EngineArgs,
    /// The experiment or the recording, as the user named it.
    pub experiment: &'a Path,
    /// Records what kernels do.
    pub trace: bool,
    /// Share of the cells that are executed twice.
    pub twice: Option<String>,
}

/// Prepares a recording, and prints what executes its shards.
pub fn print(
    emission: &Emission<'_>,
    lab: &Lab<'_>,
    execution: &Execution<'_>,
    output: &Output,
) -> exit::Result<ExitCode> {
    if !execution.backend.is_vm() {
        return Err(PrepareError::NotSpread.into());
    }
    if emission.kind == Kind::Kubernetes {
        // Before anything is downloaded.
        emission.args.pods()?;
    }
    if emission.kind != Kind::Slurm && !emission.engine.arguments.is_empty() {
        return Err(exit::unusable("only Slurm's script holds an --engine-arg: leave it out"));
    }
    if emission.kind == Kind::Slurm {
        // What sbatch is given is checked as for --engine.
        emission.engine.slurm()?;
    }
    if emission.kind == Kind::Github && !execution.wanted.overrides.is_empty() {
        let message =
            "the workflow prepares the experiment as its file says: change the file instead";
        return Err(exit::unusable(message));
    }
    let (writer, _) = prepare_for_workers(lab, execution)?;
    let text = text(emission, &writer)?;
    output.data(&text)?;
    output.note(next(emission.kind));
    Ok(ExitCode::from(exit::OK))
}

fn text(emission: &Emission<'_>, writer: &RecordingWriter) -> exit::Result<String> {
    let recording = writer.recording();
    let path = recording.path().canonicalize().or_exit(exit::UNUSABLE)?;
    let line = |path: &Path| Line::of_path(path).or_exit(exit::UNUSABLE);
    let workplace = Workplace::of(&path);
    let (_, boots) = newest(recording);
    let most = match emission.kind {
        Kind::Github => GITHUB_JOBS_MAX,
        _ => u32::MAX,
    };
    let program = std::env::current_exe().or_exit(exit::HOST)?;
    let twice = emission.twice.as_ref().map(|twice| twice.parse::<Line>());
    let mut workers = Workers {
        program: line(&program)?,
        recording: line(&path)?,
        shards: emission.engine.tasks.unwrap_or_else(|| shards_for(&boots, CPUS).min(most)),
        trace: emission.trace,
        twice: twice.transpose().or_exit(exit::UNUSABLE)?,
    };
    let machine = &recording.manifest().experiment.machine;
    let memory_mib = machine.memory_mib.saturating_add(BESIDE_MIB);
    Ok(match emission.kind {
        Kind::Slurm => {
            let options: Result<Vec<Line>, _> =
                emission.engine.arguments.iter().map(|it| it.parse()).collect();
            let options = options.or_exit(exit::UNUSABLE)?;
            emit::slurm(&workers, &line(&workplace.log())?, memory_mib, &options)
        }
        Kind::Parallel => emit::parallel(&workers),
        Kind::Ssh => emit::ssh(&workers, &line(workplace.root())?),
        Kind::Github => {
            let experiment = line(&in_repository(emission.experiment)?)?;
            emit::github(&workers, &experiment).or_exit(exit::UNUSABLE)?
        }
        Kind::Kubernetes => {
            let (volume, image) = emission.args.pods()?;
            workers.program = "preemptlab".parse().or_exit(exit::UNUSABLE)?;
            workers.recording = volume.place(&path)?;
            let pods = Pods {
                claim: volume.claim().clone(),
                image: image.clone(),
                user: owner(&path)?,
                memory_mib,
            };
            emit::kubernetes(&emit::job_name(&workers, &pods), &workers, &pods)
        }
    })
}

/// Returns a path from the root of the repository that it is in; without one, from this folder.
fn in_repository(experiment: &Path) -> exit::Result<PathBuf> {
    let path = experiment.canonicalize().or_exit(exit::UNUSABLE)?;
    let root = path.ancestors().skip(1).find(|folder| folder.join(".git").exists());
    let root = match root {
        Some(root) => root.to_owned(),
        None => Path::new(".").canonicalize().or_exit(exit::UNUSABLE)?,
    };
    let inside = path.strip_prefix(&root).ok().map(Path::to_owned);
    let is_plain = |path: &Path| path.components().all(|it| matches!(it, Component::Normal(_)));
    inside.filter(|path| is_plain(path)).ok_or_else(|| {
        exit::unusable(format!("{} is not in the repository {}", path.display(), root.display()))
    })
}

/// Returns what to do with what was printed.
fn next(kind: Kind) -> &'static str {
    match kind {
        Kind::Slurm => "next: save it as a file, and run that with sh on a login node",
        Kind::Kubernetes => {
            "next: kubectl create -f FILE, and when the Job has ended: preemptlab merge DIR"
        }
        Kind::Github => "next: save it as .github/workflows/preemptlab.yml, and commit that",
        Kind::Parallel => "next: save it as a file, and run that with sh",
        Kind::Ssh => {
            "next: save it as a file, and run that with sh and the machines as its arguments"
        }
    }
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
