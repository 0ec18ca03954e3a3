use std::process::ExitCode;

use clap::Command;
use clap_complete::Shell;

use crate::{exit, output::Output};

/// Prints the completions of a shell.
pub fn execute(shell: Shell, line: &mut Command, output: &Output) -> exit::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, line, "preemptlab", &mut script);
    output.data(&String::from_utf8_lossy(&script))
}
