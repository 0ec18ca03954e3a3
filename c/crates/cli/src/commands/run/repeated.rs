//! `run --command`: from a command to the experiment that repeats it.

use std::path::Path;

use clap::Args;
use preemptlab_experiment::{MachineSpec, Repeated, Replicates};
use preemptlab_files::OutFolder;
use preemptlab_lab::{Lab, PrepareError, WriteError, Written, chosen, write_repeated};
use preemptlab_model::{KernelRef, PackageName, PreemptMode};
use preemptlab_provision::REPEAT;
use preemptlab_workload::{CommandLine, Seconds};

use crate::{
    args::{DEFAULT_KERNEL, OverrideArgs},
    exit,
    output::Output,
};

/// A command in the place of an experiment.
#[derive(Args, Debug)]
#[command(next_help_heading = "A command instead of an experiment")]
pub struct CommandArgs {
    /// Repeat this command of a package under every preemption mode, with latency probes beside it;
    /// its words may have quotes, and no shell reads it
    #[arg(long, value_name = "COMMAND", requires = "package", conflicts_with = "workloads")]
    pub command: Option<CommandLine>,
    /// The Debian package that holds the command's program, or something that it needs; may be
    /// repeated
    #[arg(long, value_name = "PACKAGE", requires = "command")]
    pub package: Vec<PackageName>,
    /// Virtual time for which the command is repeated, in whole seconds [default: 1s]
    #[arg(long, value_name = "SECONDS", requires = "command")]
    pub window: Option<Seconds>,
}

/// Writes the experiment that repeats a command, and returns where its recording is to be, besides the files.
pub fn write(
    command: &CommandLine,
    args: &CommandArgs,
    instead: &OverrideArgs,
    out: Option<&Path>,
    lab: &Lab<'_>,
) -> exit::Result<(OutFolder, Written)> {
    // Before anything else is brought here, and with the program's own path.
    let guest = MachineSpec::default().arch;
    let program = lab.provide(lab.open_store()?, guest, |provision| {
        let found = provision.program(command.program(), &args.package);
        Ok(found.map_err(PrepareError::from)?)
    })?;
    let default: KernelRef = DEFAULT_KERNEL.parse().map_err(exit::unusable)?;
    let default = [default.into()];
    let modes = instead.modes()?;
    let own = Replicates::default();
    let repeated = Repeated {
        command,
        program: &program,
        packages: &args.package,
        window: args.window.unwrap_or(Seconds::ONE),
        kernels: some_or(&instead.kernels, &default),
        modes: some_or(&modes, &PreemptMode::ALL),
        replicates: Replicates {
            count: instead.replicates.unwrap_or(own.count),
            seed: instead.seed.unwrap_or(own.seed),
        },
        repeat: REPEAT,
    };
    let files = repeated.files().map_err(exit::unusable)?;
    let out = out.map_or_else(|| chosen(&*files.name), OutFolder::named);
    let written = write_repeated(&files, &out).map_err(|error| match error {
        WriteError::Io { .. } => exit::host(error),
        WriteError::Nameless(_) | WriteError::Other(_) | WriteError::NotOwn(_) => {
            exit::unusable(error)
        }
    })?;
    Ok((out, written))
}

/// Says how to repeat the experiment of a command.
pub fn tell(written: &Written, output: &Output) {
    let Written { experiment, folder } = written;
    output.note(format!("  {}/    the command as a workload", folder.display()));
    output.note(format!(
        "  {0}    the experiment; `preemptlab run {0}` repeats it",
        experiment.display()
    ));
}

fn some_or<'a, T>(some: &'a [T], others: &'a [T]) -> &'a [T] {
    if some.is_empty() { others } else { some }
}
