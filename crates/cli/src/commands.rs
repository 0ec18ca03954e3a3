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

use std::{path::PathBuf, process::ExitCode};

use clap::{Command as Line, Subcommand};

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
    /// Executes the verb, with the store that the user named. `line` makes the command line that completions and
    /// man pages describe.
    pub fn execute(
        &self,
        store: Option<PathBuf>,
        output: &Output,
        line: fn() -> Line,
    ) -> exit::Result<ExitCode> {
        match self {
            Self::Run(args) => run::execute(args, store, output),
            Self::Compare(args) => compare::execute(args, output),
            Self::Explain(args) => explain::execute(args, store, output),
            Self::Gate(args) => gate::execute(args, store, output),
            Self::Bisect(args) => bisect::execute(args, store, output),
            Self::Recommend(args) => recommend::execute(args, output),
            Self::Verify(args) => verify::execute(args, store, output),
            Self::Export(args) => export::execute(args, output),
            Self::Kernels(args) => kernels::execute(args, store, output),
            Self::Cluster(args) => cluster::execute(args, store, output),
            Self::System(args) => system::execute(args, store, output),
            Self::Util(args) => util::execute(args, &mut line(), output),
        }
    }
}
