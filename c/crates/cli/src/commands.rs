//! The verbs: one file each, with a folder for its own verbs.

mod bisect;
pub mod cluster;
mod compare;
mod explain;
mod export;
mod gate;
mod kernels;
mod recommend;
mod run;
mod system;
mod util;
mod verify;

use std::process::ExitCode;

use clap::{Command as Line, Subcommand};
use preemptlab_lab::Config;

use crate::{exit, output::Output};

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    Run(Box<run::Run>),
    Compare(compare::options::Compare),
    Explain(explain::Explain),
    Gate(gate::options::GateArgs),
    Bisect(bisect::BisectArgs),
    Recommend(recommend::Recommend),
    Verify(verify::Verify),
    Export(export::ExportArgs),
    Kernels(kernels::Kernels),
    Cluster(Box<cluster::Cluster>),
    System(Box<system::System>),
    Util(util::Util),
}

impl Command {
    /// Executes the verb with the configuration, which is read only where it is needed. `line` makes the command
    /// line that completions and man pages describe.
    pub fn execute(
        &self,
        config: impl FnOnce() -> exit::Result<Config>,
        output: &Output,
        line: fn() -> Line,
    ) -> exit::Result<ExitCode> {
        match self {
            Self::Run(args) => run::execute(args, &config()?, output),
            Self::Compare(args) => compare::execute(args, &config()?, output),
            Self::Explain(args) => explain::execute(args, &config()?, output),
            Self::Gate(args) => gate::execute(args, &config()?, output),
            Self::Bisect(args) => bisect::execute(args, &config()?, output),
            Self::Recommend(args) => recommend::execute(args, &config()?, output),
            Self::Verify(args) => verify::execute(args, &config()?, output),
            Self::Export(args) => export::execute(args, output),
            Self::Kernels(args) => kernels::execute(args, &config()?, output),
            Self::Cluster(args) => cluster::execute(args, &config()?, output),
            Self::System(args) => system::execute(args, &config()?, output),
            Self::Util(args) => util::execute(args, config, &mut line(), output),
        }
    }
}
