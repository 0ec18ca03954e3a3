//! `cluster emit`: prints scripts and manifests that execute a prepared recording's shards.

use std::{
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use preemptlab_cluster::{
    Workplace,
    emit::{self, GITHUB_JOBS_MAX, Line, Pods, Workers},
    newest, shards_for,
};
use preemptlab_experiment::RecordingWriter;
use preemptlab_lab::{Config, Twice, prepare_for_workers};

use super::work::PrepareArgs;
use crate::{
    engine::{TaskArgs, pods},
    exit::{self, OrExit},
    output::Output,
    progress::Shown,
};

/// CPUs that shards are cut for where no number of tasks is given.
const CPUS: u32 = 32;

/// Memory that a task takes besides its virtual machine's, in MiB.
const BESIDE_MIB: u32 = 512;

/// Prepare a recording, and print a script, a manifest or a workflow that executes its shards
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab cluster emit slurm studies/quick.toml > quick.sh
  preemptlab cluster emit kubernetes studies/quick.toml --set kubernetes.volume=lab=/mnt/lab \\
    --set kubernetes.image=registry.example/preemptlab")]
pub struct EmitArgs {
    /// The form to print
    #[arg(value_name = "KIND")]
    pub kind: Kind,
    #[command(flatten)]
    pub prepared: PrepareArgs,
    /// Keep all that the kernel does in every cell, for `explain`
    #[arg(long)]
    pub trace: bool,
    /// Let two shards execute this share of the cells, at least one, so that `cluster merge` compares them
    #[arg(long, value_name = "PERCENT")]
    pub twice: Option<Twice>,
    #[command(flatten)]
    pub tasks: TaskArgs,
}

/// Form that is printed.
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

/// Returns the user and the group of a recording's files.
pub fn owner(recording: &Path) -> exit::Result<(u32, u32)> {
    let metadata = recording.metadata().or_exit(exit::UNUSABLE)?;
    Ok((metadata.uid(), metadata.gid()))
}

/// Prepares a recording, and prints the script or manifest that executes its shards.
pub fn execute(args: &EmitArgs, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    if args.kind == Kind::Kubernetes {
        // Before anything is downloaded.
        pods(config)?;
    }
    if args.kind != Kind::Slurm && !args.tasks.arguments.is_empty() {
        return Err(exit::unusable("only Slurm's script holds an --engine-arg: leave it out"));
    }
    if args.kind == Kind::Slurm {
        // sbatch must take these options, too.
        args.tasks.slurm(config)?;
    }
    let (wanted, out) = args.prepared.wanted(output)?;
    if args.kind == Kind::Github && !wanted.overrides.is_empty() {
        let message =
            "the workflow prepares the experiment as its file says: change the file instead";
        return Err(exit::unusable(message));
    }
    let shown = Shown::new(output);
    let lab = args.prepared.lab(config, &shown);
    let (writer, _) =
        prepare_for_workers(&lab, &args.prepared.execution(wanted, &out, args.trace))?;
    output.data(&text(args, config, &writer)?)?;
    output.note(next(args.kind));
    Ok(ExitCode::from(exit::OK))
}

fn text(args: &EmitArgs, config: &Config, writer: &RecordingWriter) -> exit::Result<String> {
    let recording = writer.recording();
    let path = recording.path().canonicalize().or_exit(exit::UNUSABLE)?;
    let line = |path: &Path| Line::of_path(path).or_exit(exit::UNUSABLE);
    let workplace = Workplace::of(&path);
    let (_, boots) = newest(recording);
    let most = match args.kind {
        Kind::Github => GITHUB_JOBS_MAX,
        _ => u32::MAX,
    };
    let program = std::env::current_exe().or_exit(exit::HOST)?;
    let twice = args.twice.map(|twice| twice.to_string().parse::<Line>());
    let mut workers = Workers {
        program: line(&program)?,
        recording: line(&path)?,
        shards: args.tasks.tasks.unwrap_or_else(|| shards_for(&boots, CPUS).min(most)),
        trace: args.trace,
        twice: twice.transpose().or_exit(exit::UNUSABLE)?,
    };
    let machine = &recording.manifest().experiment.machine;
    let memory_mib = machine.memory_mib.saturating_add(BESIDE_MIB);
    Ok(match args.kind {
        Kind::Slurm => {
            let options: Result<Vec<Line>, _> =
                args.tasks.of_slurm(config).iter().map(|it| it.parse()).collect();
            let options = options.or_exit(exit::UNUSABLE)?;
            emit::slurm(&workers, &line(&workplace.log())?, memory_mib, &options)
        }
        Kind::Parallel => emit::parallel(&workers),
        Kind::Ssh => emit::ssh(&workers, &line(workplace.root())?),
        Kind::Github => {
            let experiment = line(&in_repository(&args.prepared.experiment)?)?;
            emit::github(&workers, &experiment).or_exit(exit::UNUSABLE)?
        }
        Kind::Kubernetes => {
            let (volume, image) = pods(config)?;
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

/// Returns the next step with the printed text.
fn next(kind: Kind) -> &'static str {
    match kind {
        Kind::Slurm => "next: save it as a file, and run that with sh on a login node",
        Kind::Kubernetes => {
            "next: kubectl create -f FILE, and when the Job has ended: preemptlab cluster merge DIR"
        }
        Kind::Github => "next: save it as .github/workflows/preemptlab.yml, and commit that",
        Kind::Parallel => "next: save it as a file, and run that with sh",
        Kind::Ssh => {
            "next: save it as a file, and run that with sh and the machines as its arguments"
        }
    }
}
