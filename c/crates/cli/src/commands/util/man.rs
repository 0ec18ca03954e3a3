use std::{path::Path, process::ExitCode};

use clap::Command;

use crate::{
    exit::{self, OrExit},
    output::Output,
};

/// Writes one man page for the program and one for each verb, and names them.
pub fn execute(folder: &Path, line: &Command, output: &Output) -> exit::Result<ExitCode> {
    std::fs::create_dir_all(folder).or_exit(exit::HOST)?;
    clap_mangen::generate_to(line.clone(), folder).or_exit(exit::HOST)?;
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).or_exit(exit::HOST)? {
        names.push(entry.or_exit(exit::HOST)?.path().display().to_string());
    }
    names.sort();
    output.data(&names.join("\n"))
}
