//! `--engine`: cells are executed by an engine that people have already.

use clap::Args;
use preemptlab_cluster::{
    emit::Line,
    engine::{Engine, EngineKind},
    kubernetes::{Kubernetes, Options},
    slurm::{Arguments, Slurm},
};
use rustix::process::{getegid, geteuid};

use crate::exit::{self, OrExit};

/// An engine that executes cells.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "On an engine")]
pub struct EngineArgs {
    /// Let this engine execute the cells: slurm, or kubernetes with --volume and --image. Its machines
    /// share the recording's folder, and need no network
    #[arg(long, value_name = "ENGINE", conflicts_with_all = ["jobs", "no_cache", "prepare", "shard"])]
    pub engine: Option<EngineKind>,
    /// Cut the cells into so many tasks [default: some four a CPU, of 10 to 100 cells]
    #[arg(long, value_name = "N", requires = "elsewhere",
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
    /// Submit, and return; the same command without it goes on later
    #[arg(long, requires = "engine", conflicts_with = "attach")]
    pub detach: bool,
    /// Submit nothing new at first: go on with what was submitted
    #[arg(long, requires = "engine")]
    pub attach: bool,
}

impl EngineArgs {
    /// Returns Slurm, with the user's options for it.
    pub fn slurm(&self) -> exit::Result<Box<dyn Engine>> {
        let arguments = Arguments::new(&self.arguments).or_exit(exit::UNUSABLE)?;
        Ok(Box::new(Slurm::new(arguments)))
    }

    /// Returns Kubernetes, with the user's options for it. Pods mount a claim and execute an image, and
    /// their files are this user's.
    pub fn kubernetes(&self, claim: &Line, image: &Line) -> exit::Result<Box<dyn Engine>> {
        let options = Options::new(&self.arguments).or_exit(exit::UNUSABLE)?;
        let user = (geteuid().as_raw(), getegid().as_raw());
        Ok(Box::new(Kubernetes::new(claim.clone(), image.clone(), user, options)))
    }
}
