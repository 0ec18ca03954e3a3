//! `preemptlab system submit`: the results of this machine in one small file.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use preemptlab_analysis::results::of_machine;
use preemptlab_experiment::{CostSource, Recording};

use crate::{
    args::{machine, written_path},
    exit,
    output::Output,
    writable,
};

/// Write what a machine did with an experiment's workloads into one small file, for others to compare with
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  preemptlab system submit runs/prices-host workstation.toml --out submission.toml

`make fidelity SUBMIT=FILE` records, calibrates and writes the file; docs/fidelity.md says what is in it.
`preemptlab compare RUN FILE` shows how well a recording in virtual time predicts the machine.")]
pub struct Submit {
    /// A recording of `run --backend host` on the machine
    #[arg(value_name = "RUN")]
    pub recording: PathBuf,
    /// The profile that `system calibrate` wrote on the machine, by whose name the machine is called
    #[arg(value_name = "PROFILE", value_parser = machine)]
    pub profile: CostSource,
    /// The file to write
    #[arg(long, value_name = "FILE", value_parser = written_path())]
    pub out: PathBuf,
}

/// Writes the results of a machine.
pub fn execute(args: &Submit, output: &Output) -> exit::Result<ExitCode> {
    let profile = args.profile.profile().ok_or_else(|| {
        exit::unusable(
            "one price for all instructions is no machine's: name the file that `preemptlab system calibrate` wrote",
        )
    })?;
    writable::check(&args.out)?;
    let results = of_machine(&Recording::open(&args.recording)?, profile.clone())?;
    writable::write_results(&args.out, &results, output)?;
    output.note(format!("next: preemptlab compare docs/fidelity/*/*.toml {}", args.out.display()));
    Ok(ExitCode::from(exit::OK))
}
