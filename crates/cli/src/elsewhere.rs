//! Verbs besides `run` whose cells an engine executes.

use std::path::Path;

use clap::Args;
use preemptlab_cluster::{
    emit::Line,
    engine::{EngineError, EngineKind, RoundError},
};
use preemptlab_lab::{Blame, OnEngine, OrBlame, Place};

use crate::{
    emit::{Volume, pods},
    engine::EngineArgs,
    exit::{self, OrExit},
};

/// An engine that executes the cells of one command.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "On an engine")]
pub struct ElsewhereArgs {
    /// Let this engine execute the cells: slurm, or kubernetes with --volume and --image. Its machines
    /// share the recording's folder, and need no network
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<EngineKind>,
    /// Cut the cells into so many tasks [default: some four a CPU, of 10 to 100 cells]
    #[arg(long, value_name = "N", requires = "engine",
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub tasks: Option<u32>,
    /// An option for the engine's own command, such as --partition=short for sbatch; may be repeated
    #[arg(
        long = "engine-arg",
        value_name = "ARG",
        requires = "engine",
        allow_hyphen_values = true
    )]
    pub arguments: Vec<String>,
    /// The claim of Kubernetes that holds the recording, and the folder where it is mounted here
    /// [default folder: the one that the recording is in]
    #[arg(long, value_name = "CLAIM[=FOLDER]", requires = "engine")]
    pub volume: Option<Volume>,
    /// The image that pods execute: `make image` builds one
    #[arg(long, value_name = "IMAGE", requires = "engine")]
    pub image: Option<Line>,
}

impl ElsewhereArgs {
    /// Returns how the engine is used.
    fn args(&self) -> EngineArgs {
        let Self { engine, tasks, arguments, .. } = self.clone();
        EngineArgs { engine, tasks, arguments, detach: false, attach: false }
    }

    /// Returns the engine that was asked for; `None` for this machine.
    pub fn on(&self) -> exit::Result<Option<OnEngine<'_>>> {
        let args = self.args();
        let on = |kind| on_engine(kind, &args, (self.volume.as_ref(), self.image.as_ref()));
        self.engine.map(on).transpose()
    }
}

/// Returns an engine with the user's options for it, once it has answered.
pub fn on_engine<'a>(
    kind: EngineKind,
    args: &EngineArgs,
    (volume, image): (Option<&'a Volume>, Option<&'a Line>),
) -> exit::Result<OnEngine<'a>> {
    let line = |path: &Path| Line::of_path(path).or_blame(Blame::User);
    let (engine, place): (_, Box<Place<'_>>) = match kind {
        EngineKind::Slurm => {
            let program = line(&std::env::current_exe().or_exit(exit::HOST)?)?;
            let place = move |recording: &Path| Ok((program.clone(), line(recording)?));
            (args.slurm()?, Box::new(place))
        }
        EngineKind::Kubernetes => {
            let (volume, image) = pods(volume, image)?;
            let program: Line = "preemptlab".parse().or_exit(exit::UNUSABLE)?;
            let place = move |recording: &Path| Ok((program.clone(), volume.place(recording)?));
            (args.kubernetes(volume.claim(), image)?, Box::new(place))
        }
    };
    // Before anything is downloaded. An engine that does not answer now is waited for.
    match engine.cluster() {
        Ok(_) | Err(EngineError::Away(_)) => {}
        Err(error) => return Err(RoundError::from(error).into()),
    }
    let EngineArgs { tasks, detach, attach, .. } = *args;
    let user = std::env::var("USER").ok();
    Ok(OnEngine { engine, place, tasks, detach, attach, twice: None, user })
}
