use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{command_line::Cli, exit, output::Output};

/// Prints the completions of a shell.
pub fn execute(shell: Shell, output: &Output) -> exit::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "preemptlab", &mut script);
    output.data(&String::from_utf8_lossy(&script))
}
