//! Engines that people have already, which execute cells.

use std::path::Path;

use clap::Args;
use preemptlab_cluster::{
    emit::Line,
    engine::{Engine, EngineError, EngineKind, RoundError},
    kubernetes::{Kubernetes, Options},
    slurm::{Arguments, Slurm},
};
use preemptlab_lab::{Blame, Config, OnEngine, OrBlame, Place, Volume};
use rustix::process::{getegid, geteuid};

use crate::exit::{self, OrExit};

/// An engine that executes cells.
#[derive(Args, Debug)]
pub struct EngineArgs {
    /// The engine: slurm, or kubernetes, whose volume and image the configuration names. Its machines share
    /// the recording's folder, and need no network
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
}

impl TaskArgs {
    /// Returns the options for the engine's own command: those of the configuration, then those given.
    fn all(&self, configured: &[String]) -> Vec<String> {
        configured.iter().chain(&self.arguments).cloned().collect()
    }

    /// Returns the user's options for sbatch.
    pub fn of_slurm(&self, config: &Config) -> Vec<String> {
        self.all(config.slurm_arguments())
    }

    /// Returns Slurm, with the user's options for it.
    pub fn slurm(&self, config: &Config) -> exit::Result<Box<dyn Engine>> {
        let arguments = Arguments::new(&self.of_slurm(config)).or_exit(exit::UNUSABLE)?;
        Ok(Box::new(Slurm::new(arguments)))
    }

    /// Returns Kubernetes, with the user's options for it. Pods mount a claim and execute an image, and
    /// their files are this user's.
    fn kubernetes(&self, config: &Config) -> exit::Result<(Box<dyn Engine>, Volume)> {
        let (volume, image) = pods(config)?;
        let options =
            Options::new(&self.all(config.kubernetes_arguments())).or_exit(exit::UNUSABLE)?;
        let user = (geteuid().as_raw(), getegid().as_raw());
        let engine = Kubernetes::new(volume.claim().clone(), image.clone(), user, options);
        Ok((Box::new(engine), volume.clone()))
    }
}

impl EngineArgs {
    /// Returns the engine with the user's options for it, once it has answered. The command waits for the
    /// tasks, and neither leaves nor resumes earlier ones.
    pub fn on(&self, config: &Config) -> exit::Result<OnEngine<'_>> {
        let line = |path: &Path| Line::of_path(path).or_blame(Blame::User);
        let (engine, place): (_, Box<Place<'_>>) = match self.engine {
            EngineKind::Slurm => {
                let program = line(&std::env::current_exe().or_exit(exit::HOST)?)?;
                let place = move |recording: &Path| Ok((program.clone(), line(recording)?));
                (self.tasks.slurm(config)?, Box::new(place))
            }
            EngineKind::Kubernetes => {
                let (engine, volume) = self.tasks.kubernetes(config)?;
                let program: Line = "preemptlab".parse().or_exit(exit::UNUSABLE)?;
                let place = move |recording: &Path| Ok((program.clone(), volume.place(recording)?));
                (engine, Box::new(place))
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

/// Returns the claim and the image, both of which Kubernetes needs.
pub fn pods(config: &Config) -> exit::Result<(&Volume, &Line)> {
    let needs = |of: &str, key: &str, value: &str| {
        exit::unusable(format!(
            "{of}: set it in the configuration, or with --set kubernetes.{key}={value}"
        ))
    };
    let volume = config.volume();
    let volume = volume
        .ok_or_else(|| needs("pods share the recording on a claim", "volume", "CLAIM=FOLDER"))?;
    let image = config.image();
    let image = image.ok_or_else(|| {
        needs("pods execute an image, which `make image` builds", "image", "IMAGE")
    })?;
    Ok((volume, image))
}
